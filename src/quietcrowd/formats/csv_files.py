"""Comma-separated values, tabs too: every id is read as the text that stands there.

Cells that a spreadsheet would take for a formula are guarded, which reading undoes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import resolve
from quietcrowd.formats.files import (
    is_packed,
    open_text,
    read_note,
    replacing,
    sidecar,
    write_beside,
    writing_bytes,
)

__all__ = [
    "LONGEST_HEADER",
    "as_text",
    "count_formulas",
    "guard",
    "guard_cell",
    "names",
    "read",
    "read_note",
    "shorten",
    "sniff_header",
    "unguard",
    "write",
]

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


def shorten(text: str, most: int = 40) -> str:
    """Return a text as a message shows it, cut off where it is long."""
    return text if len(text) <= most else f"{text[:most]}…"


LONGEST_HEADER = 2**16
"""Characters in which a header ends."""


def sniff_header(text: str, usual: str) -> tuple[str, list[str]]:
    """Return what separates the columns, and their names: whatever gives the most names.

    Parameters
    ----------
    text : str
        A table, or its beginning.
    usual : str
        What separates the columns where nothing gives more names: a comma or a tab.

    Raises
    ------
    csv.Error
        Where the header breaks the rules of CSV.

    Examples
    --------
    >>> sniff_header("task;question, in short;gold", ",")
    (';', ['task', 'question, in short', 'gold'])
    """
    found = {}
    for delimiter in dict.fromkeys((usual, ",", ";", "\t")):
        rows = csv.reader(io.StringIO(text[:LONGEST_HEADER], newline=""), delimiter=delimiter)
        found[delimiter] = next((row for row in rows if row), [])
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]


_BLANKS = (
    "\\x00-\\x20\\x7f-\\xa0\\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
"""Control characters, spaces and invisible characters, which programs may remove at the start."""

_SIGNS = "=+\\-@|\uff1d\uff0b\uff0d\uff20\uff5c\ufe66\ufe62\ufe63\ufe6b"
"""Also full-width and small variants, which East Asian settings read as the ASCII sign."""

_START = f"(['{_BLANKS}]*[{_SIGNS}]|'*[\\t\\r\\n])"
"""How a formula begins, in the syntax that Python's `re` and Arrow share."""

_FORMULA = re.compile(_START)
_NUMBER = re.compile(
    r"'*[+-](([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|nan)", re.ASCII | re.IGNORECASE
)


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guard_cell(text: str) -> str:
    """Return a text as it is written.

    Examples
    --------
    >>> [guard_cell(text) for text in ("=1+1", "'=1+1", "|x", "-3", "- 3", "'tis")]
    ["'=1+1", "''=1+1", "'|x", '-3', "'- 3", "'tis"]
    """
    return f"'{text}" if _is_formula(text) else text


def guard(table: pa.Table) -> pa.Table:
    """Return a table with its texts as they are written."""
    for place, column in enumerate(table.columns):
        if _first_characters(column, f"^{_START}"):
            cells = [cell if cell is None else guard_cell(cell) for cell in column.to_pylist()]
            name = table.column_names[place]
            table = table.set_column(place, name, pa.array(cells, column.type))
    return table


def unguard(table: pa.Table) -> pa.Table:
    """Return a table as it was before it was written.

    Where a cell is a formula without a ``'`` before it the file was not written by `guard`, and
    all of it stays as it is: no two ids of any file become one.
    """
    quoted = [
        place for place, column in enumerate(table.columns) if _first_characters(column, "^'")
    ]
    if not quoted or any(map(_has_bare_formula, table.columns)):
        return table
    for place in quoted:
        column = table.column(place)
        cells = [cell if cell is None else _unguard_cell(cell) for cell in column.to_pylist()]
        table = table.set_column(place, table.column_names[place], pa.array(cells, column.type))
    return table


def count_formulas(table: pa.Table) -> int:
    """Return how many cells of a table are written with a ``'`` before them."""
    return sum(
        cell is not None and _is_formula(cell)
        for column in table.columns
        if _first_characters(column, f"^{_START}")
        for cell in column.to_pylist()
    )


def _unguard_cell(text: str) -> str:
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _has_bare_formula(column: pa.ChunkedArray) -> bool:
    if not _first_characters(column, f"^{_START}"):
        return False
    return any(
        cell is not None and not cell.startswith("'") and _is_formula(cell)
        for cell in column.to_pylist()
    )


def _first_characters(column: pa.ChunkedArray, pattern: str) -> bool:
    """Return whether a text of the column begins as the pattern says."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())
