"""Excel workbooks; text is written as text and never as a formula."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError, MissingExtraError
from quietcrowd.formats.csv import TEXTS, as_text, shorten
from quietcrowd.formats.files import replacing, sidecar, write_sidecar
from quietcrowd.formats.sheets import Sheet, Workbook

NAME = "an Excel workbook"

_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")
"""Characters that XML cannot contain, or not unchanged."""

MOST_CHARACTERS = 32_767
"""Excel's limit of a cell; openpyxl silently truncates longer text."""

MOST_ROWS = 2**20
"""Excel's limit of a sheet, including the header."""

_TIME = re.compile(rb"(?<=W3CDTF\">)[^<]+")
_NO_TIME = b"1980-01-01T00:00:00Z"
"""Replaces the time of writing, so that equal content gives equal bytes."""


@contextmanager
def _sheets(path: Path) -> Iterator[list[Sheet]]:
    """Yield the sheets, with the stored values of formulas."""
    load = import_openpyxl().load_workbook
    try:
        with path.open("rb") as file:
            book = load(file, read_only=True, data_only=True)
            try:
                yield [Sheet(one.title, partial(_rows, one)) for one in book.worksheets]
            finally:
                book.close()
    except (zipfile.BadZipFile, KeyError, IndexError) as error:
        raise FormatError("formats.not-readable", path=path, name=NAME, reason=error) from None


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # which some programs write wrongly
    return sheet.iter_rows(values_only=True)  # type: ignore[no-any-return]


_BOOK = Workbook(_sheets)
names, read, place_of_row = _BOOK.names, _BOOK.read, _BOOK.place_of_row


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write ids and labels as text, and the note to the sidecar."""
    if len(table) >= MOST_ROWS:
        raise FormatError("formats.too-many-rows", path=path, most_rows=MOST_ROWS, count=len(table))
    book = import_openpyxl().Workbook()
    columns = [
        as_text(column) if name in TEXTS else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    for row, values in enumerate(chain([table.column_names], rows), start=-1):
        for place, value in enumerate(values, start=1):
            text = value if isinstance(value, str) else ""
            if len(text) > MOST_CHARACTERS or _UNFIT.search(text):
                address, text = "header" if row < 0 else f"row {row}", shorten(text)
                raise FormatError("formats.cell-too-large", path=path, address=address, text=text)
            cell = book.active.cell(row + 2, place, value)
            if isinstance(value, str):
                cell.data_type = "s"  # even if it looks like a formula
    sidecar(path).unlink(missing_ok=True)
    written = io.BytesIO()
    book.save(written)
    with replacing(path) as temporary:
        _without_times(written, temporary)
    if note is not None:
        write_sidecar(path, note)


def _without_times(written: IO[bytes], path: Path) -> None:
    with zipfile.ZipFile(written) as book, zipfile.ZipFile(path, "w") as packed:
        for part in book.namelist():
            content = _TIME.sub(_NO_TIME, book.read(part))
            packed.writestr(zipfile.ZipInfo(part), content, zipfile.ZIP_DEFLATED)


def import_openpyxl() -> Any:
    """Import openpyxl; raise MissingExtraError if it is not installed."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            "extras.missing", subject="files of Excel need openpyxl", extra="excel"
        ) from None
    return openpyxl
