"""Comma-separated values; every id is read as the text that stands there."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.whole_file import replacing

__all__ = ["read", "read_note", "sidecar", "write"]

NAME = "CSV in UTF-8"
"""What this module reads, for messages."""

_OPTIONS = pa_csv.WriteOptions(quoting_style="needed", quoting_header="needed")


def sidecar(path: Path) -> Path:
    """Return where the mechanism of a CSV file of reports is kept."""
    return path.with_name(f"{path.name}.mechanism.json")


def read(path: Path, texts: tuple[str, ...]) -> pa.Table:
    """Return the table, with the columns `texts` as text.

    Semicolons or tabs may separate the columns, if the header shows that they do.
    """
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(texts, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = pa_csv.ParseOptions(delimiter=_delimiter(path, texts), newlines_in_values=True)
    with pa.input_stream(path, compression=_compression(path)) as file:
        return pa_csv.read_csv(file, convert_options=convert, parse_options=parse)


def _compression(path: Path) -> str | None:
    return "gzip" if path.suffix.lower() == ".gz" else None


def _delimiter(path: Path, names: tuple[str, ...]) -> str:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        header = file.readline().strip().replace('"', "")
    for delimiter in (",", ";", "\t"):
        if set(names) <= set(header.split(delimiter)):
            return delimiter
    return ","


def read_note(path: Path) -> dict[str, Any] | None:
    """Return what the sidecar says, if there is one."""
    beside = sidecar(path)
    if not beside.exists():
        return None
    try:
        note = json.loads(beside.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{beside}: this is no JSON: {error}") from None
    if not isinstance(note, dict):
        raise FormatError(f"{beside}: expected a JSON object; got {note!r}")
    if note.pop("sha256", None) not in (None, _digest(path)):
        raise FormatError(
            f"{path}: the file has changed since {beside.name} was written beside it. Write the "
            "reports again, or delete that file if these are plain answers."
        )
    return note


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and the note into the sidecar, with the table's SHA-256.

    An old sidecar goes first: a table that is cut off from its mechanism is an error to read,
    one beside the wrong mechanism would not be.
    """
    sidecar(path).unlink(missing_ok=True)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".gz":
            with gzip.open(temporary, "wb") as file:
                pa_csv.write_csv(table, file, _OPTIONS)
        else:
            pa_csv.write_csv(table, temporary, _OPTIONS)
    if note is not None:
        with replacing(sidecar(path)) as temporary:
            text = json.dumps({**note, "sha256": _digest(path)}, indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")
