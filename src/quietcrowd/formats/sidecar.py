"""What made the reports of a file, in a file beside it, where its format has no place for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.whole_file import replacing

__all__ = ["read_note", "sidecar", "write_beside"]


def sidecar(path: Path) -> Path:
    """Return where the mechanism of a file of reports is kept."""
    return path.with_name(f"{path.name}.mechanism.json")


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


def write_beside(path: Path, note: Mapping[str, Any]) -> None:
    """Write the note of a file that is there, with the file's SHA-256."""
    with replacing(sidecar(path)) as temporary:
        text = json.dumps({**note, "sha256": _digest(path)}, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")
