"""Workers as numbers, where a format has no place for other ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Pseudonyms"]


class Pseudonyms:
    """Numbers of workers, from 1 on, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, worker: Any) -> int:
        """Return the number of a worker, the next one where it has none."""
        return self._numbers.setdefault(worker, len(self._numbers) + 1)

    def in_note(self, note: Mapping[str, Any]) -> dict[str, Any]:
        """Return a note of reports, in which workers that no row names are the next numbers."""
        silent = len(note.get("workers", ()))
        first = len(self._numbers) + 1
        told = {"workers": [str(first + place) for place in range(silent)]} if silent else {}
        return {**note, **told}
