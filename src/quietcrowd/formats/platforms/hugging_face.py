"""Data sets of Hugging Face: a row per task, whose columns are lists over annotators.

One column has the labels of each annotator, and a parallel column has their ids. Both may be
members of one column of objects, as in ``annotators.label`` and ``annotators.annotator_id``. In CSV
a list is written as JSON, by Python or by numpy. Lists without ids, and counts per label, do not
say who answered, and are rejected: a position in a list is not a person.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice, answers_table, choose_field, id_text, label_text
from quietcrowd.formats.jsonl import read_objects
from quietcrowd.label_cells import parse_list

NAME = "Hugging Face data set"

_TASKS = ("id", "task", "idx", "uid")
"""Columns that identify rows; without these, the task is the number of the row, from 0."""

_TASK_NAMES = ("task", "task_id", "taskId")
"""Names that show that rows of answers are inside one column."""

_WORKERS = re.compile(r"(?i)(annotator|worker|rater|coder|user)s?([_ ]?ids?)?")
"""The name of a column with the ids of annotators, without the column that contains it."""

_READABLE = "a text, a number, or a list of these"

Columns: TypeAlias = Mapping[str, Sequence[Any]]


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the labels in one column, by the annotators in the parallel column."""
    columns = _columns(path)
    lists = [name for name, cells in columns.items() if any(map(_looks_like_list, cells))]
    ids = [name for name in lists if _WORKERS.fullmatch(name.rpartition(".")[2])]
    if not ids:
        known = csv.shorten(", ".join(map(repr, columns)), 200)
        raise FormatError("formats.annotators-missing", path=path, known=known)
    for parent, _, name in (name.rpartition(".") for name in lists):
        if parent and name in _TASK_NAMES:
            raise FormatError("formats.rows-inside", path=path, name=parent)
    fields = [name for name in lists if name not in ids]
    if choice.field is None:
        fields = [name for name in fields if _are_parallel(columns, name, ids)]
    field = choose_field(path, fields, choice.field)
    rows = list(_answers(path, columns, field, _parallel(path, field, ids)))
    return answers_table(rows, several=any(isinstance(label, list) for _, _, label, _ in rows))


def _answers(
    path: Path, columns: Columns, field: str, workers: str
) -> Iterator[tuple[str, str, Any, None]]:
    for row, task in enumerate(_tasks(path, columns)):
        labels, people = (_list(path, row, name, columns[name][row]) for name in (field, workers))
        if len(labels) != len(people):
            raise FormatError(
                "formats.lists-differ",
                path=path,
                row=row,
                field=field,
                count=len(labels),
                workers=workers,
                other_count=len(people),
            )
        for label, worker in zip(labels, people, strict=True):
            if label is not None or worker is not None:  # both are null where a list is filled up
                who = id_text(path, f"row {row}", workers, worker)
                yield task, who, _label(path, row, field, label), None


def _columns(path: Path) -> Columns:
    name = path.name.lower()
    if name.endswith(".parquet"):
        schema = pq.read_schema(path)
        held = [one.name for one in schema if "binary" not in str(one.type)]
        columns: Columns = pq.read_table(path, columns=held).to_pydict()
    elif name.endswith((".csv", ".csv.gz")):
        columns = csv.read(path, tuple(csv.names(path))).to_pydict()
    else:
        records = [record for _, record in read_objects(path)]
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
    return {name: cells for column in columns.items() for name, cells in _members(*column)}


def _members(name: str, cells: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield a column, or the columns ``name.member`` of objects or of lists of objects."""
    first = next((cell for cell in cells if cell not in (None, "", [])), None)
    sample = first[0] if isinstance(first, list) and first else first
    if not isinstance(sample, dict):
        yield name, cells
        return
    for member in sample:
        yield f"{name}.{member}", [_member(cell, member) for cell in cells]


def _member(cell: Any, member: str) -> Any:
    """Return a member, or the members in a list; other values stay, for the message."""
    if isinstance(cell, list):
        return [one.get(member) if isinstance(one, dict) else [[one]] for one in cell]
    return cell.get(member) if isinstance(cell, dict) else cell


def _looks_like_list(cell: Any) -> bool:
    return isinstance(cell, list) or (isinstance(cell, str) and cell[:1] + cell[-1:] == "[]")


def _parsed(cell: Any) -> Any:
    """Return a list that a cell of CSV contains, or None."""
    return parse_list(cell) if isinstance(cell, str) else cell


def _list(path: Path, row: int, name: str, cell: Any) -> list[Any]:
    found = [] if cell is None or cell == "" else _parsed(cell)
    if not isinstance(found, list):
        text = csv.shorten(str(cell))
        raise FormatError("formats.cell-not-a-list", path=path, row=row, name=name, text=text)
    return found


def _are_parallel(columns: Columns, field: str, ids: Sequence[str]) -> bool:
    """Return whether a list has one value per annotator, in the first row that has both."""
    for name in _beside(field, ids):
        for cells in zip(columns[field], columns[name], strict=True):
            if None not in cells and "" not in cells:
                labels, workers = map(_parsed, cells)
                unknown = not (isinstance(labels, list) and isinstance(workers, list))
                return unknown or len(labels) == len(workers)
    return False


def _beside(field: str, ids: Sequence[str]) -> list[str]:
    """Return the columns of ids inside the column that has the field, or else all."""
    parent = field.rpartition(".")[0]
    return [name for name in ids if name.rpartition(".")[0] == parent] or list(ids)


def _parallel(path: Path, field: str, ids: Sequence[str]) -> str:
    found = _beside(field, ids)
    if len(found) > 1:
        known = " and ".join(map(repr, found))
        raise FormatError("formats.annotators-ambiguous", path=path, known=known, field=field)
    return found[0]


def _tasks(path: Path, columns: Columns) -> list[str]:
    name = next((name for name in _TASKS if name in columns), None)
    if name is None:
        return [str(row) for row in range(len(next(iter(columns.values()))))]
    tasks = [id_text(path, f"row {row}", name, cell) for row, cell in enumerate(columns[name])]
    twice = next((task for task, count in Counter(tasks).items() if count > 1), None)
    if twice is not None:
        raise FormatError("formats.task-id-twice", path=path, twice=twice)
    return tasks


def _label(path: Path, row: int, field: str, value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    values = value if isinstance(value, list) else [value]
    texts = [label_text(path, f"row {row}", field, one, _READABLE) for one in values]
    return texts if isinstance(value, list) else texts[0]
