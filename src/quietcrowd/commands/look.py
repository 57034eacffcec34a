"""``quietcrowd look``: what a file contains, and the command for the next step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import from_stdin, shown
from quietcrowd.formats.csv import shorten

if TYPE_CHECKING:
    from quietcrowd.commands.looking.contents import Contents
    from quietcrowd.commands.looking.findings import Findings

MOST_LINES = 20
"""Maximum number of labels, questions or columns that are printed."""

_CONFIDENTIAL = "This output is as confidential as the file."


@command()
class Look:
    """Name what a file contains, and the command for the next step.

    It names the platform or the kind of table, the questions and the labels, counts answers, and
    lists problems. It tries commands for answers before it prints them.

    The output is as confidential as the file.

    Example: quietcrowd look Batch_17.csv

    Example: quietcrowd look classifications.csv --question 'Galaxies / T0'

    Example: quietcrowd look answers.csv --json
    """

    source: Path = argument(metavar="FILE", help="File of answers, reports or truths.")
    question: str | None = options.QUESTION
    columns: str | None = option(
        metavar="TASK,WORKER,LABEL", help="Column names, comma-separated.", default=None
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Inspect the file, and print its contents and the next commands."""
        from quietcrowd.commands.looking.files import inspect  # with inference
        from quietcrowd.commands.looking.findings import Source

        given = {"question": self.question, "columns": self.columns}
        source = Source(path=from_stdin(self.source), name=str(self.source))
        found = inspect(source, {flag: value for flag, value in given.items() if value is not None})
        if self.as_json:
            typer.echo(json.dumps(_as_json(source.name, found)))
            return
        for line in _lines(source.name, found):
            typer.echo(shown(line))


def _as_json(name: str, found: Findings) -> dict[str, Any]:
    counts, steps = found.contents, found.steps
    return {
        "file": name,
        "kind": found.title,
        "columns": list(found.columns),
        "questions": dict(found.questions),
        "question": found.question,
        "counts": None if counts is None else dict(_counts(counts)),
        "labels": {} if counts is None else dict(list(counts.labels.items())[:MOST_LINES]),
        "different_labels": 0 if counts is None else len(counts.labels),
        "changes": [shown(text) for text in steps.changes],
        "problems": [shown(text) for text in steps.faults],
        "advice": found.advice,
        "commands": list(steps.commands),
        "other_commands": dict(steps.others),
        "notice": _CONFIDENTIAL,
    }


def _counts(contents: Contents) -> Iterator[tuple[str, int]]:
    yield "tasks", contents.tasks
    yield "workers", contents.workers
    yield "answers", contents.answers
    yield "blank", contents.blanks
    yield "repeated", contents.repeated


def _lines(name: str, found: Findings) -> Iterator[str]:
    yield one_line(f"{name}: {found.title}. {_CONFIDENTIAL}")
    if found.columns:
        more = len(found.columns) - MOST_LINES
        names = ", ".join(map(repr, found.columns[:MOST_LINES]))
        yield one_line(f"Columns: {names}{f', and {more:,} more' if more > 0 else ''}")
    if found.questions:
        yield from ("", "Questions, with the number of answers")
        yield from _table(found.questions)
    if found.contents is not None:
        about = f" to {found.question!r}" if found.question else ""
        yield from ("", one_line(f"Counts of answers{about}"))
        yield from _table(dict(_counts(found.contents)))
        if found.contents.labels:
            sets = ", each once per answer that has it" if found.contents.sets else ""
            yield from ("", f"Labels, with the number of answers{sets}")
            yield from _table(found.contents.labels)
    steps = found.steps
    solved = steps.commands and steps.error is None
    avoided = " that options of the next step avoid" if solved else ""
    for heading, texts in (
        ("Changes on reading:", steps.changes),
        (f"Problems{avoided}:", steps.faults),
    ):
        if texts:
            yield from ("", heading, *(f"- {one_line(text)}" for text in texts))
    if found.advice:
        yield from ("", one_line(found.advice))
    if steps.commands:
        yield from ("", "Next step:", *(f"  {one}" for one in steps.commands))
    elif not steps.others:
        yield from ("", "No command reads answers from this file as it is.")
    for purpose, other in steps.others.items():  # some are about a converted file
        yield from ("", f"{one_line(purpose)}:", f"  {other}")


def _table(counts: Mapping[str, int | None]) -> Iterator[str]:
    """Yield a line per count, aligned, and the number of others."""
    rows = [
        (one_line(shorten(name)), "?" if count is None else f"{count:,}")
        for name, count in list(counts.items())[:MOST_LINES]
    ]
    width, digits = (max(len(row[place]) for row in rows) for place in (0, 1))
    for name, count in rows:
        yield f"  {name:<{width}}  {count:>{digits}}"
    if len(counts) > MOST_LINES:
        yield f"  and {len(counts) - MOST_LINES:,} others"
