"""What the service answers where it refuses: RFC 9457, and never a word of what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

__all__ = [
    "MEDIA_TYPE",
    "PROBLEMS",
    "Problem",
    "ProblemDocument",
    "ProblemError",
    "as_response",
    "broken_rule",
    "broken_rules",
    "documented",
]

MEDIA_TYPE = "application/problem+json"

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The request cannot be read"),
    "credential": (401, "The key or credential is missing or unknown"),
    "invite-invalid": (403, "The invite is missing, unknown or used"),
    "not-found": (404, "There is no such thing here"),
    "method-not-allowed": (405, "The method is not possible here"),
    "too-slow": (408, "The request took too long to come in"),
    "bad-state": (409, "The campaign is not in a state that allows it"),
    "campaign-closed": (409, "The campaign takes nothing in"),
    "campaign-open": (409, "What was to be changed is fixed once a campaign is open"),
    "config-mismatch": (409, "The configuration is not the one that the campaign has"),
    "credential-used": (409, "The credential serves another campaign already"),
    "full": (409, "The campaign has all its participants"),
    "no-results": (409, "There are no results yet"),
    "not-ready": (409, "The campaign cannot be opened as it is"),
    "task-repeated": (409, "A task of that name exists already"),
    "withdrawn": (409, "The worker has left the campaign for good"),
    "version-mismatch": (412, "The campaign has changed since it was read"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The media type is not one that can be read"),
    "validation": (422, "The request breaks a rule"),
    "version-missing": (428, "The request must say which version it changes"),
    "too-many-requests": (429, "Too many requests with this key or credential"),
    "internal": (500, "Something went wrong here"),
    "busy": (503, "The service has too much to do"),
    "unavailable": (503, "The database cannot be reached"),
    "broken": (503, "A part of the server has ended"),
}
"""Every problem by its name: status and title."""

_ANYWHERE = (
    "malformed",
    "validation",
    "too-slow",
    "too-large",
    "too-many-requests",
    "busy",
    "unavailable",
)

RETRY_AFTER = "1"
"""Seconds after which to try again, where trying again can help."""


class Problem(BaseModel):
    """One rule that a request breaks."""

    pointer: str = Field(description="Where in the request, as a JSON pointer.")
    code: str = Field(description="Which rule.")
    message: str = Field(description="The rule in words.")


class ProblemDocument(BaseModel):
    """What is answered where a request is refused (RFC 9457)."""

    type: str = Field(description="urn:quietcrowd:problem: and the name of the problem.")
    title: str
    status: int
    detail: str
    errors: list[Problem] = Field(default=[], description="Rules that the request breaks.")


class ProblemError(Exception):
    """A request is refused.

    Parameters
    ----------
    name : str
        One of `PROBLEMS`.
    detail : str
        What to do about it; never what was sent.
    errors : sequence of Problem
        Rules that were broken, one by one.
    headers : mapping
        To send along.
    """

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        errors: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name)
        self.name = name
        self.status, self.title = PROBLEMS[name]
        self.detail = detail
        self.errors = tuple(errors)
        again = {"Retry-After": RETRY_AFTER} if self.status in (429, 503) else {}
        challenge = {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        self.headers = {**again, **challenge, **(headers or {})}


def broken_rules(errors: Sequence[Problem]) -> ProblemError:
    """Return the refusal of a request that breaks rules."""
    return ProblemError("validation", "Set right what the errors name.", errors=errors)


def broken_rule(pointer: str, code: str, message: str) -> ProblemError:
    """Return the refusal of a request that breaks one rule; parameters as those of `Problem`."""
    return broken_rules([Problem(pointer=pointer, code=code, message=message)])


def as_response(error: ProblemError) -> JSONResponse:
    """Return the response that tells of a refusal."""
    document = ProblemDocument(
        type=f"urn:quietcrowd:problem:{error.name}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        errors=list(error.errors),
    )
    return JSONResponse(
        document.model_dump(exclude_defaults=True),
        error.status,
        headers=error.headers,
        media_type=MEDIA_TYPE,
    )


def documented(*names: str) -> dict[int | str, dict[str, Any]]:
    """Return what the OpenAPI document says of these problems, and of those of all routes."""
    by_status: dict[int | str, list[str]] = {}
    for name in (*names, *_ANYWHERE):
        by_status.setdefault(PROBLEMS[name][0], []).append(name)
    schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    problem = schema.pop("$defs")["Problem"]
    schema["properties"]["errors"]["items"] = problem
    return {
        status: {
            "description": "; ".join(f"`{name}`: {PROBLEMS[name][1]}" for name in listed),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status, listed in by_status.items()
    }
