"""Rules that the parameters of several mechanisms share."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import MAX_EPSILON, MAX_SIZE

__all__ = [
    "POSSIBLE_NULL",
    "Null",
    "at_least_two_labels",
    "check_epsilon",
    "check_probability",
    "null_fits",
    "number",
    "optional_number",
    "require_epsilon",
]

Null: TypeAlias = Literal["category"] | None

POSSIBLE_NULL = (None, "category")
"""What can become of a task that was not answered, in a finite channel."""


def number(value: Any) -> float:
    """Return `value` as a float; ParameterError where it is no number."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"a parameter must be a number; got {value!r}") from None


def optional_number(value: Any) -> float | None:
    """Return `value` as a float, or None for None."""
    return None if value is None else number(value)


def check_epsilon(_: Any, attribute: Any, value: Any) -> None:
    """Validate an optional privacy loss of a finite channel."""
    if value is not None:
        require_epsilon(attribute.name, value)


def require_epsilon(name: str, value: float) -> None:
    """Raise ParameterError unless `value` is a privacy loss of a finite channel: 0 to 16."""
    if not 0 <= value <= MAX_EPSILON:
        raise ParameterError(
            f"{name} must be from 0 to {MAX_EPSILON:g} "
            f"(32-bit weights hold at most {MAX_EPSILON:g}); got {value!r}"
        )


def check_probability(_: Any, attribute: Any, value: Any) -> None:
    """Validate a probability."""
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise ParameterError(f"{attribute.name} must be from 0 to 1; got {value!r}")


def null_fits(domain: FiniteDomain, null: Null) -> None:
    """Raise ParameterError where NULL is one label too many for a finite channel."""
    if null is not None and domain.size >= MAX_SIZE:
        raise ParameterError(
            f"domain must have at most {MAX_SIZE - 1:,} labels beside NULL; got {domain.size:,}"
        )


def at_least_two_labels(_: Any, __: Any, domain: Any) -> None:
    """Validate the domain of a finite channel."""
    if not isinstance(domain, FiniteDomain):
        raise ParameterError(
            f"domain must be Categorical or Ordinal; got {domain!r}. For numbers take "
            "LaplacePerturbation (on the command line: -m laplace)."
        )
    if not 2 <= domain.size <= MAX_SIZE:
        raise ParameterError(f"domain must have 2 to {MAX_SIZE:,} labels; got {domain.size}")
