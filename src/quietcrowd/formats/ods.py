"""Reading of OpenDocument spreadsheets, which LibreOffice writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from quietcrowd.exceptions import FormatError, MissingExtraError
from quietcrowd.formats.sheets import Sheet, Workbook

NAME = "an OpenDocument spreadsheet"


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


_BOOK = Workbook(_sheets)
names, read, place_of_row = _BOOK.names, _BOOK.read, _BOOK.place_of_row


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
