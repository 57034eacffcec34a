"""Files of known truths: columns ``task`` and ``label``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quietcrowd.formats.tables import read_table

__all__ = ["read_truths"]


def read_truths(path: str | Path) -> Any:
    """Read known truths from a file into a PyArrow table with columns ``task`` and ``label``.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says.
    OSError
        Where the file cannot be opened.
    """
    return read_table(Path(path), ("task", "label"))[0]
