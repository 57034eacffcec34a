"""One annotation of Label Studio per row, as its JSON_MIN and its CSV have them."""

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
"""What is no question."""


def is_flat(names: Sequence[str]) -> bool:
    """Return whether rows with these names are annotations of Label Studio."""
    return {ANNOTATOR, _ANNOTATION} <= set(names)


def question_of(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """Return which column holds the answers; FormatError where that is not clear.

    Columns of data look as questions do: where a file has some, the question has to be named.
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
    """Return answers; a task is what ``task`` says, if that is as many tasks as ``id`` says.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    columns : dict of str to list
        Those of ids, tasks, annotators and answers.
    field : str
        Name of the column of answers.
    packed : bool
        Whether what is no text is JSON in a text.
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
    """Return what names the task of each row."""
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
