"""Classifications of Zooniverse: CSV with a row per classification of a volunteer.

The column ``annotations`` is a JSON list with one object per task of the workflow: ``task``,
``task_label``, and ``value``, a text or, for several answers, a list. A dropdown is an object, or a
list of one object, whose ``label`` is the selected option. A combination of tasks has a list of
such annotations as its value.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import (
    Choice,
    answers_table,
    id_text,
    label_text,
    warn_left_out,
    with_unanswered,
)
from quietcrowd.formats.questions import Question, choose_question, count_questions
from quietcrowd.validation import parse_json

NAME = "Zooniverse classifications"

_NEEDED = ("workflow_id", "annotations", "subject_ids")
_OTHERS = ("user_id", "user_name", "workflow_name", "created_at", "gold_standard")
_READABLE = "an answer to a question, a text, or a dropdown with one selection"

_UNNAMED = "unknown answer label"
"""Zooniverse writes this for an answer that it does not find in the workflow."""

Annotation: TypeAlias = dict[str, Any]
Cells: TypeAlias = dict[str, str | None]


@frozen
class _Row:
    place: str
    cells: Cells
    answers: list[tuple[Question, Annotation]] | None
    """None if the annotations are damaged."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question of a workflow; the task is the subject.

    The worker is ``user_id`` or, if not logged in, ``user_name``. Answers that the export does not
    name are dropped with a warning.
    """
    answered, unnamed = _answered(path, _rows(path), choice)
    rows = (
        (_task(path, row), _worker(path, row), label, row.cells.get("created_at") or None)
        for row, label in answered
    )
    return with_unanswered(_table(rows), unnamed)


def read_truths(path: Path, choice: Choice) -> pa.Table:
    """Return the answers of the gold standard."""
    gold = [row for row in _rows(path) if (row.cells.get("gold_standard") or "").lower() == "true"]
    if not gold:
        raise FormatError("formats.gold-rows-missing", path=path)
    answered, _ = _answered(path, gold, choice)
    known = ((_task(path, row), None, label, None) for row, label in answered if label is not None)
    table = _table(known).select(["task", "label"])
    if pa.types.is_list(table.schema.field("label").type):
        return table
    return table.group_by(table.column_names, use_threads=False).aggregate([])


def _table(rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return a table with lists if one answer is a list, also of one label or none."""
    rows = list(rows)
    return answers_table(rows, several=any(isinstance(row[2], list) for row in rows))


def _rows(path: Path) -> list[_Row]:
    names = csv.names(path)
    for name in _NEEDED:
        if name not in names:
            raise FormatError("formats.column-missing", path=path, missing=name)
    table = csv.read(path, (*_NEEDED, *(name for name in _OTHERS if name in names)))
    return [
        _Row(f"row {number}", cells, _answers(cells))
        for number, cells in enumerate(table.to_pylist())
    ]


def _answers(cells: Cells) -> list[tuple[Question, Annotation]] | None:
    workflow, title = cells["workflow_id"] or "", cells.get("workflow_name") or ""
    try:
        return [
            (Question(one["task"], text if isinstance(text, str) else "", workflow, title), one)
            for one in _flat(parse_json(cells["annotations"] or "[]"))
            for text in [one.get("task_label")]
        ]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _flat(annotations: Any) -> Iterator[Annotation]:
    """Yield annotations; instead of a combination, yield its parts."""
    for annotation in annotations:
        value = annotation.get("value")
        inner = value if isinstance(value, list) else []
        parts = [one for one in inner if isinstance(one, dict) and "task" in one]
        if parts:
            yield from _flat(parts)
        elif isinstance(annotation.get("task"), str):
            yield annotation


def _answered(path: Path, rows: list[_Row], choice: Choice) -> tuple[list[tuple[_Row, Any]], int]:
    """Return the label of each classification in the question's workflow, and others' number."""
    counts = count_questions((question for question, _ in row.answers or ()) for row in rows)
    if choice.field is None or not counts:
        _check_readable(path, rows)
    questions = choose_question(path, counts, choice.field)
    workflows = {question.project for question in questions}
    mine = [row for row in rows if (row.cells["workflow_id"] or "") in workflows]
    _check_readable(path, mine)
    labels = [(row, _label(path, row, questions)) for row in mine]
    named = [(row, label) for row, label in labels if label != _UNNAMED]
    unnamed = len(mine) - len(named)
    warn_left_out(path, {"answers that the export does not name": unnamed})
    return named, unnamed


def _check_readable(path: Path, rows: list[_Row]) -> None:
    for row in rows:
        if row.answers is None:
            text = csv.shorten(row.cells["annotations"] or "")
            raise FormatError("formats.annotations-invalid", path=path, place=row.place, text=text)


def _label(path: Path, row: _Row, questions: frozenset[Question]) -> Any:
    """Return a text or a list of texts, or None if the volunteer did not answer."""
    mine = [one for question, one in row.answers or () if question in questions]
    values = [one.get("value") for one in mine]
    if not mine or values == [None]:
        return None
    key, value = mine[0]["task"], values[0] if len(values) == 1 else values
    listed = value if isinstance(value, list) else [value]
    if "task_label" not in mine[0] and listed and all(type(one) is int for one in listed):
        return _UNNAMED  # numbers of options
    select = listed[0] if len(listed) == 1 else None
    if isinstance(select, dict) and "select_label" in select:
        value = select.get("label", select.get("value"))
    if value is None:
        return None
    if not isinstance(value, list) or len(mine) > 1:
        return label_text(path, row.place, key, value, _READABLE)
    labels = [label_text(path, row.place, key, one, _READABLE) for one in value]
    return _UNNAMED if _UNNAMED in labels else labels


def _task(path: Path, row: _Row) -> str:
    return id_text(path, row.place, "subject_ids", row.cells["subject_ids"])


def _worker(path: Path, row: _Row) -> str:
    user = row.cells.get("user_id") or row.cells.get("user_name")
    return id_text(path, row.place, "user_name", user)
