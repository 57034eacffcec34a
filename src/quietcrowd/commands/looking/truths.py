"""Files of known truths."""

from __future__ import annotations

from quietcrowd.commands.looking.findings import Findings
from quietcrowd.commands.looking.steps import Source, Steps, quiet, write_command
from quietcrowd.formats.answers import read_truths
from quietcrowd.formats.contents import Contents


def of_truths(source: Source) -> Findings:
    """Return what a file of known truths, or of options per task, contains."""
    with quiet() as changes:
        contents = Contents.of(read_truths(source.path))
    several = contents.answers > contents.tasks
    flag = write_command("--options" if several else "--gold", source.word())
    return Findings(
        title="options per task" if several else "known truths, without workers",
        contents=contents,
        steps=Steps(changes=tuple(changes)),
        advice=f"These are no answers of workers. Pass them to an inference from answers: {flag}",
    )
