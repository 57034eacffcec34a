"""Parquet files; a file of reports has the note in its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import resolve
from quietcrowd.formats.files import replacing
from quietcrowd.frames import MARK, mark_in

__all__ = ["names", "read", "read_note", "write"]

NAME = "Parquet"

KEY = MARK.encode()


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    return pq.read_schema(path).names  # type: ignore[no-any-return]


def read(path: Path, wanted: tuple[str, ...]) -> pa.Table:
    """Return the wanted columns, or all columns if one is missing."""
    found = resolve(path, names(path), wanted)
    if len(found) < len(wanted):
        return pq.read_table(path)
    table = pq.read_table(path, columns=list(found.values()))
    return table.select(list(found.values())).rename_columns(list(found))


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note in the metadata, or the mark of a pandas frame, or None."""
    schema = pq.read_schema(path)
    metadata = schema.metadata or {}
    if KEY not in metadata:  # pandas keeps the mark on aggregates per task, which lack workers
        return mark_in(schema) if "worker" in schema.names else None
    note = json.loads(metadata[KEY])
    if not isinstance(note, dict):
        raise FormatError(f"{path}: the note in the metadata must be a JSON object; got {note!r}")
    return note


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, with the note in the metadata."""
    if note is not None:
        table = table.replace_schema_metadata({KEY: json.dumps(note).encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
