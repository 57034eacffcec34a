"""Problems of the campaign API by name (RFC 9457), which never contain input."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The request cannot be read"),
    "code-invalid": (401, "The link was used or has expired"),
    "credential": (401, "The key or credential is missing or unknown"),
    "key-expired": (401, "The key has expired"),
    "key-revoked": (401, "The key was replaced or revoked"),
    "code-unknown": (403, "The code does not belong to the invite"),
    "invite-invalid": (403, "The invite is missing, unknown, revoked or used to send"),
    "not-found": (404, "The resource does not exist"),
    "method-not-allowed": (405, "The resource does not support this method"),
    "too-slow": (408, "The request took too long"),
    "address-local": (409, "Links with this address open on the server's computer only"),
    "bad-state": (409, "The state of the campaign does not allow this"),
    "campaign-closed": (409, "The campaign is closed"),
    "choice-fixed": (409, "The worker joined with another choice or slot"),
    "campaign-open": (409, "This part of a campaign is fixed when it opens"),
    "config-mismatch": (409, "The campaign has another configuration"),
    "credential-used": (409, "The credential is used in another campaign"),
    "excluded-many": (409, "The campaign excludes the maximum number of workers"),
    "full": (409, "The campaign is full"),
    "mechanism-removed": (409, "The campaign's mechanism was removed from this version"),
    "goal-shares": (409, "The goal of the campaign is shares, and truths are not shown"),
    "held-back": (409, "Reports are not available while the campaign is open"),
    "no-results": (409, "There are no results yet"),
    "not-ready": (409, "The draft cannot be opened"),
    "place-needed": (409, "The worker has not taken a place yet"),
    "round-not-open": (409, "The worker cannot report in this round now"),
    "results-changed": (409, "Newer results have replaced these"),
    "task-repeated": (409, "A task with this name already exists"),
    "withdrawn": (409, "The worker has withdrawn permanently"),
    "version-mismatch": (412, "The campaign has changed since it was read"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The media type is not supported"),
    "validation": (422, "The request breaks a rule"),
    "plan-too-long": (422, "The plan exceeds the time limit of this server"),
    "version-missing": (428, "The request must state which version it changes"),
    "too-many-requests": (429, "Too many requests with this key or credential"),
    "too-many-joins": (429, "Too many workers have joined from this source"),
    "internal": (500, "The server encountered an error"),
    "busy": (503, "The server is overloaded"),
    "unavailable": (503, "The database cannot be reached"),
    "damaged": (503, "The database is damaged"),
    "unwritable": (503, "The database is not writable"),
    "broken": (503, "A part of the server has stopped"),
}
"""Status and title of every problem, by name."""


class Problem(BaseModel):
    """One rule that a request breaks."""

    pointer: str = Field(description="Place in the request, as a JSON pointer.")
    code: str = Field(description="Name of the rule.")
    message: str = Field(description="The rule in words.")


class ProblemError(Exception):
    """A rejected request.

    Parameters
    ----------
    name : str
        Key of `PROBLEMS`.
    detail : str
        The remedy; never input.
    errors : sequence of Problem
        The broken rules.
    headers : mapping
        Additional headers of the response.
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
        self.headers = dict(headers or {})


def broken_rules(errors: Sequence[Problem]) -> ProblemError:
    """Return the problem of a request that breaks rules."""
    return ProblemError("validation", "Correct the listed errors.", errors=errors)


def broken_rule(pointer: str, code: str, message: str) -> ProblemError:
    """Return the problem of a request that breaks one rule; parameters as in `Problem`."""
    return broken_rules([Problem(pointer=pointer, code=code, message=message)])
