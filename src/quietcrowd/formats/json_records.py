"""A file that is a list of JSON objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.packed import open_text

__all__ = ["read_records"]


def read_records(path: Path, noun: str) -> list[dict[str, Any]]:
    """Return the objects of a file; `noun` is what messages call one of them.

    Raises
    ------
    FormatError
        Where it is no list, or holds something else.
    """
    with open_text(path, "utf-8-sig") as file:
        records = json.load(file)
    if not isinstance(records, list):
        raise FormatError(f"{path}: expected a list of {noun}s; got {str(records)[:40]!r}")
    for place, record in enumerate(records):
        if not isinstance(record, dict):
            raise FormatError(f"{path}: {noun} {place}: expected a JSON object; got {record!r:.40}")
    return records
