"""From a file's name to what reads and writes it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv_files, jsonl_files, parquet_files
from quietcrowd.formats.whole_file import check_folder
from quietcrowd.frames import as_frame

__all__ = ["check_target", "read_note", "read_table", "write_table"]

_KINDS: dict[str, ModuleType] = {
    ".csv": csv_files,
    ".csv.gz": csv_files,
    ".parquet": parquet_files,
    ".jsonl": jsonl_files,
    ".jsonl.gz": jsonl_files,
}


def _kind(path: Path) -> ModuleType:
    for suffix, kind in _KINDS.items():
        if path.name.lower().endswith(suffix):
            return kind
    raise FormatError(f"{path}: the name must end in one of {', '.join(_KINDS)}")


def read_table(path: Path, columns: tuple[str, ...]) -> pa.Table:
    """Return the named columns of a file.

    Raises
    ------
    FormatError
        Where the suffix is unknown or the file is not what the suffix says.
    OSError
        Where the file cannot be opened.
    """
    table: pa.Table = _read(path, _kind(path).read, columns)
    return table


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note that was written with a table, if any; errors as of `read_table`."""
    note: dict[str, Any] | None = _read(path, _kind(path).read_note)
    return note


def _read(path: Path, reader: Callable[..., Any], *parameters: Any) -> Any:
    with path.open("rb"):
        pass  # what goes wrong from here on is the content's fault
    try:
        return reader(path, *parameters)
    except FormatError:
        raise
    except (
        pa.ArrowException,
        OSError,
        EOFError,
        ValueError,
        RecursionError,
        zlib.error,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{path}: this cannot be read as {_kind(path).NAME}: {reason}") from None


def check_target(path: Path) -> None:
    """Raise unless a table can be written to `path`: before long work, not after it.

    Raises
    ------
    FormatError
        Where the suffix is unknown.
    FileNotFoundError
        Where the folder does not exist.
    """
    _kind(path)
    check_folder(path)


def write_table(frame: Any, path: str | Path, note: Mapping[str, Any] | None = None) -> None:
    """Write a dataframe to a file; the file is there whole or not at all.

    Parameters
    ----------
    frame : pandas, Polars or PyArrow dataframe
        What to write.
    path : str or Path
        Its suffix says how: ``.csv``, ``.csv.gz``, ``.parquet``, ``.jsonl``, ``.jsonl.gz``.
    note : mapping, optional
        What to keep with the table; JSON-ready.

    Raises
    ------
    FormatError, FileNotFoundError
        See `check_target`.
    """
    check_target(Path(path))
    table = as_frame(frame).to_arrow()
    _kind(Path(path)).write(table, Path(path), note)
