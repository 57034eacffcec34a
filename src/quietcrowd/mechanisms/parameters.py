"""Rules that the parameters of several mechanisms share."""

from __future__ import annotations

import math
from typing import Any

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import MAX_EPSILON, MAX_SIZE

__all__ = [
    "at_least_two_labels",
    "check_epsilon",
    "check_probability",
    "number",
    "optional_number",
    "require_epsilon",
]


def number(value: Any) -> float:
    """Return `value` as a float; ParameterError where it is none."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
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


def at_least_two_labels(_: Any, __: Any, domain: Any) -> None:
    """Validate the domain of a finite channel."""
    if not isinstance(domain, FiniteDomain):
        raise ParameterError(
            f"domain must be Categorical or Ordinal; got {domain!r}. For numbers take "
            "LaplacePerturbation (on the command line: -m laplace)."
        )
    if not 2 <= domain.size <= MAX_SIZE:
        raise ParameterError(f"domain must have 2 to {MAX_SIZE:,} labels; got {domain.size}")
