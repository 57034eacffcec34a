"""JSON Lines; the mechanism of a file of reports is the first line, with a key ``mechanism``."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.whole_file import replacing

__all__ = ["read", "read_note", "write"]

NAME = "JSON Lines in UTF-8"
"""What this module reads, for messages."""


def _open(path: Path) -> IO[str]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8")


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the first line where it is a note."""
    with _open(path) as file:
        line = file.readline()
    record = _object(path, 1, line) if line.strip() else {}
    return record if "mechanism" in record else None


def read(path: Path, texts: tuple[str, ...]) -> pa.Table:
    """Return the columns `texts`."""
    columns: dict[str, list[Any]] = {name: [] for name in texts}
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _object(path, number, line)
            if number == 1 and "mechanism" in record:
                continue
            for name, cells in columns.items():
                if name not in record:
                    raise FormatError(f"{path}: line {number} lacks the key {name!r}")
                cells.append(record[name])
    return pa.table({name: _column(path, name, cells) for name, cells in columns.items()})


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FormatError(f"{path}: line {number} is no JSON: {error}") from None
    if not isinstance(record, dict):
        raise FormatError(
            f"{path}: line {number}: expected a JSON object; got {line.strip()[:40]!r}"
        )
    return record


def _column(path: Path, name: str, cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise FormatError(f"{path}: key {name!r} holds more than one type: {error}") from None


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write one object per row, after the note."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with replacing(path) as temporary, opener(temporary, "wt", encoding="utf-8") as file:
        if note is not None:
            file.write(json.dumps(note) + "\n")
        for batch in _json_types(table).to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                cells = {name: _json_ready(cell) for name, cell in row.items()}
                file.write(json.dumps(cells) + "\n")


def _json_types(table: pa.Table) -> pa.Table:
    """Return the table with dates and the like as the texts that Arrow prints."""
    for place, column in enumerate(table.columns):
        if pa.types.is_temporal(column.type):
            table = table.set_column(place, table.column_names[place], pc.cast(column, pa.string()))
    return table


def _json_ready(cell: Any) -> Any:
    """Return the cell, or None where it is a number that JSON does not know."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
