"""Rows with one annotation of Label Studio each, as in JSON_MIN and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import check_plain_columns, choose_field
from quietcrowd.formats.label_studio_results import Pseudonyms, is_id, read_short, shorten

__all__ = [
    "ANNOTATOR",
    "ID",
    "NUMBERS",
    "TASK",
    "flat_columns",
    "is_flat",
    "question_of",
    "read_columns",
]

ID, TASK, ANNOTATOR = "id", "task", "annotator"
_ANNOTATION = "annotation_id"
NUMBERS = (ID, ANNOTATOR, _ANNOTATION)
_TIMES = ("created_at", "updated_at", "lead_time")
_OTHERS = frozenset({ID, TASK, ANNOTATOR, _ANNOTATION, *_TIMES, "agreement", "history"})
"""Columns that are not questions."""


def is_flat(names: Sequence[str]) -> bool:
    """Return whether these are the columns of annotations."""
    return {ANNOTATOR, _ANNOTATION} <= set(names)


def question_of(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """Return the column of the answers; raise FormatError if it is ambiguous.

    Columns of task data look like questions: if a file has some, the question must be named.
    """
    if ANNOTATOR not in names or ID not in names:
        missing = ANNOTATOR if ANNOTATOR not in names else ID
        raise FormatError(f"{path}: {missing!r} is missing: this is no annotation of Label Studio")
    return choose_field(path, [name for name in names if name not in _OTHERS], wanted)


def read_columns(
    path: Path,
    columns: dict[str, list[Any]],
    field: str,
    *,
    packed: bool,
) -> pa.Table:
    """Return answers; tasks are named by ``task`` if it corresponds one to one to ``id``.

    `columns` are those of ids, tasks, annotators and answers (`field`). If `packed`, cells may
    contain JSON.
    """
    for place, row in enumerate(zip(columns[ID], columns[ANNOTATOR], strict=True)):
        if not all(map(is_id, row)):
            raise FormatError(
                f"{path}: annotation {place}: {ID!r} and {ANNOTATOR!r} must be ids; got {row!r}"
            )
    labels = []
    for place, cell in enumerate(columns[field]):
        try:
            labels.append(read_short(cell, packed=packed))
        except ValueError as error:
            raise FormatError(f"{path}: annotation {place}, {field!r}: {error}") from None
    return pa.table(
        {
            "task": pa.array(_keys(columns[ID], columns.get(TASK)), pa.string()),
            "worker": pa.array(map(str, columns[ANNOTATOR]), pa.string()),
            "label": pa.array(labels),
        }
    )


def _keys(ids: list[Any], tasks: list[Any] | None) -> list[str]:
    keys = [str(one) for one in ids]
    if tasks is None or not all(map(is_id, tasks)):
        return keys
    names = [str(task) for task in tasks]
    pairs = set(zip(keys, names, strict=True))
    return names if len(pairs) == len(set(keys)) == len(set(names)) else keys


def flat_columns(path: Path, table: pa.Table, name: str, workers: Pseudonyms) -> dict[str, Any]:
    """Return answers as columns; times are empty."""
    check_plain_columns(path, table, name)
    tasks: dict[Any, int] = {}
    given = table["task"].to_pylist()
    empty = [None] * len(table)
    return {
        TASK: [None if task is None else str(task) for task in given],
        ID: [tasks.setdefault(task, len(tasks) + 1) for task in given],
        "label": [shorten(label) for label in table["label"].to_pylist()],
        ANNOTATOR: [workers.number(worker) for worker in table["worker"].to_pylist()],
        _ANNOTATION: list(range(1, len(table) + 1)),
        **dict.fromkeys(_TIMES, empty),
    }
