"""Results of Label Studio: the values of answers about a whole task."""

import math
from collections.abc import Mapping
from typing import Any

KINDS: Mapping[str, str] = {
    "choices": "choices",
    "taxonomy": "taxonomy",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
}
"""Types of results that are answers, and the key of each type's value."""

LEVELS_JOINED_BY = " / "
"""Separator of the levels of a taxonomy in a label."""

_PART = frozenset({"start", "end", "startOffset", "x", "y", "points", "ranges", "item_index"})
"""Keys of values about a part of a task: a span, a region, or one item of a list."""


def is_id(value: Any) -> bool:
    """Return whether a value is an integer or a text that is not empty."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def answer_of(value: Any, key: str) -> Any:
    """Return a list of choices or joined levels, a number or a side; None if not an answer."""
    answer = value.get(key) if isinstance(value, Mapping) and not _PART & set(value) else None
    match key:
        case "choices":
            return answer if _is_texts(answer) else None
        case "taxonomy":
            paths = answer if isinstance(answer, list) and all(map(_is_texts, answer)) else [[]]
            return [LEVELS_JOINED_BY.join(path) for path in paths] if all(paths) else None
        case "selected":
            return answer if isinstance(answer, str) else None
    return answer if isinstance(answer, int | float) and not isinstance(answer, bool) else None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def make_result(one: str, label: Any) -> list[dict[str, Any]]:
    """Return a list with the result of a label or a list of labels, or an empty list for None."""
    if label is None or (isinstance(label, float) and not math.isfinite(label)):
        return []
    choices = label if isinstance(label, list) else [label]
    named = isinstance(label, list | str | bool)
    kind = "choices" if named else "number"
    value = [str(choice) for choice in choices] if named else label
    head = {"id": one, "from_name": "label", "to_name": "task", "type": kind}
    return [{**head, "value": {kind: value}}]
