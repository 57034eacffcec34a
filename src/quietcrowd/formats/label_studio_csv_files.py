"""Label Studio CSV: one annotation per row; cells that are not text contain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv_files
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.files import read_note
from quietcrowd.formats.label_studio_results import Pseudonyms
from quietcrowd.formats.label_studio_rows import (
    ANNOTATOR,
    ID,
    NUMBERS,
    TASK,
    flat_columns,
    is_flat,
    question_of,
    read_columns,
)

__all__ = ["read", "read_note", "recognises", "write"]

NAME = "Label Studio CSV"


def recognises(names: list[str]) -> bool:
    """Return whether these are the columns of annotations."""
    return is_flat(names)


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question."""
    if "label" in wanted and "worker" not in wanted:
        raise FormatError(f"{path}: {NAME} holds no known truths: write a file with task and label")
    names = csv_files.names(path)
    field = question_of(path, names, choice.field)
    held = tuple(name for name in (ID, TASK, ANNOTATOR, field) if name in names)
    table = csv_files.read(path, held)
    columns = {name: table[name].to_pylist() for name in held}
    return read_columns(path, columns, field, packed=True)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one annotation per row; workers become numbers in the order of their first row."""
    workers = Pseudonyms()
    columns = flat_columns(path, table, NAME, workers)
    labels = [
        cell if cell is None or isinstance(cell, str) else json.dumps(cell)
        for cell in columns["label"]
    ]
    arrays = {
        name: pa.array(cells, pa.int64() if name in NUMBERS else pa.string())
        for name, cells in {**columns, "label": labels}.items()
    }
    csv_files.write(pa.table(arrays), path, None if note is None else workers.in_note(note))
