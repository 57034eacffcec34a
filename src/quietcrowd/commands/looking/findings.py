"""What a file contains, as far as a person needs it for the next step."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from quietcrowd.commands.looking.steps import Source, Steps
from quietcrowd.formats.contents import Contents

USUAL = ("task", "worker", "label")
"""Default columns of answers."""

SAVE = (
    "Save the table as CSV in UTF-8: in Excel with File > Save As > CSV UTF-8, in LibreOffice with "
    "File > Save As > Text CSV, in pandas with frame.to_csv('answers.csv', index=False)."
)
"""Advice for files that no format reads."""


@frozen(kw_only=True)
class Findings:
    """What a file contains.

    Attributes
    ----------
    title : str
        The platform or the kind of table.
    columns : tuple of str
        The columns of a table.
    questions : mapping of str to int
        Numbers of answers, None if unknown.
    question : str, optional
        The question that the counts are about.
    contents : Contents, optional
        Counts of answers or truths.
    steps : Steps
        Commands for the next step.
    advice : str
        What a person has to decide or to do.
    """

    title: str
    columns: tuple[str, ...] = ()
    questions: Mapping[str, int | None] = field(factory=dict)
    question: str | None = None
    contents: Contents | None = None
    steps: Steps = field(factory=Steps)
    advice: str = ""

    def named(self, copy: Source, name: str) -> Findings:
        """Replace the path of a temporary copy in messages."""
        path = str(copy.path)
        faults, changes = (
            tuple(text.replace(path, name) for text in texts)
            for texts in (self.steps.faults, self.steps.changes)
        )
        return evolve(self, steps=evolve(self.steps, faults=faults, changes=changes))
