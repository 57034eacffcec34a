"""Validation rules for parameters, and strict parsing of JSON."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from quietcrowd.exceptions import FormatError, ParameterError


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Raise ParameterError unless `value` is an integer from `low` to `high`, if given."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        end = "" if high is None else f" and at most {high:,}"
        raise ParameterError("parameters.not-whole", name=name, low=low, end=end, value=value)


def _is_finite(value: Any) -> bool:
    real = isinstance(value, Real) and not isinstance(value, bool)
    try:
        return real and math.isfinite(value)
    except OverflowError:  # an integer or fraction beyond the range of float
        return False


def check_real(name: str, value: Any, low: float) -> None:
    """Raise ParameterError unless `value` is a finite number of at least `low`."""
    if not (_is_finite(value) and value >= low):
        raise ParameterError("parameters.not-finite", name=name, low=low, value=value)


def check_positive(name: str, value: Any) -> None:
    """Raise ParameterError unless `value` is a finite number above 0."""
    if not (_is_finite(value) and value > 0):
        raise ParameterError("parameters.not-positive", name=name, value=value)


def check_between(name: str, value: Any, low: float, high: float) -> None:
    """Raise ParameterError unless `value` is a number from `low` to `high`."""
    if not (_is_finite(value) and low <= value <= high):
        raise ParameterError("parameters.out-of-range", name=name, low=low, high=high, value=value)


def check_proportion(name: str, value: Any) -> None:
    """Raise ParameterError unless `value` is a number above 0 and below 1."""
    if not (_is_finite(value) and 0 < float(value) < 1):
        raise ParameterError("parameters.not-a-proportion", name=name, value=value)


def check_delta(name: str, value: Any) -> None:
    """Raise ParameterError unless `value` is a number of at least 0 and below 1."""
    if not (_is_finite(value) and 0 <= value < 1):
        raise ParameterError("parameters.not-below-1", name=name, value=value)


def check_text(name: str, value: Any) -> None:
    """Raise ParameterError unless `value` is text that UTF-8 can encode (no lone surrogates)."""
    if not isinstance(value, str):
        raise ParameterError("parameters.not-text", name=name, value=value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParameterError("parameters.not-utf8", name=name, value=value) from None


def checked_by(check: Callable[..., None], *limits: Any) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator that calls `check` with the attribute's name, value and limits."""

    def validate(_: Any, attribute: Any, value: Any) -> None:
        check(attribute.name, value, *limits)

    return validate


def at_least(low: float) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator for finite numbers of at least `low`."""
    return checked_by(check_real, low)


def between(low: float, high: float) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator for numbers from `low` to `high`."""
    return checked_by(check_between, low, high)


def whole_number(low: int, high: int | None = None) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator for integers from `low` to `high`."""
    return checked_by(check_whole, low, high)


positive = checked_by(check_positive)
"""An attrs validator for finite numbers above 0."""


def plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number; return anything else unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise ParameterError unless `value` is one of the choices."""
    if not any(value is choice or (value == choice) is True for choice in choices):
        raise ParameterError(
            "parameters.not-a-choice", name=name, choices=", ".join(map(repr, choices)), value=value
        )


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ParameterError unless all names in `given` are parameters of `what`."""
    known = list(known)
    for name in given:
        if name not in known:
            raise ParameterError(
                "parameters.parameter-unknown",
                subject=what,
                name=name,
                known=", ".join(known),
                suggestion=did_you_mean(name, known),
            )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the most similar known name, or an empty text."""
    like = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {like[0]!r}?" if like else ""


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, or the name of its class if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def one_of(*choices: Any) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator for values that are one of the choices."""
    return checked_by(check_choice, choices)


def find_described(what: str, name: Any, version: Any, known: Mapping[str, Any]) -> Any:
    """Return the class in `known` with this name and ``version``; otherwise raise FormatError."""
    if name not in known:
        raise FormatError(
            "parameters.name-unknown", subject=what, name=name, known=", ".join(known)
        )
    if isinstance(version, bool) or version != known[name].version:
        raise FormatError(
            "parameters.version-unknown",
            subject=what,
            name=name,
            version=version,
            known_version=known[name].version,
        )
    return known[name]


def number(value: Any) -> float:
    """Return `value` as a float; raise ParameterError if it is not a number."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("parameters.not-a-number", value=value) from None


def optional_number(value: Any) -> float | None:
    """Return `value` as a float, or None for None."""
    return None if value is None else number(value)


def parse_json(text: str) -> Any:
    """Parse JSON; raise ValueError also if an object repeats a name."""
    return json.loads(text, object_pairs_hook=_named_once)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{twice!r} is named twice in one object")
    return found
