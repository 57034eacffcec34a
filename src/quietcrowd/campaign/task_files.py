"""Files of tasks in any format, recognized by content."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Semaphore
from typing import Any

import pyarrow.parquet as pq
from attrs import evolve, frozen

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_TASKS
from quietcrowd.campaign.terms.task_columns import TaskColumns
from quietcrowd.campaign.terms.tasks import (
    RECORDS,
    TABLES,
    Record,
    TaskRow,
    check_names,
    task_rows,
)
from quietcrowd.exceptions import FormatError, MissingExtraError, ParameterError, QuietcrowdWarning
from quietcrowd.formats.files import HEAD, UTF_16, suffix_of
from quietcrowd.formats.kinds import find_format

MAX_UNPACKED = 2**26
"""Most bytes of a file after unpacking, as far as the file states its size."""

_MOST_CELLS = 2**21
_MEMORY = 2**31  # most bytes of address space of the process that unpacks a file
_SECONDS = 60.0
_UNPACKING = Semaphore(2)

_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
}
_TITLES = {
    ".csv": "CSV",
    ".tsv": "CSV with tabs",
    ".json": "JSON",
    ".jsonl": "JSON Lines",
    ".xlsx": "Excel workbook",
    ".ods": "OpenDocument spreadsheet",
    ".parquet": "Parquet",
}
_BINARY = {
    ".xlsx": "an Excel workbook",
    ".xls": "a workbook of a current Excel",
    ".ods": "an OpenDocument spreadsheet",
    ".parquet": "a Parquet file",
}
"""What a file is by its name, even if its content cannot be recognized."""


@frozen(kw_only=True, slots=False)
class TaskUpload:
    """The rows of a file; in one of `texts`, all cells are texts. `notes` are about reading it."""

    title: str
    records: Sequence[Record]
    texts: bool
    notes: Sequence[str] = ()

    @classmethod
    def read(cls, content: bytes, name: str = "") -> TaskUpload:
        """Read a file in any format; raise `FormatError` with the row of an error.

        If a file with the `name` of a workbook is none, the error reports that.
        """
        named = Path(name).suffix.lower()
        try:
            return cls._read(content)
        except FormatError as error:
            kind = _BINARY.get(named)
            if kind and (
                error.code == "campaign.task-file-unknown" or suffix_of(content[:HEAD]) != named
            ):
                raise FormatError("campaign.task-file-misnamed", kind=kind) from None
            raise

    @classmethod
    def _read(cls, content: bytes) -> TaskUpload:
        content = _unpacked(content)
        suffix = suffix_of(content[:HEAD])
        if content.startswith(UTF_16):
            content = _from_utf_16(content)
        if suffix == ".jsonl" and not _is_one_line(content):
            suffix = ".json"
        if suffix not in _TITLES:
            raise FormatError("campaign.task-file-unknown")
        kind = _MEDIA_TYPES.get(suffix, "")
        notes: list[str] = []
        if kind:
            records = _few(RECORDS[kind](content))
        else:
            records, notes = _from_table(content, suffix)
        if not records:
            raise FormatError("campaign.no-task-in-file")
        texts = kind in TABLES or suffix in (".xlsx", ".ods")
        return cls(title=_TITLES[suffix], records=records, texts=texts, notes=notes)

    def rows(self, columns: TaskColumns) -> list[TaskRow]:
        """Return the tasks; in columns that the requester selected, nothing is an answer."""
        rows = list(task_rows(self.records, columns, texts=self.texts))
        if columns.shown is None:
            return rows
        return [evolve(row, set_apart=True) for row in rows]

    @cached_property
    def columns(self) -> Mapping[str, list[Any]]:
        """The values of each row by column, None for missing ones; data first."""
        names: dict[str, None] = {}
        for _, fields, data in self.records:
            names.update(dict.fromkeys(data or ()))
            names.update(dict.fromkeys(fields))
        return {name: [_cell(record, name) for record in self.records] for name in names}


def _cell(record: Record, name: str) -> Any:
    _, fields, data = record
    found = data[name] if data is not None and name in data else fields.get(name)
    return None if found in ("", []) else found


def _few(records: Iterator[Record]) -> list[Record]:
    found = list(islice(records, MAX_TASKS + 1))
    if len(found) > MAX_TASKS:
        raise FormatError("campaign.too-many-tasks-in-file", most=MAX_TASKS)
    return found


def _unpacked(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        found = unpacking.decompress(content, MAX_UNPACKED)
    except zlib.error:
        raise FormatError("campaign.task-file-unknown") from None
    if unpacking.unconsumed_tail:
        raise FormatError("campaign.task-file-too-large", most=MAX_UNPACKED)
    if not unpacking.eof or unpacking.unused_data:
        raise FormatError("campaign.task-file-damaged", error="the gzip file is not one whole file")
    return found


def _from_utf_16(content: bytes) -> bytes:
    try:
        return content.decode("utf-16").encode()
    except UnicodeDecodeError as error:
        raise FormatError(
            "campaign.task-file-damaged", error=f"its UTF-16 is invalid at byte {error.start:,}"
        ) from None


def _is_one_line(content: bytes) -> bool:
    """Return whether the first line is a whole object."""
    first = content.lstrip(b"\xef\xbb\xbf \r\n\t").partition(b"\n")[0]
    return first.rstrip().endswith(b"}")


def _from_table(content: bytes, suffix: str) -> tuple[list[Record], list[str]]:
    """Return the rows of a workbook or a Parquet file, and notes.

    A separate process with little memory and time unpacks it, because a small file can be made to
    unpack to any size.
    """
    _check_size(content, suffix)
    command = (sys.executable, "-m", "quietcrowd.campaign.task_files", suffix)
    if not _UNPACKING.acquire(blocking=False):
        raise FormatError("campaign.workbooks-waiting")
    try:
        ended = subprocess.run(
            command, input=content, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise FormatError("campaign.task-file-too-large", most=MAX_UNPACKED) from None
    finally:
        _UNPACKING.release()
    if ended.returncode:
        raise FormatError("campaign.task-file-too-large", most=MAX_UNPACKED)
    found = json.loads(ended.stdout)
    if "code" in found:
        raise FormatError(found["code"], **found["fields"])
    return [(number, fields, data) for number, fields, data in found["records"]], found["notes"]


def _unpacked_table(content: bytes, suffix: str) -> dict[str, Any]:
    """Return records and notes; evaluate no formulas."""
    with TemporaryDirectory(prefix="quietcrowd-") as folder, warnings.catch_warnings():
        path = Path(folder, f"tasks{suffix}")
        path.write_bytes(content)
        notes: list[str] = []
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", QuietcrowdWarning)
        warnings.showwarning = lambda message, *_, **__: notes.append(_named(message, path))
        try:
            kind = find_format(path)
            names = kind.call("names", path)
            check_names(names)
            table = kind.call("read", path, tuple(names))
        except MissingExtraError:
            raise FormatError("campaign.workbooks-unsupported") from None
        except SyntaxError:  # of XML
            raise FormatError("campaign.task-file-unknown") from None
        except (FormatError, ParameterError) as error:
            if error.code == "formats.not-readable":
                raise FormatError("campaign.task-file-unknown") from None
            raise FormatError("campaign.task-file-damaged", error=_named(error, path)) from None
    if len(table) > MAX_TASKS:
        raise FormatError("campaign.too-many-tasks-in-file", most=MAX_TASKS)
    texts = suffix != ".parquet"
    rows = ({name: _plain(cell, texts) for name, cell in row.items()} for row in table.to_pylist())
    return {
        "records": [_separated(number, row) for number, row in enumerate(rows, start=2)],
        "notes": notes,
    }


def _named(message: object, path: Path) -> str:
    return one_line(str(message).replace(str(path), "the file"))


def _plain(cell: Any, texts: bool) -> Any:
    if texts:
        return "" if cell is None else cell
    simple = cell is None or isinstance(cell, bool | int | float | str | list | dict)
    return cell if simple else str(cell)


def _separated(number: int, row: dict[str, Any]) -> Record:
    if isinstance(row.get("data"), dict):
        data = row.pop("data")
        return number, row, data
    return number, row, None


def _check_size(content: bytes, suffix: str) -> None:
    """Raise `FormatError` for a file that is much larger than it looks, before it is unpacked."""
    try:
        if suffix == ".parquet":
            about = pq.ParquetFile(io.BytesIO(content)).metadata
            groups = (about.row_group(place) for place in range(about.num_row_groups))
            size = sum(group.total_byte_size for group in groups)
            cells = about.num_rows * about.num_columns
        else:
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                size, cells = sum(one.file_size for one in packed.infolist()), 0
    except Exception:
        raise FormatError("campaign.task-file-unknown") from None
    if size > MAX_UNPACKED or cells > _MOST_CELLS:
        raise FormatError("campaign.task-file-too-large", most=MAX_UNPACKED)


def main() -> None:
    """Unpack the file in standard input, with the suffix of the command line."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    try:
        found = _unpacked_table(sys.stdin.buffer.read(), sys.argv[1])
    except FormatError as error:
        found = {"code": error.code, "fields": error.fields}
    json.dump(found, sys.stdout, default=str)


if __name__ == "__main__":
    main()
