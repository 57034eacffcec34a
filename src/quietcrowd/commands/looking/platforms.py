"""Files of platforms, and the answers to one of their questions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve

from quietcrowd.commands import options
from quietcrowd.commands.looking.findings import SAVE, USUAL, Findings
from quietcrowd.commands.looking.steps import (
    Given,
    Source,
    Steps,
    convert_steps,
    infer_steps,
    quiet,
)
from quietcrowd.commands.looking.truths import of_truths
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice, QuestionError
from quietcrowd.formats.contents import Contents
from quietcrowd.formats.kinds import Format
from quietcrowd.formats.likely_columns import separator_of

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
    """Return what a platform's file contains; the question with the most agreement is chosen."""
    questions = _questions(source.path, kind)
    read: dict[str, Contents] = {}
    for name in list(questions)[:_MOST_QUESTIONS]:
        with suppress(QuietcrowdError):
            read[name] = read_contents(source.path, kind, Choice(field=name))
            questions[name] = read[name].answers
    wanted = given.get("question")
    if wanted is None and len(questions) > 1 and read:
        wanted = max(read, key=lambda name: _agreement(read[name]))
    given = {**given, **({} if wanted is None else {"question": wanted})}
    found = Findings(title=kind.title, questions=questions, question=wanted)
    try:
        contents = read_contents(source.path, kind, Choice(field=wanted))
        steps = steps_for(source, contents, given)
        return evolve(found, contents=contents, steps=steps, advice=advice_on(contents))
    except QuietcrowdError as error:
        if error.code in _WITHOUT_ANSWERS:
            with suppress(QuietcrowdError):
                return evolve(of_truths(source), title=f"known truths ({kind.title})")
        advice = f"If another program wrote this file: {SAVE}"
        return evolve(found, steps=Steps(faults=(str(error),), error=error), advice=advice)


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


def _agreement(contents: Contents) -> tuple[bool, int]:
    """Return how much a question looks like one with labels that several workers gave."""
    return len(contents.labels) > 1, contents.answers - len(contents.labels)


def _questions(path: Path, kind: Format) -> dict[str, int | None]:
    """Return the questions of a platform's file, which the error about an unknown one lists."""
    with quiet():
        try:
            read_table(path, USUAL, file_format=kind.name, choice=Choice(field=_NO_QUESTION))
        except QuestionError as error:
            return dict(error.counts)
        except QuietcrowdError:
            pass
    return {}


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
    return Contents.of(select(path, table, columns).rename_columns(USUAL))


def select(path: Path, table: pa.Table, columns: Sequence[Any]) -> pa.Table:
    """Return columns by name or number; raise FormatError if one is missing."""
    names = [str(name) for name in columns]
    for name in names:
        if name not in table.column_names:
            there = ", ".join(table.column_names)
            raise FormatError("commands.column-missing", path=path, name=name, there=there)
    return table.select(names)


def steps_for(source: Source, contents: Contents, given: Given) -> Steps:
    """Return the inference, after a conversion if answers are sets or the format must be named."""
    if contents.sets and contents.labels:
        labels = options.join(sorted(contents.labels))
        return convert_steps(source, {**given, "multi_label": labels})
    if "from_format" in given:
        return convert_steps(source, given)
    single = infer_steps(source, contents, given)
    separator = separator_of(list(contents.labels))
    if separator is None:
        return single
    parts = {part.strip() for label in contents.labels for part in label.split(separator)}
    sets = {"multi_label": options.join(sorted(parts)), "separator": separator}
    several = convert_steps(source, {**given, **sets})
    if not several.commands or not single.commands:
        return several if several.commands else single
    return evolve(several, others={"If each text is one label": single.commands[0]})
