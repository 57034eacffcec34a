"""Shared parts of routes: the service, authentication, cursors, ETags and state; health checks."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, TypeAlias

from attrs import frozen
from fastapi import APIRouter, Depends, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from sqlalchemy import select, text
from typing_extensions import override

from quietcrowd.campaign.protocol.fields import State
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.server.jobs.plans import PlanJobs
from quietcrowd.campaign.server.limits import JoinLimits
from quietcrowd.campaign.server.logs import log_unready
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.writer import Writer
from quietcrowd.campaign.store.clock import Clock, read_clock
from quietcrowd.campaign.store.dashboards import Reader, reader_of
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.failures import cause_of_code, explain_code
from quietcrowd.campaign.store.health import Place, Unwritable
from quietcrowd.campaign.store.requesters import KeyHolder, requester_of
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import has_prefix


def known_already(tag: str, if_none_match: str | None) -> bool:
    """Return whether an If-None-Match header contains a quoted ETag."""
    return if_none_match == "*" or tag in (if_none_match or "")


def not_modified(tag: str) -> Response:
    """Return a 304 response."""
    return Response(status_code=304, headers={"ETag": tag})


router = APIRouter(prefix=PREFIX, tags=["health"])

_NEXT: Mapping[State, State] = {"draft": "open", "open": "closed"}


@frozen(kw_only=True)
class Service:
    """The services that routes use; `unwritable` returns the place with its error."""

    database: Database
    writer: Writer
    infer: Callable[[bytes], None]
    departures: Departures
    alive: Callable[[], bool]
    unwritable: Callable[[], Unwritable | None]
    joins: JoinLimits
    plans: PlanJobs
    clock: Callable[[], float] = time.time

    def read_clock(self) -> Clock:
        """Compare the clock with the last day seen."""
        return read_clock(self.clock(), self.database, self.departures.journal)


async def _service(request: Request) -> Service:  # FastAPI runs sync functions in a thread
    service: Service = request.app.state.service
    return service


ServiceOf: TypeAlias = Annotated[Service, Depends(_service)]

_KEY = HTTPBearer(
    scheme_name="requesterKey",
    description="A requester's key, qck_... An expired or revoked key is rejected with 401, as "
    "key-expired or key-revoked.",
    auto_error=False,
)


_TOKEN = HTTPBearer(
    scheme_name="dashboardToken",
    description="A token, qcr_..., exchanged for the code of a link to the dashboard.",
    auto_error=False,
)

_CODE = HTTPBearer(
    scheme_name="dashboardCode",
    description="The code in a link to the dashboard, after #, qcd_...",
    auto_error=False,
)

_Shown: TypeAlias = HTTPAuthorizationCredentials | None


class _ParticipantBearer(HTTPBearer):
    """Bearer scheme that returns the credential of a request, without looking it up."""

    @override
    async def __call__(self, request: Request) -> str:  # type: ignore[override]
        shown = await super().__call__(request)
        if shown is None or not has_prefix(shown.credentials, "qcw_"):
            raise ProblemError("credential", "Send a credential: Authorization: Bearer qcw_...")
        return shown.credentials


_CREDENTIAL = _ParticipantBearer(
    scheme_name="participantCredential",
    description="A credential of a worker's device: qcw_ and 32 random bytes in base64url.",
    auto_error=False,
)


def _text(shown: _Shown) -> str:
    return "" if shown is None else shown.credentials


def _holder(service: ServiceOf, shown: Annotated[_Shown, Security(_KEY)]) -> KeyHolder:
    return requester_of(service.database, _text(shown), service.clock())


Holder: TypeAlias = Annotated[KeyHolder, Depends(_holder)]


def _requester(holder: Holder) -> bytes:
    return holder.requester


def _reader(
    service: ServiceOf,
    shown: Annotated[_Shown, Security(_KEY)],
    token: Annotated[_Shown, Security(_TOKEN)],
) -> Reader:
    if has_prefix(_text(token), "qcr_"):
        return reader_of(service.database, _text(token), service.clock())
    return Reader(requester=_holder(service, shown).requester)


def _code(shown: Annotated[_Shown, Security(_CODE)]) -> str:
    if not has_prefix(_text(shown), "qcd_"):
        raise ProblemError("credential", "Send a link's code: Authorization: Bearer qcd_...")
    return _text(shown)


Requester: TypeAlias = Annotated[bytes, Depends(_requester)]
ReaderOf: TypeAlias = Annotated[Reader, Depends(_reader)]
Code: TypeAlias = Annotated[str, Depends(_code)]
Credential: TypeAlias = Annotated[str, Security(_CREDENTIAL)]


def require_step(state: State, wanted: State) -> None:
    """Raise ProblemError unless the wanted state is the next one of the campaign."""
    if _NEXT.get(state) != wanted:
        raise ProblemError(
            "bad-state",
            f"The campaign is {state}. Open only drafts, and close only open campaigns.",
        )


def require_state(state: State, wanted: State) -> None:
    """Raise ProblemError unless a campaign is in the wanted state."""
    if state != wanted:
        raise ProblemError(
            "bad-state", f"The campaign is {state}; this requires the state {wanted}."
        )


def write_cursor(place: bytes) -> str:
    """Encode the position of a page as a cursor."""
    return base64.urlsafe_b64encode(place).decode()


def read_cursor(cursor: str | None, length: int) -> bytes:
    """Decode a cursor of `length` bytes; empty without one, ProblemError if it is invalid."""
    if cursor is None:
        return b""
    try:
        place = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        place = b""
    if len(place) != length:
        raise broken_rule("/query/cursor", "cursor", "Use next_cursor of the previous page.")
    return place


class Health(BaseModel):
    """All is well."""

    status: Literal["ok"]


class Readiness(Health):
    """The server is ready; an implausible clock may pause retention."""

    clock: Literal["held"] | None = Field(
        default=None,
        description="The clock is implausible: no campaign is closed or deleted by date. See "
        "`quietcrowd admin clock`.",
    )


@router.get("/healthz", responses=documented())
async def healthy() -> Health:
    """Report that the server responds."""
    return Health(status="ok")


_NAMES: Mapping[Place, str] = {
    "database": "the database",
    "departures": "the journal, without which no worker can withdraw",
}


@router.get(
    "/readyz",
    responses=documented("broken", "damaged", "unwritable"),
    response_model_exclude_none=True,
)
def ready(service: ServiceOf) -> Readiness:
    """Report whether the databases are writable and all background threads run."""
    why = service.unwritable()
    cause = None if why is None else cause_of_code(why.code)
    if cause is None:
        with service.database.read() as connection:  # fails if it cannot be reached
            connection.execute(select(text("1")))
    if why is not None:
        log_unready(why.place, why.code)
        problem = "damaged" if cause == "damaged" else "unwritable"
        remedy = explain_code(why.code) or "look up the code in the log."
        raise ProblemError(problem, f"About {_NAMES[why.place]}: {remedy}")
    if not service.alive():
        raise ProblemError("broken", "Restart the server. All acknowledged reports are stored.")
    return Readiness(status="ok", clock="held" if service.read_clock().held else None)
