"""Draw the pictures of the research site into ``research/docs/figures``.

``python research/docs/pictures/draw.py [NAME ...]``; without a name all. A test compares them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "figures"
FAMILIES = ("losses", "estimates", "measured")


def pictures() -> dict[str, Callable[[], str]]:
    """Return the functions that draw, by the names of their files."""
    found: dict[str, Callable[[], str]] = {}
    for family in FAMILIES:
        found |= importlib.import_module(family).PICTURES
    return found


if __name__ == "__main__":
    known = pictures()
    for name in sys.argv[1:] or known:
        (FOLDER / f"{name}.svg").write_text(known[name](), encoding="utf-8")
