"""Parquet; the mechanism of a file of reports stands in the file's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.whole_file import replacing

__all__ = ["check_once", "read", "read_note", "write"]

NAME = "Parquet"
"""What this module reads, for messages."""

KEY = b"quietcrowd"


def read(path: Path, texts: tuple[str, ...]) -> pa.Table:
    """Return the columns `texts`, or all where one is missing."""
    names = pq.read_schema(path).names
    check_once(path, names, texts)
    return pq.read_table(path, columns=list(texts) if set(texts) <= set(names) else None)


def check_once(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise FormatError where a wanted column is there more than once."""
    for name in wanted:
        if names.count(name) > 1:
            raise FormatError(
                f"{path}: {names.count(name)} columns are called {name!r}: leave one of them"
            )


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note in the metadata, if there is one."""
    metadata = pq.read_schema(path).metadata or {}
    note = json.loads(metadata[KEY]) if KEY in metadata else None
    if note is not None and not isinstance(note, dict):
        raise FormatError(f"{path}: the note in the metadata must be a JSON object; got {note!r}")
    return note


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and the note into the metadata."""
    if note is not None:
        table = table.replace_schema_metadata({KEY: json.dumps(note).encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
