"""JSON that others wrote: of a name that stands twice in an object no value is lost silently."""

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(text: str) -> Any:
    """Return what a JSON text says.

    Raises
    ------
    ValueError
        Where it is none, or an object in it names something twice.
    RecursionError
        Where it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_named_once)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{twice!r} is named twice in one object")
    return found
