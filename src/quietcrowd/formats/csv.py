"""CSV and TSV files, in which ids are text.

Writing escapes cells that a spreadsheet would evaluate as a formula; reading undoes this.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
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
    replacing_bytes,
    sidecar,
    write_sidecar,
)

__all__ = [
    "LONGEST_HEADER",
    "TEXTS",
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

TEXTS = ("task", "worker", "label", "truth")
"""Columns that are read and written as text, so that a round trip does not change them."""


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    return _header(path)[1]


def read(path: Path, wanted: tuple[str, ...]) -> pa.Table:
    """Return the wanted columns as text, or all columns if one is missing.

    The delimiter is a comma, a semicolon or a tab, see `sniff_header`.
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
    """Parse a table; after an error, parse again in one thread, because its errors name the row."""
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
    with open_text(path, "utf-8-sig", newline="", errors="replace") as file:
        text = file.read(LONGEST_HEADER)
    try:
        return sniff_header(text, _delimiter(path))
    except csv.Error as error:
        raise FormatError("formats.header-invalid", path=path, name=NAME, error=error) from None


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:]) else ","


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and a sidecar with the note and the table's SHA-256.

    An old sidecar is deleted first: reports without a mechanism cannot be read, whereas reports
    with the wrong mechanism could.
    """
    sidecar(path).unlink(missing_ok=True)
    options = pa_csv.WriteOptions(
        delimiter=_delimiter(path), quoting_style="needed", quoting_header="needed"
    )
    table = guard(_with_texts(table))
    with replacing_bytes(path) as file:
        pa_csv.write_csv(table, file, options)
    if note is not None:
        write_sidecar(path, note)


def _with_texts(table: pa.Table) -> pa.Table:
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, name, pc.cast(column, column.type.value_type))
        if name in TEXTS:
            table = table.set_column(place, name, as_text(table.column(place)))
    return table


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast a column to strings."""
    return column if pa.types.is_large_string(column.type) else pc.cast(column, pa.string())


def shorten(text: str, most: int = 40) -> str:
    """Truncate a text for a message."""
    return text if len(text) <= most else f"{text[:most]}…"


LONGEST_HEADER = 2**16
"""Characters that must include the header."""


def sniff_header(text: str, usual: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most columns, and their names.

    `usual`, a comma or a tab, is the delimiter unless another gives more columns.

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
"""Control characters, spaces and invisible characters, which programs may strip at the start."""

_SIGNS = "=+\\-@|\uff1d\uff0b\uff0d\uff20\uff5c\ufe66\ufe62\ufe63\ufe6b"
"""Also full-width and small variants, which East Asian locales read as the ASCII sign."""

_START = f"(['{_BLANKS}]*[{_SIGNS}]|'*[\\t\\r\\n])"
"""Start of a formula, in the regex syntax that Python's `re` and Arrow share."""

_FORMULA = re.compile(_START)
_NUMBER = re.compile(
    r"'*[+-](([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|nan)", re.ASCII | re.IGNORECASE
)


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guard_cell(text: str) -> str:
    """Escape a text that a spreadsheet would evaluate.

    Examples
    --------
    >>> [guard_cell(text) for text in ("=1+1", "'=1+1", "|x", "-3", "- 3", "'tis")]
    ["'=1+1", "''=1+1", "'|x", '-3', "'- 3", "'tis"]
    """
    return f"'{text}" if _is_formula(text) else text


def guard(table: pa.Table) -> pa.Table:
    """Escape the text cells of a table."""
    for place, column in enumerate(table.columns):
        if _first_characters(column, f"^{_START}"):
            table = _with_cells(table, place, guard_cell)
    return table


def unguard(table: pa.Table) -> pa.Table:
    """Undo `guard`.

    A table with a formula that is not escaped was not written by `guard` and is returned as it is.
    Therefore different ids never become equal.
    """
    quoted = [
        place for place, column in enumerate(table.columns) if _first_characters(column, "^'")
    ]
    if not quoted or not all(
        cell.startswith("'") for column in table.columns for cell in _formulas(column)
    ):
        return table
    for place in quoted:
        table = _with_cells(table, place, _unguard_cell)
    return table


def _with_cells(table: pa.Table, place: int, change: Callable[[str], str]) -> pa.Table:
    column = table.column(place)
    cells = [cell if cell is None else change(cell) for cell in column.to_pylist()]
    return table.set_column(place, table.column_names[place], pa.array(cells, column.type))


def count_formulas(table: pa.Table) -> int:
    """Return the number of cells that `guard` would escape."""
    return sum(len(_formulas(column)) for column in table.columns)


def _unguard_cell(text: str) -> str:
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _formulas(column: pa.ChunkedArray) -> list[str]:
    if not _first_characters(column, f"^{_START}"):
        return []
    return [cell for cell in column.to_pylist() if cell is not None and _is_formula(cell)]


def _first_characters(column: pa.ChunkedArray, pattern: str) -> bool:
    """Return whether a text of the column matches a pattern that begins with ``^``."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())
