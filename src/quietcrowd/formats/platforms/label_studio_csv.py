"""Label Studio CSV: one annotation per row; cells that are not text contain JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.platforms.label_studio import Pseudonyms
from quietcrowd.formats.platforms.label_studio_min import (
    NUMBERS,
    columns_for,
    flat_columns,
    question_of,
    read_rows,
    unpack,
)

NAME = "Label Studio CSV"


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question."""
    names = csv.names(path)
    field = question_of(path, names, choice)
    rows = csv.read(path, columns_for(names, field)).to_pylist()
    return read_rows(path, rows, field, packed=True, sets=choice.sets)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one annotation per row; workers become numbers in the order of their first row."""
    workers = Pseudonyms()
    columns = flat_columns(path, table, NAME, workers)
    columns["label"] = list(map(_packed, columns["label"]))
    arrays = {
        name: pa.array(cells, pa.int64() if name in NUMBERS else pa.string())
        for name, cells in columns.items()
    }
    csv.write(pa.table(arrays), path, None if note is None else workers.in_note(note))


def _packed(cell: Any) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, str) and unpack(cell) != cell:  # a choice that would be read as JSON
        cell = {"choices": [cell]}
    return cell if isinstance(cell, str) else json.dumps(cell)
