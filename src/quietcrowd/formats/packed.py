"""Files that gzip packs, where their names say so."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["is_packed", "open_text", "writing_bytes"]


def is_packed(path: Path) -> bool:
    """Return whether the name of a file ends in ``.gz``."""
    return path.suffix.lower() == ".gz"


def open_text(path: Path, encoding: str = "utf-8", **options: Any) -> IO[str]:
    """Open a file, packed or not, to read its text; options are those of `open`."""
    opener: Any = gzip.open if is_packed(path) else open
    return opener(path, "rt", encoding=encoding, **options)  # type: ignore[no-any-return]


@contextmanager
def writing_bytes(temporary: Path, path: Path) -> Iterator[IO[bytes]]:
    """Give what writes to `temporary`, packed if the name of `path` says so.

    The same content gives the same bytes: neither a name nor a time is packed with it.
    """
    with temporary.open("wb") as file:
        if not is_packed(path):
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]
