"""Label Studio JSON_MIN: a list of annotations, each with the data of its task.

Label Studio CSV has the same columns.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice, check_plain_columns, choose_field
from quietcrowd.formats.jsonl import read_records
from quietcrowd.formats.platforms.label_studio import Pseudonyms, answers_of, write_records
from quietcrowd.formats.platforms.label_studio_results import KINDS, answer_of, is_id, make_result

NAME = "Label Studio JSON_MIN"

_ID, _TASK, _ANNOTATOR, _ANNOTATION = "id", "task", "annotator", "annotation_id"
NUMBERS = (_ID, _ANNOTATOR, _ANNOTATION)
_CREATED, _UPDATED = "created_at", "updated_at"
_TIMES = (_CREATED, _UPDATED, "lead_time")
_OTHERS = frozenset({_ID, _TASK, _ANNOTATOR, _ANNOTATION, *_TIMES, "agreement", "history"})
"""Columns that are not questions."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question."""
    records = read_records(path, "annotation")
    names = list(dict.fromkeys(name for record in records for name in record))
    return read_rows(path, records, question_of(path, names, choice), sets=choice.sets)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one annotation per row.

    Workers become numbers in the order of their first row, also in the note, and times are omitted.
    The sidecar contains the note.
    """
    workers = Pseudonyms()
    columns = flat_columns(path, table, NAME, workers)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    answered = (
        {name: cell for name, cell in row.items() if name != "label" or cell is not None}
        for row in rows
    )
    write_records(path, answered, note, workers)


def question_of(path: Path, names: Sequence[str], choice: Choice) -> str:
    """Return the column of the answers; raise FormatError if it is ambiguous."""
    for name in (_ANNOTATOR, _ID):
        if name not in names:
            raise FormatError("formats.annotation-column-missing", path=path, missing=name)
    return choose_field(path, [name for name in names if name not in _OTHERS], choice.field)


def columns_for(names: Sequence[str], field: str) -> tuple[str, ...]:
    """Return the columns that `read_rows` needs."""
    held = (_ID, _TASK, _ANNOTATOR, field, _CREATED, _UPDATED)
    return tuple(name for name in held if name in names)


def read_rows(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    field: str,
    *,
    packed: bool = False,
    sets: bool,
) -> pa.Table:
    """Return answers; tasks are named by ``task`` if it corresponds one to one to ``id``."""
    found = []
    for place, row in enumerate(rows):
        ids = row.get(_ID), row.get(_ANNOTATOR)
        if not all(map(is_id, ids)):
            raise FormatError(
                "formats.annotation-ids-invalid",
                path=path,
                place=place,
                id=_ID,
                annotator=_ANNOTATOR,
                row=ids,
            )
        try:
            label = _read_short(row.get(field), packed=packed)
        except ValueError as error:
            raise FormatError(
                "formats.annotation-field-invalid", path=path, place=place, field=field, error=error
            ) from None
        found.append((str(ids[1]), label, row.get(_UPDATED) or row.get(_CREATED)))
    keys = _keys(rows)
    answers = [(key, *one) for key, one in zip(keys, found, strict=True)]
    return answers_of(path, field, answers, sets=sets)


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    ids, tasks = ([row.get(name) for row in rows] for name in (_ID, _TASK))
    keys, names = list(map(str, ids)), list(map(str, tasks))
    pairs = set(zip(keys, names, strict=True))
    alike = len(pairs) == len(set(keys)) == len(set(names))
    return names if alike and all(map(is_id, tasks)) else keys


def flat_columns(path: Path, table: pa.Table, name: str, workers: Pseudonyms) -> dict[str, Any]:
    """Return answers as columns; times are empty."""
    check_plain_columns(path, table, name)
    tasks: dict[Any, int] = {}
    given = table["task"].to_pylist()
    return {
        _TASK: [None if task is None else str(task) for task in given],
        _ID: [tasks.setdefault(task, len(tasks) + 1) for task in given],
        "label": [_shorten(label) for label in table["label"].to_pylist()],
        _ANNOTATOR: [workers.number(worker) for worker in table["worker"].to_pylist()],
        _ANNOTATION: list(range(1, len(table) + 1)),
        **dict.fromkeys(_TIMES, [None] * len(table)),
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


def _read_short(cell: Any, *, packed: bool) -> Any:
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
