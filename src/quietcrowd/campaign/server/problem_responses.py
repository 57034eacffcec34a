"""Responses for rejected requests: problem documents (RFC 9457) for all errors of routes."""

import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Scope

from quietcrowd.campaign.protocol.problems import PROBLEMS, Problem, ProblemError, broken_rules
from quietcrowd.campaign.server.cross_origin import is_for_requesters
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.store.database import UNAVAILABLE
from quietcrowd.exceptions import RemovedMechanismError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = "1"  # seconds until a retry, if it can help

_ANYWHERE = (
    *("malformed", "mechanism-removed", "validation", "too-slow", "too-large"),
    *("too-many-requests", "busy", "unavailable"),
)
"""Problems that every route may return."""

_SAFE_MESSAGES = frozenset(
    {
        *("bool_type", "dict_type", "extra_forbidden", "float_type", "greater_than_equal"),
        *("int_type", "less_than_equal", "list_type", "literal_error", "missing"),
        *("model_attributes_type", "string_pattern_mismatch", "string_too_long"),
        *("string_too_short", "string_type", "too_long", "too_many_members", "too_short"),
    }
)
"""Errors with a message that contains only the rule, never the input."""

_NAMES_A_STRANGER = "extra_forbidden"
_PLACES = ("body", "query", "path", "header")
_MOST = 20


class ProblemDocument(BaseModel):
    """A rejected request (RFC 9457)."""

    type: str = Field(description="urn:quietcrowd:problem: and the name of the problem.")
    title: str
    status: int
    detail: str
    errors: list[Problem] = Field(default=[], description="Rules that the request breaks.")
    request: str | None = Field(default=None, description="The id of a failed request in the log.")


def as_response(error: ProblemError, request: str | None = None) -> JSONResponse:
    """Return the response of a problem; `request` is the id of the request in the log."""
    again = {"Retry-After": RETRY_AFTER} if error.status in (429, 503) else {}
    challenge = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    document = ProblemDocument(
        type=f"urn:quietcrowd:problem:{error.name}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        errors=list(error.errors),
        request=request,
    )
    return JSONResponse(
        document.model_dump(exclude_defaults=True),
        error.status,
        headers={**again, **challenge, **error.headers},
        media_type=MEDIA_TYPE,
    )


def documented(*names: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of these problems, and of those that every route may return."""
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


def as_problem(errors: Iterable[Mapping[str, Any]]) -> ProblemError:
    """Return the problem of Pydantic errors, without input and names of unknown members."""
    listed = list(errors)
    if any(error["type"] == "json_invalid" for error in listed):
        return ProblemError("malformed", "The body must be JSON in UTF-8.")
    return broken_rules([_as_rule(error) for error in listed[:_MOST]])


def _as_rule(error: Mapping[str, Any]) -> Problem:
    code = str(error["type"])
    place = [*error["loc"]]
    if code == _NAMES_A_STRANGER:
        place = place[:-1]
    if place and place[0] in _PLACES:
        place = place[1:] if place[0] == "body" else place
    message = str(error["msg"]) if code in _SAFE_MESSAGES else "This is invalid."
    return Problem(pointer="".join(f"/{part}" for part in place), code=code, message=message)


def _answer_as(problem: Callable[[Any], ProblemError]) -> Any:
    async def answer(_: Request, error: Exception) -> JSONResponse:
        return as_response(problem(error))

    return answer


async def _answer_http(request: Request, error: HTTPException) -> JSONResponse:
    known = ("malformed", "not-found", "method-not-allowed")
    names = {PROBLEMS[name][0]: name for name in known}
    name = names.get(error.status_code, "malformed")
    headers = dict(error.headers or {})
    if name == "method-not-allowed":
        headers["Allow"] = _allowed_methods(request)
    return as_response(
        ProblemError(name, "/api/v1/openapi.json lists all resources.", headers=headers)
    )


def _allowed_methods(request: Request) -> str:
    """Return the methods of all routes of a path; the framework gives those of the first route."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    here = (route for route in routes if route.path_regex.match(request.scope["path"]))
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))


async def _answer_database(request: Request, error: Exception) -> JSONResponse:
    known = request_id(request.scope)
    log_failure("database", error, timed=known is not None, request=known)
    return as_response(ProblemError("unavailable", "Repeat the request in a moment."), known)


def request_id(scope: Scope) -> str | None:
    """Return the id of a request in the log; None if a worker may have sent it."""
    if not is_for_requesters(scope["path"]):
        return None
    known: str = scope.setdefault("quietcrowd_request", secrets.token_hex(8))
    return known


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    ProblemError: _answer_as(lambda error: error),
    RemovedMechanismError: _answer_as(lambda error: ProblemError("mechanism-removed", str(error))),
    RequestValidationError: _answer_as(lambda error: as_problem(error.errors())),
    HTTPException: _answer_http,
    **dict.fromkeys(UNAVAILABLE, _answer_database),
}
"""Exception handlers of all routes."""
