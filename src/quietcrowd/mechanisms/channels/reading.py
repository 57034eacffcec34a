"""Checks of the members of a channel document, which may come from a dishonest server."""

from collections.abc import Mapping, Sequence
from typing import Any

from quietcrowd.exceptions import ParameterError

MAX_LABELS = 64
"""Most labels of an answer, and of a report."""

MAX_NUMBERS = 20_000
"""Most numbers of a sketch, which must fit into one request."""


def invalid_member(name: str, rule: str) -> ParameterError:
    """Return the error about a member that breaks a rule; it does not repeat the value."""
    return ParameterError("mechanisms.channel-member-invalid", name=name, rule=rule)


def check_members(document: Any, names: str, optional: str = "") -> None:
    """Raise ParameterError unless a JSON object has exactly these members."""
    needed, possible = set(names.split()), set(optional.split())
    if not isinstance(document, Mapping) or not needed <= document.keys() <= needed | possible:
        raise invalid_member("its members", f"exactly {', '.join(names.split())}")


def real(name: str, value: Any, low: float, high: float) -> float:
    """Return a number of a document; raise ParameterError if it is out of range."""
    if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
        return float(value)
    raise invalid_member(name, f"a number from {low:g} to {high:g}")


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number of a document; raise ParameterError if it is out of range."""
    if real(name, value, low, high).is_integer():
        return int(value)
    raise invalid_member(name, f"a whole number from {low} to {high}")


def wholes(name: str, values: Any, length: int, high: int) -> list[int]:
    """Return a list of whole numbers from 0 to `high`; raise ParameterError otherwise."""
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != length:
        raise invalid_member(name, f"a list of {length} numbers")
    return [whole(name, value, 0, high) for value in values]
