"""Comma-separated values; every id is read as the text that stands there."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.column_names import resolve
from quietcrowd.formats.delimiters import LONGEST_HEADER, sniff_header
from quietcrowd.formats.packed import is_packed, open_text, writing_bytes
from quietcrowd.formats.sidecar import read_note, sidecar, write_beside
from quietcrowd.formats.spreadsheet_cells import guard, unguard
from quietcrowd.formats.whole_file import replacing

__all__ = ["as_text", "names", "read", "read_note", "write"]

NAME = "CSV in UTF-8"
"""What this module reads, for messages."""

_TEXTS = ("task", "worker", "label", "truth")
"""What is read as text is written as text, so that a file that is read is written as it was."""


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    return _header(path)[1]


def read(path: Path, wanted: tuple[str, ...]) -> pa.Table:
    """Return the wanted columns as text, or all where one is missing.

    Semicolons or tabs may separate the columns, if the header shows that they do.
    """
    delimiter, header = _header(path)
    found = resolve(path, header, wanted)
    complete = len(found) == len(wanted)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(found.values(), pa.string()),
        include_columns=list(found.values()) if complete else [],
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    table = _parsed(path, parse_options=parse, convert_options=convert)
    return unguard(table.rename_columns(list(found)) if complete else table)


def _parsed(path: Path, **options: Any) -> pa.Table:
    """Read a table; where that fails, once more in one thread, whose errors name the row."""
    for use_threads in (True, False):
        reading = pa_csv.ReadOptions(use_threads=use_threads)
        with pa.input_stream(path, compression="gzip" if is_packed(path) else None) as file:
            try:
                return pa_csv.read_csv(file, read_options=reading, **options)
            except pa.ArrowInvalid:
                if not use_threads:
                    raise
    raise AssertionError


def _header(path: Path) -> tuple[str, list[str]]:
    """Return what separates the columns, and their names."""
    with open_text(path, "utf-8-sig", newline="", errors="replace") as file:
        text = file.read(LONGEST_HEADER)
    try:
        return sniff_header(text, _delimiter(path))
    except csv.Error as error:
        raise FormatError(f"{path}: line 1: the header is no {NAME}: {error}") from None


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:]) else ","


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and the note into the sidecar, with the table's SHA-256.

    An old sidecar goes first: a table that is cut off from its mechanism is an error to read,
    one beside the wrong mechanism would not be.
    """
    sidecar(path).unlink(missing_ok=True)
    options = pa_csv.WriteOptions(
        delimiter=_delimiter(path), quoting_style="needed", quoting_header="needed"
    )
    table = guard(_with_texts(table))
    with replacing(path) as temporary, writing_bytes(temporary, path) as file:
        pa_csv.write_csv(table, file, options)
    if note is not None:
        write_beside(path, note)


def _with_texts(table: pa.Table) -> pa.Table:
    """Return the table with ids and labels as texts, and no column as a dictionary."""
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, name, pc.cast(column, column.type.value_type))
        if name in _TEXTS:
            table = table.set_column(place, name, as_text(table.column(place)))
    return table


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as the texts that it prints as."""
    return column if pa.types.is_large_string(column.type) else pc.cast(column, pa.string())
