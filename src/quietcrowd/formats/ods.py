"""Reading of OpenDocument spreadsheets, which LibreOffice writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError, MissingExtraError
from quietcrowd.formats.headers import Name
from quietcrowd.formats.sheets import Sheet, place_in_sheet, read_sheet, sheet_names

NAME = "an OpenDocument spreadsheet"


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _sheets(path) as sheets:
        return sheet_names(sheets)


def read(path: Path, wanted: tuple[Name, ...]) -> pa.Table:
    """Return the wanted columns as text, see `read_sheet`."""
    with _sheets(path) as sheets:
        return read_sheet(path, sheets, wanted)


def place_of_row(path: Path, row: int, *, header: bool = True) -> str:
    """Return where a row of the table, counted from 0, is in the sheet."""
    with _sheets(path) as sheets:
        return place_in_sheet(sheets, row + header)


@contextmanager
def _sheets(path: Path) -> Iterator[list[Sheet]]:
    calamine = _import_calamine()
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            yield [Sheet(name, partial(_rows, book, name)) for name in book.sheet_names]
    except calamine.CalamineError as error:
        raise FormatError("formats.not-readable", path=path, name=NAME, reason=error) from None


def _rows(book: Any, name: str) -> Iterator[list[Any]]:
    return iter(book.get_sheet_by_name(name).to_python(skip_empty_area=False))


def _import_calamine() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError(
            "extras.missing",
            subject="OpenDocument spreadsheets need python-calamine",
            extra="excel",
        ) from None
    return python_calamine
