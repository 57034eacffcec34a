"""Strict parsing of JSON, which rejects repeated names in an object."""

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(text: str) -> Any:
    """Parse JSON.

    Raises ValueError if it is invalid or an object repeats a name, and RecursionError if it is
    nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_named_once)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{twice!r} is named twice in one object")
    return found
