"""Label Studio's results: answers, with a type that depends on the tag of the question."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["KINDS", "Pseudonyms", "answer_of", "is_id", "make_result", "read_short", "shorten"]

KINDS: Mapping[str, str] = {
    "choices": "choices",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
}
"""Types of results that are answers, and the key of each type's value."""


def is_id(value: Any) -> bool:
    """Return whether a value is a text or an integer."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def make_result(one: str, label: Any) -> list[dict[str, Any]]:
    """Return a list with the result of a label, or an empty list for a missing label."""
    if label is None or (isinstance(label, float) and not math.isfinite(label)):
        return []
    named = isinstance(label, str | bool)
    kind = "choices" if named else "number"
    value = [str(label)] if named else label
    head = {"id": one, "from_name": "label", "to_name": "task", "type": kind}
    return [{**head, "value": {kind: value}}]


def answer_of(value: Any, key: str) -> Any:
    """Return the single choice, rating or number of a value, or None."""
    answer = value.get(key) if isinstance(value, Mapping) else None
    if key == "choices":
        if not (isinstance(answer, list) and len(answer) == 1):
            return None
        answer = answer[0]
    if key in ("choices", "selected"):
        return answer if isinstance(answer, str) else None
    return answer if isinstance(answer, int | float) and not isinstance(answer, bool) else None


def shorten(label: Any) -> Any:
    """Return a label in the form of JSON_MIN: a choice as text, a number in a list.

    Examples
    --------
    >>> shorten("cat"), shorten(3)
    ('cat', [{'number': 3}])
    """
    for result in make_result("", label):
        choice = answer_of(result["value"], "choices")
        return [result["value"]] if choice is None else choice
    return None


def read_short(cell: Any, *, packed: bool = False) -> Any:
    """Return the answer in a cell of JSON_MIN, or None; `packed` cells (CSV) may contain JSON.

    Raises ValueError if the cell is not one choice, rating or number.
    """
    if packed and isinstance(cell, str):
        cell = _unpacked(cell)
    if cell is None or isinstance(cell, str):
        return cell
    values = cell if isinstance(cell, list) and len(cell) == 1 else [None]
    answers = [answer_of(values[0], key) for key in KINDS.values()]
    found = [answer for answer in answers if answer is not None]
    if len(found) != 1:
        raise ValueError(f"one choice, rating or number is needed; got {cell!r}")
    return found[0]


def _unpacked(text: str) -> Any:
    """Parse a CSV cell if it is a list of objects; otherwise return the text."""
    try:
        found = json.loads(text) if text.startswith("[{") else text
    except (ValueError, RecursionError):
        return text
    return found


class Pseudonyms:
    """Numbers of workers, starting at 1, in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, worker: Any) -> int:
        """Return the number of a worker; a new worker gets the next number."""
        return self._numbers.setdefault(worker, len(self._numbers) + 1)

    def in_note(self, note: Mapping[str, Any]) -> dict[str, Any]:
        """Return a note in which workers without a row are the next numbers."""
        silent = len(note.get("workers", ()))
        first = len(self._numbers) + 1
        told = {"workers": [str(first + place) for place in range(silent)]} if silent else {}
        return {**note, **told}
