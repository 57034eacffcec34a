"""Comma-separated values; every id is read as the text that stands there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.whole_file import replacing

__all__ = ["read", "sidecar", "write"]


def sidecar(path: Path) -> Path:
    """Return where the mechanism of a CSV file of reports is kept."""
    return path.with_name(f"{path.name}.mechanism.json")


def read(path: Path, texts: tuple[str, ...]) -> tuple[pa.Table, dict[str, Any] | None]:
    """Return the table, with the columns `texts` as text, and what the sidecar says, if any."""
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(texts, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    table = pa_csv.read_csv(path, convert_options=convert)
    beside = sidecar(path)
    if not beside.exists():
        return table, None
    try:
        note = json.loads(beside.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{beside}: this is no JSON: {error}") from None
    if not isinstance(note, dict):
        raise FormatError(f"{beside}: expected a JSON object; got {note!r}")
    return table, note


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, and the note into the sidecar.

    An old sidecar goes first: a table that is cut off from its mechanism is an error to read,
    one beside the wrong mechanism would not be.
    """
    sidecar(path).unlink(missing_ok=True)
    with replacing(path) as temporary:
        if path.suffix == ".gz":
            with gzip.open(temporary, "wb") as file:
                pa_csv.write_csv(table, file, _OPTIONS)
        else:
            pa_csv.write_csv(table, temporary, _OPTIONS)
    if note is not None:
        with replacing(sidecar(path)) as temporary:
            temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")


_OPTIONS = pa_csv.WriteOptions(quoting_style="needed", quoting_header="needed")
