"""Valid values of settings in words, for error messages and the table in docs/operating.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotated_types import Ge, Le
from attrs import frozen
from pydantic import BaseModel

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import did_you_mean

__all__ = ["Unit", "allowed", "mistake", "require_no_contradiction"]

_PARTS = {"at_once_each": "at_once", "connections_each": "connections"}
"""Limits of one client or source, and the limits of all together."""

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    int | None: "a whole number",
    float: "a number",
    str: "a text",
    str | None: "a text",
}


@frozen
class Unit:
    """The unit of a number, in the plural: seconds, bytes."""

    name: str


def allowed(kind: type[BaseModel], name: str) -> str:
    """Describe the valid values of a setting: type, unit and bounds."""
    field = kind.model_fields[name]
    words = _KINDS[field.annotation]  # type: ignore[index]
    units = [one.name for one in field.metadata if isinstance(one, Unit)]
    low = [one.ge for one in field.metadata if isinstance(one, Ge)]
    high = [one.le for one in field.metadata if isinstance(one, Le)]
    unit = f" of {units[0]}" if units else ""
    bounds = f" from {_plain(low[0])} to {_plain(high[0])}" if low and high else ""
    return f"{words}{unit}{bounds}"


def _plain(number: Any) -> str:
    """Format a number for people: 86,400 and not 86400.0."""
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def mistake(kind: type[BaseModel], name: str, error: Mapping[str, Any]) -> str:
    """Describe the first Pydantic error of a setting in one line, without secret values."""
    if name not in kind.model_fields:
        return f"there is no setting {name!r}{did_you_mean(name, kind.model_fields)}"
    reason = error.get("ctx", {}).get("error")
    if reason is not None:
        return f"{name}: {reason}"
    got = f"; got {error['input']!r}" if kind.model_fields[name].repr else ""
    return f"{name} must be {allowed(kind, name)}{got}"


def require_no_contradiction(settings: BaseModel) -> None:
    """Raise ParameterError if a given limit exceeds the limit of all together.

    Defaults are not checked: ``at_once`` may be below the default of ``at_once_each``.
    """
    given = settings.model_fields_set
    for name, whole in _PARTS.items():
        part, most = getattr(settings, name), getattr(settings, whole)
        if name in given and part is not None and most is not None and part > most:
            raise ParameterError(
                f"{name} is {part:,} and {whole} is {most:,}: one cannot have more than all. "
                f"Give {name} at most {most:,}, or {whole} at least {part:,}."
            )
