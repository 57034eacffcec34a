"""What a request breaks, told without a word of what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from quietcrowd.campaign.protocol.problems import Problem, ProblemError, broken_rules

__all__ = ["as_problem"]

_TOLD = frozenset(
    {
        "bool_type",
        "dict_type",
        "extra_forbidden",
        "float_type",
        "greater_than_equal",
        "int_type",
        "less_than_equal",
        "list_type",
        "literal_error",
        "missing",
        "model_attributes_type",
        "string_pattern_mismatch",
        "string_too_long",
        "string_too_short",
        "string_type",
        "too_long",
        "too_many_members",
        "too_short",
    }
)
"""Rules whose message names the rule alone, never what was met."""

_NAMES_A_STRANGER = "extra_forbidden"
_PLACES = ("body", "query", "path", "header")
_MOST = 20


def as_problem(errors: Iterable[Mapping[str, Any]]) -> ProblemError:
    """Return the refusal of a request that breaks rules of its schema.

    Parameters
    ----------
    errors : iterable of mapping
        As Pydantic gives them; what they say of the input is left out, and so are names of members
        that nobody knows.
    """
    listed = list(errors)
    if any(error["type"] == "json_invalid" for error in listed):
        return ProblemError("malformed", "The body must be JSON in UTF-8.")
    return broken_rules([_told(error) for error in listed[:_MOST]])


def _told(error: Mapping[str, Any]) -> Problem:
    code = str(error["type"])
    place = [*error["loc"]]
    if code == _NAMES_A_STRANGER:
        place = place[:-1]
    if place and place[0] in _PLACES:
        place = place[1:] if place[0] == "body" else place
    message = str(error["msg"]) if code in _TOLD else "This is not valid."
    return Problem(pointer="".join(f"/{part}" for part in place), code=code, message=message)
