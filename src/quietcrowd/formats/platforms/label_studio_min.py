"""Label Studio JSON_MIN: a list of annotations, each with the data of its task.

Label Studio CSV has the same columns.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import (
    Choice,
    check_plain_columns,
    choose_field,
    reject_truths,
)
from quietcrowd.formats.jsonl import read_records
from quietcrowd.formats.platforms.label_studio import Pseudonyms, labels_of, write_records
from quietcrowd.formats.platforms.label_studio_results import KINDS, answer_of, is_id, make_result
from quietcrowd.formats.times import with_times

NAME = "Label Studio JSON_MIN"

ID, TASK, ANNOTATOR = "id", "task", "annotator"
_ANNOTATION = "annotation_id"
NUMBERS = (ID, ANNOTATOR, _ANNOTATION)
CREATED, UPDATED = "created_at", "updated_at"
_TIMES = (CREATED, UPDATED, "lead_time")
_OTHERS = frozenset({ID, TASK, ANNOTATOR, _ANNOTATION, *_TIMES, "agreement", "history"})
"""Columns that are not questions."""


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question."""
    reject_truths(path, wanted, NAME)
    records = read_records(path, "annotation")
    names = list(dict.fromkeys(name for record in records for name in record))
    field = question_of(path, names, choice.field)
    held = (ID, TASK, ANNOTATOR, field, CREATED, UPDATED)
    columns = {name: [record.get(name) for record in records] for name in held}
    return read_columns(path, columns, field, packed=False, sets=choice.sets)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one annotation per row.

    Workers become numbers in the order of their first row, also in the note, and times are omitted.
    The sidecar contains the note.
    """
    workers = Pseudonyms()
    columns = flat_columns(path, table, NAME, workers)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    write_records(path, map(_answered, rows), note, workers)


def _answered(row: dict[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if name != "label" or cell is not None}


def question_of(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """Return the column of the answers; raise FormatError if it is ambiguous."""
    if ANNOTATOR not in names or ID not in names:
        missing = ANNOTATOR if ANNOTATOR not in names else ID
        raise FormatError("formats.annotation-column-missing", path=path, missing=missing)
    return choose_field(path, [name for name in names if name not in _OTHERS], wanted)


def read_columns(
    path: Path,
    columns: dict[str, list[Any]],
    field: str,
    *,
    packed: bool,
    sets: bool,
) -> pa.Table:
    """Return answers; tasks are named by ``task`` if it corresponds one to one to ``id``."""
    for place, row in enumerate(zip(columns[ID], columns[ANNOTATOR], strict=True)):
        if not all(map(is_id, row)):
            raise FormatError(
                "formats.annotation-ids-invalid",
                path=path,
                place=place,
                id=ID,
                annotator=ANNOTATOR,
                row=row,
            )
    labels = []
    for place, cell in enumerate(columns[field]):
        try:
            labels.append(_read_short(cell, packed=packed))
        except ValueError as error:
            raise FormatError(
                "formats.annotation-field-invalid", path=path, place=place, field=field, error=error
            ) from None
    empty = [None] * len(labels)
    times = zip(columns.get(UPDATED, empty), columns.get(CREATED, empty), strict=True)
    answers = {
        "task": pa.array(_keys(columns[ID], columns.get(TASK)), pa.string()),
        "worker": pa.array(map(str, columns[ANNOTATOR]), pa.string()),
        "label": labels_of(path, field, labels, sets=sets),
    }
    return with_times(answers, [updated or created for updated, created in times])


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
        "label": [_shorten(label) for label in table["label"].to_pylist()],
        ANNOTATOR: [workers.number(worker) for worker in table["worker"].to_pylist()],
        _ANNOTATION: list(range(1, len(table) + 1)),
        **dict.fromkeys(_TIMES, empty),
    }


def _shorten(label: Any) -> Any:
    """Return a label as JSON_MIN has it: one choice as text, several or a number in an object."""
    for result in make_result("", label):
        value = result["value"]
        choices = value.get("choices")
        if choices is None:
            return [value]
        return choices[0] if len(choices) == 1 else value
    return None


def _read_short(cell: Any, *, packed: bool = False) -> Any:
    """Return the answer in a cell of JSON_MIN, or None; `packed` cells (CSV) may contain JSON."""
    if packed and isinstance(cell, str):
        cell = unpack(cell)
    if cell is None or isinstance(cell, str):
        return [cell] if cell else None
    values = cell if isinstance(cell, list) else [cell]
    answers = [answer_of(values[0], key) for key in KINDS.values()] if len(values) == 1 else []
    found = [answer for answer in answers if answer is not None]
    if len(found) != 1:
        raise ValueError(f"expected one answer ({', '.join(KINDS)}); got {cell!r:.80}")
    return found[0]


def unpack(text: str) -> Any:
    """Return the value of a cell that is JSON, or the text."""
    try:
        return json.loads(text) if text.startswith(("[{", "{")) else text
    except (ValueError, RecursionError):
        return text
