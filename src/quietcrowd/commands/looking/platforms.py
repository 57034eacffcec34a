"""Files of platforms, the answers to one of their questions, and known truths."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve

from quietcrowd.commands.looking.contents import Contents, labels_by_task
from quietcrowd.commands.looking.findings import (
    USUAL,
    Findings,
    Given,
    Source,
    Steps,
    quiet,
    write_command,
)
from quietcrowd.commands.looking.steps import steps_for
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.formats import read_table
from quietcrowd.formats.answers import read_truths
from quietcrowd.formats.columns import Choice, QuestionError, unanswered_in
from quietcrowd.formats.kinds import Format

_MOST_QUESTIONS = 20
"""Maximum number of questions that are read to count answers."""

_MANY_LABELS = 6
"""With fewer labels, tasks are not compared."""

_WITHOUT_ANSWERS = {
    f"formats.{kind}" for kind in ("no-answer", "no-answer-column", "labels-consolidated")
}
"""Codes of errors about files that may have known truths only."""

_NO_QUESTION = "\0"
"""The name of no question; the error about it lists the names of all."""


def of_platform(source: Source, kind: Format, given: Given) -> Findings:
    """Inspect a platform's file; choose the question with the most agreement."""
    path, read, failed = source.path, {}, []
    questions = _questions(path, kind)
    for name in list(questions)[:_MOST_QUESTIONS]:
        try:
            read[name] = read_contents(path, kind, Choice(field=name))
            questions[name] = read[name].answers
        except QuietcrowdError as error:
            failed.append(error)
    found = Findings(title=kind.title, questions=questions, question=given.get("question"))
    try:
        contents = read_contents(path, kind, Choice(field=found.question))
    except QuestionError as error:
        if failed and all(one.unanimous for one in read.values()):  # such as the data of tasks
            return found.failed(failed[0])
        if found.question is not None or not read:
            return found.failed(error)
        wanted = max(read, key=lambda name: read[name].agreement)
        found, contents = evolve(found, question=wanted), read[wanted]
        given = {**given, "question": wanted}
    except QuietcrowdError as error:
        if error.code in _WITHOUT_ANSWERS:
            with suppress(QuietcrowdError):
                return evolve(of_truths(source), title=f"known truths ({kind.title})")
        return found.failed(error)
    survey = kind.name == "qualtrics" and found.question is None and not contents.sets
    try:
        labels = _labels_by_task(path, kind) if survey else None
        steps = steps_for(source, contents, given, labels)
    except QuietcrowdError as error:
        return found.failed(error)
    return evolve(found, contents=contents, steps=steps, advice=advice_on(contents))


def _questions(path: Path, kind: Format) -> dict[str, int | None]:
    """Return the questions of a platform's file, which the error about an unknown one lists."""
    with quiet(), suppress(QuietcrowdError):
        try:
            read_table(path, USUAL, file_format=kind.name, choice=Choice(field=_NO_QUESTION))
        except QuestionError as error:
            return dict(error.counts)
    return {}


def _labels_by_task(path: Path, kind: Format) -> dict[str, list[str]]:
    with quiet():
        return labels_by_task(read_table(path, USUAL, file_format=kind.name))


def advice_on(contents: Contents) -> str:
    """Return advice if most answers are different texts, or tasks have different labels."""
    count = len(contents.labels)
    if contents.sets or contents.numbers or count < _MANY_LABELS:
        return ""
    if count > contents.answers / 2:
        return (
            "Most answers differ, as in free text. An inference compares labels: sort them into "
            "categories first."
        )
    per_task = contents.task_labels / contents.tasks
    if per_task > count / 3:
        return ""
    return (
        f"Tasks have different labels: {count:,} in all, {per_task:.1f} per task. If they are "
        "multiple-choice questions, list the options of each in a table with columns task and "
        "label, and add --options TABLE."
    )


def read_contents(
    path: Path, kind: Format, choice: Choice, columns: tuple[Any, Any, Any] = USUAL
) -> Contents:
    """Count the answers in a file; raise FormatError or ParameterError if it cannot be read."""
    with quiet():
        try:
            table = read_table(path, columns, file_format=kind.name, choice=choice)
        except FormatError as error:
            if error.code != "formats.lists-in-cells":
                raise
            table = read_table(path, columns, file_format=kind.name, choice=choice, sets=True)
    contents = Contents.of(select(path, table, columns).rename_columns(USUAL))
    return evolve(contents, blanks=contents.blanks + unanswered_in(table))


def select(path: Path, table: pa.Table, columns: Sequence[Any]) -> pa.Table:
    """Return columns by name or number; raise FormatError if one is missing."""
    names = [str(name) for name in columns]
    for name in names:
        if name not in table.column_names:
            there = ", ".join(table.column_names)
            raise FormatError("commands.column-missing", path=path, name=name, there=there)
    return table.select(names)


def of_truths(source: Source) -> Findings:
    """Inspect a file of known truths, or of options per task."""
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
