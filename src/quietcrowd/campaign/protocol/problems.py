"""Problems of the campaign API by name (RFC 9457), which never contain input."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

PROBLEMS: Mapping[str, tuple[int, str]] = {
    "malformed": (400, "The request cannot be read"),
    "code-invalid": (401, "The link was used, or is too old"),
    "credential": (401, "The key or credential is missing or unknown"),
    "key-expired": (401, "The key has expired"),
    "key-revoked": (401, "The key was replaced or revoked"),
    "invite-invalid": (403, "The invite is missing, unknown or used"),
    "not-found": (404, "There is no such thing here"),
    "method-not-allowed": (405, "The method is not possible here"),
    "too-slow": (408, "The request took too long to come in"),
    "bad-state": (409, "The campaign is not in a state that allows it"),
    "campaign-closed": (409, "The campaign takes nothing in"),
    "campaign-open": (409, "What was to be changed is fixed once a campaign is open"),
    "config-mismatch": (409, "The configuration is not the one that the campaign has"),
    "credential-used": (409, "The credential serves another campaign already"),
    "excluded-many": (409, "The campaign leaves out as many workers as it can"),
    "full": (409, "The campaign has all its participants"),
    "mechanism-removed": (409, "The campaign's mechanism was removed from this version"),
    "held-back": (409, "Reports of an open campaign are held back"),
    "no-results": (409, "There are no results yet"),
    "not-ready": (409, "The campaign cannot be opened as it is"),
    "results-changed": (409, "Other results have replaced these"),
    "task-repeated": (409, "A task of that name exists already"),
    "withdrawn": (409, "The worker has left the campaign for good"),
    "version-mismatch": (412, "The campaign has changed since it was read"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The media type is not one that can be read"),
    "validation": (422, "The request breaks a rule"),
    "plan-too-long": (422, "The plan takes longer than this server lets it"),
    "version-missing": (428, "The request must say which version it changes"),
    "too-many-requests": (429, "Too many requests with this key or credential"),
    "too-many-joins": (429, "Too many have joined from this place just now"),
    "internal": (500, "Something went wrong here"),
    "busy": (503, "The service has too much to do"),
    "unavailable": (503, "The database cannot be reached"),
    "damaged": (503, "The database is damaged"),
    "unwritable": (503, "The database takes nothing that is written"),
    "broken": (503, "A part of the server has ended"),
}
"""Status and title of every problem, by name."""


class Problem(BaseModel):
    """One rule that a request breaks."""

    pointer: str = Field(description="Where in the request, as a JSON pointer.")
    code: str = Field(description="Which rule.")
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
    return ProblemError("validation", "Set right what the errors name.", errors=errors)


def broken_rule(pointer: str, code: str, message: str) -> ProblemError:
    """Return the problem of a request that breaks one rule; parameters as in `Problem`."""
    return broken_rules([Problem(pointer=pointer, code=code, message=message)])
