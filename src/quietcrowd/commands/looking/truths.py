"""Files of known truths."""

from __future__ import annotations

from quietcrowd.commands.looking.findings import Findings
from quietcrowd.commands.looking.steps import Source, Steps, quiet, write_command
from quietcrowd.formats.answers import read_truths
from quietcrowd.formats.contents import Contents


def of_truths(source: Source) -> Findings:
    """Return what a file of known truths contains."""
    with quiet() as changes:
        contents = Contents.of(read_truths(source.path))
    return Findings(
        title="known truths, without workers",
        contents=contents,
        steps=Steps(changes=tuple(changes)),
        advice="These are no answers of workers. Pass them to an inference from answers with "
        f"{write_command('--gold', source.word())}.",
    )
