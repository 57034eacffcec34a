"""The first sheet of a workbook as a table of texts, with the names of columns in its first row.

Blank rows are ignored, also above the names.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats.columns import resolve
from quietcrowd.formats.headers import Name, are_numbers, check_header, numbered_columns

LOST_DIGITS = 10**15
"""Numbers from here on have more than the 15 digits that spreadsheet programs keep."""

_FAILED = frozenset(("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"))
"""Results of formulas that failed; #N/A also means a missing value."""


@frozen
class Sheet:
    """A sheet by name, and a function that reads its rows from the top."""

    name: str
    rows: Callable[[], Iterable[Sequence[Any]]]


@frozen
class Workbook:
    """The functions of a format; `sheets` opens a file."""

    sheets: Callable[[Path], AbstractContextManager[Sequence[Sheet]]]

    def names(self, path: Path) -> list[str]:
        """Return the names of the columns."""
        with self.sheets(path) as sheets:
            return [name for name in _header(sheets[0]) if name]

    def read(self, path: Path, wanted: tuple[Name, ...]) -> pa.Table:
        """Return the wanted columns of the first sheet as text, or all columns if one is missing.

        Numbers are those of columns in a sheet without a header. A warning names other sheets with
        data, and dates. Numbers without all digits are an error.
        """
        with self.sheets(path) as sheets:
            return _read(path, sheets, wanted)

    def place_of_row(self, path: Path, row: int) -> str:
        """Return where a row that is not blank, counted from 0 for the header, is in the sheet."""
        with self.sheets(path) as sheets:
            number, _ = next(islice(_filled(sheets[0]), row, None), (None, None))
        return f"row {number} of the sheet"


def _read(path: Path, sheets: Sequence[Sheet], wanted: tuple[Name, ...]) -> pa.Table:
    rows = list(_filled(sheets[0]))
    header = _texts(rows[0][1]) if rows else []
    if are_numbers(wanted):
        places = numbered_columns(path, header, wanted)
    else:
        names = cast(tuple[str, ...], wanted)
        found = resolve(path, header, names)
        if len(found) < len(names):
            _check_columns(path, sheets, rows[1:], names, any_found=bool(found))
            found = {name: name for name in header if name}
        places = {name: header.index(given) for name, given in found.items()}
        rows = rows[1:]
    if others := ", ".join(repr(one.name) for one in sheets[1:] if _header(one)):
        first = sheets[0].name
        warnings.warn(
            DroppedRowsWarning("formats.sheets-left-out", path=path, name=first, others=others),
            stacklevel=2,
        )
    return pa.table({name: _column(path, rows, name, place) for name, place in places.items()})


def _filled(sheet: Sheet) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield rows that are not blank, and their numbers, which a spreadsheet program shows."""
    for number, row in enumerate(sheet.rows(), start=1):
        if any(cell is not None and str(cell).strip() for cell in row):
            yield number, row


def _header(sheet: Sheet) -> list[str]:
    return next((_texts(row) for _, row in _filled(sheet)), [])


def _check_columns(
    path: Path,
    sheets: Sequence[Sheet],
    rows: Sequence[tuple[int, Sequence[Any]]],
    wanted: tuple[str, ...],
    *,
    any_found: bool,
) -> None:
    """Raise FormatError if another sheet has all columns, or if the header is missing."""
    for other in sheets[1:]:
        if len(resolve(path, _header(other), wanted)) == len(wanted):
            raise FormatError(
                "formats.sheet-not-first", path=path, name=sheets[0].name, other=other.name
            )
    if not any_found:
        below = (_texts(row) for _, row in rows)
        check_header(path, _header(sheets[0]), below, len(wanted))


def _column(
    path: Path, rows: Sequence[tuple[int, Sequence[Any]]], name: str, place: int
) -> pa.Array:
    texts: list[str | None] = []
    dates: list[tuple[int, str | None]] = []
    for number, cells in rows:
        cell = cells[place] if place < len(cells) else None
        text = _text(cell)
        if isinstance(cell, int | float) and abs(cell) >= LOST_DIGITS:
            raise FormatError("formats.digits-lost", path=path, row=number, name=name, value=text)
        if text in _FAILED:
            raise FormatError(
                "formats.formula-failed", path=path, row=number, name=name, value=text
            )
        if isinstance(cell, date | time):
            dates.append((number, text))
        texts.append(text)
    if count := len(dates):
        row, text = dates[0]
        warnings.warn(
            QuietcrowdWarning(
                "formats.dates-in-cells", path=path, name=name, count=count, row=row, value=text
            ),
            stacklevel=3,
        )
    return pa.array(texts, pa.string())


def _texts(row: Sequence[Any]) -> list[str]:
    return [_text(cell) or "" for cell in row]


def _text(cell: Any) -> str | None:
    """Return a cell as text, without the decimal point of whole numbers; empty text is None."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())
    return str(cell)
