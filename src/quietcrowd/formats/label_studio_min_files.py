"""Label Studio JSON_MIN: a list of annotations, each with the data of its task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.files import (
    open_text,
    read_note,
    replacing,
    sidecar,
    write_beside,
    writing_bytes,
)
from quietcrowd.formats.json_files import read_records
from quietcrowd.formats.label_studio_results import Pseudonyms
from quietcrowd.formats.label_studio_rows import (
    ANNOTATOR,
    ID,
    TASK,
    flat_columns,
    is_flat,
    question_of,
    read_columns,
)

__all__ = ["read", "read_note", "recognises", "write"]

NAME = "Label Studio JSON_MIN"

_HEAD = 2**20
"""Characters that must include the first annotation."""


def recognises(path: Path) -> bool:
    """Return whether the first object of a file is an annotation and not a task."""
    with open_text(path, "utf-8-sig") as file:
        head = file.read(_HEAD).lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(head.removeprefix("[").lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and is_flat(list(first)) and "annotations" not in first


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question."""
    if "label" in wanted and "worker" not in wanted:
        raise FormatError(f"{path}: {NAME} holds no known truths: write a file with task and label")
    records = read_records(path, "annotation")
    names = list(dict.fromkeys(name for record in records for name in record))
    field = question_of(path, names, choice.field)
    columns = {
        name: [record.get(name) for record in records] for name in (ID, TASK, ANNOTATOR, field)
    }
    return read_columns(path, columns, field, packed=False)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one annotation per row.

    Workers become numbers in the order of their first row, also in the note, and times are omitted.
    The sidecar contains the note.
    """
    workers = Pseudonyms()
    columns = flat_columns(path, table, NAME, workers)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    sidecar(path).unlink(missing_ok=True)
    with replacing(path) as temporary, writing_bytes(temporary, path) as file:
        lines = ",\n".join(json.dumps(_answered(row), ensure_ascii=False) for row in rows)
        file.write(f"[\n{lines}\n]\n".encode() if rows else b"[]\n")
    if note is not None:
        write_beside(path, workers.in_note(note))


def _answered(row: dict[str, Any]) -> dict[str, Any]:
    """Return an annotation, without the question if it has no answer."""
    return {name: cell for name, cell in row.items() if name != "label" or cell is not None}
