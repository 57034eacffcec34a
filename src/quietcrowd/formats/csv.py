"""CSV and TSV files, in which ids are text.

Writing escapes cells that a spreadsheet would evaluate as a formula; reading undoes this.
"""

import csv
import re
import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.columns import has_byte, resolve
from quietcrowd.formats.dialects import Dialect, dialect_of, numbered_rows, usual_delimiter
from quietcrowd.formats.files import check_utf8, is_packed, replacing_bytes, sidecar, write_sidecar
from quietcrowd.formats.headers import Name, are_numbers, check_header, numbered_columns

NAME = "CSV in UTF-8"

TEXTS = ("task", "worker", "label", "truth")
"""Columns that are read and written as text, so that a round trip does not change them."""


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    return [name for name in _dialect(path).header if name]


def read(path: Path, wanted: tuple[Name, ...]) -> pa.Table:
    """Return the wanted columns as text, or all columns if one is missing; drop blank rows.

    Numbers are those of columns in a table without a header. For the delimiter see `dialect_of`.
    """
    dialect = _dialect(path)
    if are_numbers(wanted):
        places = numbered_columns(path, dialect.header, wanted)
        table = _all_columns(path, dialect).select(list(places.values()))
        return _tidied(table.rename_columns(list(places)), path, dialect, 0)
    names = cast(tuple[str, ...], wanted)
    found = resolve(path, dialect.header, names)
    if len(found) < len(names):
        check_utf8(path)
    if not found:
        rows = (cells for _, cells in numbered_rows(path, dialect))
        check_header(path, dialect.header, islice(rows, 1, None), len(names))
    if len(found) < len(names):
        table = _parsed(path, dialect, convert_options=_texts(list(found.values()), []))
        first = {name: place for place, name in reversed(list(enumerate(dialect.header))) if name}
        return table.select(sorted(first.values()))
    chosen = list(found.values())
    table = _parsed(path, dialect, convert_options=_texts(chosen, chosen))
    return _tidied(table.rename_columns(list(found)), path, dialect, 1)


def place_of_row(path: Path, row: int) -> str:
    """Return where a row, counted from 0 for the header, is in the file."""
    line, _ = next(islice(numbered_rows(path, _dialect(path)), row, None), (None, None))
    return f"line {line} of the file"


def _texts(columns: list[str], included: list[str]) -> pa_csv.ConvertOptions:
    return pa_csv.ConvertOptions(
        column_types=dict.fromkeys(columns, pa.string()),
        include_columns=included,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _all_columns(path: Path, dialect: Dialect) -> pa.Table:
    """Return all columns as text, with numbers as names; a header is the first row."""
    numbers = [str(number) for number in range(len(dialect.header))]
    return _parsed(path, dialect, numbers, convert_options=_texts(numbers, numbers))


def _tidied(table: pa.Table, path: Path, dialect: Dialect, header: int) -> pa.Table:
    _check_quotes(path, table, dialect)
    return unguard(_without_blank_rows(table, path, dialect, header))


def _check_quotes(path: Path, table: pa.Table, dialect: Dialect) -> None:
    """Warn of a cell with lines that look like rows; raise FormatError if it never ends."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not has_byte(column, "\n"):
            continue
        broken = pc.fill_null(pc.match_substring(column, "\n"), False)
        for row in np.flatnonzero(broken):
            lines = column[int(row)].as_py().split("\n")[1:]
            if not any(line.count(dialect.delimiter) == len(dialect.header) - 1 for line in lines):
                continue
            if row == len(table) - 1 and not lines[-1]:
                raise FormatError("formats.quote-open", path=path, name=name, row=row)
            warnings.warn(
                QuietcrowdWarning("formats.rows-in-quotes", path=path, name=name, row=row),
                stacklevel=3,
            )
            break


def _without_blank_rows(table: pa.Table, path: Path, dialect: Dialect, header: int) -> pa.Table:
    """Drop rows with empty cells in all columns, wanted or not."""
    shortest = (pc.min(pc.binary_length(column)).as_py() for column in table.columns)
    found = zip(table.columns, shortest, strict=True)  # lengths are faster than comparisons
    if not all(column.null_count or least == 0 for column, least in found):
        return table
    if not pc.any(reduce(pc.and_, map(_is_empty, table.columns))).as_py():
        return table
    empty = reduce(pc.and_, map(_is_empty, _all_columns(path, dialect).columns))
    return table.filter(pc.invert(empty)[header:])


def _is_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, ""), True)


def _parsed(
    path: Path, dialect: Dialect, numbers: list[str] | None = None, **options: Any
) -> pa.Table:
    """Parse a table; after an error, parse again in one thread, because its errors name the row.

    Only then are lines of spaces and delimiters skipped that have too few or too many cells.
    """

    def handle(row: Any) -> str:
        return "error" if row.text.strip(f' \t"{dialect.delimiter}') else "skip"

    for again in (False, True):
        parsing = pa_csv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=True,
            invalid_row_handler=handle if again else None,
        )
        reading = pa_csv.ReadOptions(
            use_threads=not again,
            encoding=dialect.encoding,
            skip_rows=dialect.skipped,
            column_names=numbers,
        )
        with pa.input_stream(path, compression="gzip" if is_packed(path) else None) as file:
            try:
                return pa_csv.read_csv(file, read_options=reading, parse_options=parsing, **options)
            except pa.ArrowInvalid:
                if again:
                    raise
                check_utf8(path)
    raise AssertionError


def _dialect(path: Path) -> Dialect:
    try:
        return dialect_of(path)
    except csv.Error as error:
        raise FormatError("formats.header-invalid", path=path, name=NAME, error=error) from None


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and a sidecar with the note and the table's SHA-256.

    An old sidecar is deleted first: reports without a mechanism cannot be read, whereas reports
    with the wrong mechanism could.
    """
    sidecar(path).unlink(missing_ok=True)
    options = pa_csv.WriteOptions(
        delimiter=usual_delimiter(path), quoting_style="needed", quoting_header="needed"
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
        place
        for place, column in enumerate(table.columns)
        if _is_text(column) and has_byte(column, "'") and _first_characters(column, "^'")
    ]
    formulas = (cell for column in table.columns for cell in _formulas(column))
    if not quoted or not all(cell.startswith("'") for cell in formulas):
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
    return _is_text(column) and bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
