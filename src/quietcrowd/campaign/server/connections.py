"""HTTP connections: stalled ones are closed, and an overloaded server rejects without parsing.

Parsing takes as long as all other work of a rejection, so rejected clients could otherwise overload
the server. This depends on internals of uvicorn: a test runs it with the newest release.
"""

import asyncio
import re

import h11
from attrs import field, frozen
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.admission import CONNECTION, HEADERS
from quietcrowd.campaign.server.cross_origin import VARY
from quietcrowd.campaign.server.in_flight import BUSY
from quietcrowd.campaign.server.incoming import IncomingBodies, TurningAway
from quietcrowd.campaign.server.limits import OpenConnections, RateLimits, Sources
from quietcrowd.campaign.server.metrics.counters import Tally, note_request
from quietcrowd.campaign.server.problem_responses import as_response
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import connections_within
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.settings import TAKING_SECONDS

_SHARE = 4  # by default, one source may have 1/_SHARE of all connections


@frozen(kw_only=True)
class SharedState:
    """State shared by connections; `taking` is the seconds to read a piece of a response."""

    at_once: int
    connections: OpenConnections
    incoming: IncomingBodies
    turning_away: TurningAway
    taking: float = TAKING_SECONDS
    tally: Tally = field(factory=Tally)

    def is_full(self, requests: int) -> bool:
        """Return whether the limit is reached; waiting and rejected requests do not count."""
        return requests - self.incoming.waiting - self.turning_away.waiting >= self.at_once


def make_shared_state(settings: Settings, database: Database, tally: Tally) -> SharedState:
    """Create the shared state; raise ParameterError if the process may not open enough files."""
    most = connections_within(settings.connections, database.files_at_most)
    return SharedState(
        at_once=settings.at_once,
        connections=OpenConnections(
            most=most,
            each=min(settings.connections_each or max(1, most // _SHARE), most),
            limits=RateLimits(
                rate=settings.source_requests_per_second, burst=settings.source_burst
            ),
            sources=Sources(proxy=settings.trusted_proxy),
        ),
        incoming=IncomingBodies(size=settings.bytes_at_once, patience=settings.body_seconds),
        turning_away=TurningAway(),
        taking=settings.taking_seconds,
        tally=tally,
    )


_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?=\r\n)")

_OTHERS = re.compile(
    rb"\r\n(?:transfer-encoding:|expect:|upgrade:|connection:(?![ \t]*keep-alive[ \t]*\r\n))"
)
"""Headers that may change the end or the meaning of a request."""


class TimedConnection(H11Protocol):
    """A connection that is closed if the client stalls.

    The head of the first request must arrive within a time limit from the connection, later heads
    from their first byte. Each piece of a response must be read within
    `SharedState.taking` seconds.
    """

    _head: asyncio.TimerHandle | None = None
    _piece: asyncio.TimerHandle | None = None
    _worked_on = False

    @property
    def shared(self) -> SharedState:
        """State shared with the other connections."""
        raise NotImplementedError

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.shared.connections.enter(self, self.client[0] if self.client else None)
        self.await_head(coming=True)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        between = self.conn.their_state is h11.IDLE
        self.await_head(coming=between and bool(self.conn.trailing_data[0]))

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self.shared.connections.wait(self)
        self._await_taking(pending=True)

    @override
    def resume_writing(self) -> None:
        self._await_taking(pending=False)
        if self._worked_on:
            self.shared.connections.go_on(self)
        super().resume_writing()

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, and discard unread data."""
        super().timeout_keep_alive_handler()
        self.transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.shared.connections.leave(self)
        self.await_head(coming=False)
        self._await_taking(pending=False)
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        self.shared.connections.wait(self)
        super().on_response_complete()

    def work_begins(self) -> None:
        """Record that the server processes a request."""
        self._worked_on = True
        self.shared.connections.go_on(self)

    def work_ends(self) -> None:
        """Record that the client has to act again."""
        self._worked_on = False
        self.shared.connections.wait(self)

    def cut_off(self) -> None:
        """Close the connection now, and discard unread data."""
        self.transport.abort()

    def await_head(self, *, coming: bool) -> None:
        """Start the time limit of a request head if one is `coming`, else cancel it."""
        self._head = self._timer(self._head, self.shared.incoming.patience if coming else None)

    def _await_taking(self, *, pending: bool) -> None:
        self._piece = self._timer(self._piece, self.shared.taking if pending else None)

    def _timer(
        self, running: asyncio.TimerHandle | None, seconds: float | None
    ) -> asyncio.TimerHandle | None:
        if seconds is not None:
            return running or self.loop.call_later(seconds, self.transport.abort)
        if running is not None:
            running.cancel()
        return None


def is_whole_post(data: bytes) -> bool:
    """Return whether the bytes are certainly one complete POST request, and nothing else."""
    head, _, body = data.partition(b"\r\n\r\n")
    lowered = head.lower() + b"\r\n"
    return (
        data.startswith(b"POST ")
        and _LENGTH.findall(lowered) == [str(len(body)).encode()]
        and b" http/1.1\r\n" in lowered
        and _OTHERS.search(lowered) is None
    )


def shedding_protocol(state: SharedState) -> type[H11Protocol]:
    """Return a protocol that rejects complete POSTs without parsing while the server is full."""
    refusal = _refusal()
    malformed = as_response(
        ProblemError("malformed", "Send HTTP/1.1 (RFC 9112).", headers={"Connection": "close"})
    )

    class Shedding(TimedConnection):
        @property
        @override
        def shared(self) -> SharedState:
            return state

        @override
        def data_received(self, data: bytes) -> None:
            if not (state.is_full(len(self.tasks)) and self._may_shed and is_whole_post(data)):
                super().data_received(data)
                return
            self.await_head(coming=False)
            self.transport.write(refusal)
            self.on_response_complete()
            note_request(state.tally, "workers", "POST", "unknown", 503, 0.0)

        @override
        def send_400_response(self, msg: str) -> None:
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                headers = [*self.server_state.default_headers, *malformed.raw_headers, *HEADERS]
                for event in (
                    h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                    h11.Data(data=bytes(malformed.body)),
                    h11.EndOfMessage(),
                ):
                    self.transport.write(self.conn.send(event))
            self.transport.close()
            note_request(state.tally, "workers", "unknown", "unknown", 400, 0.0)

        @property
        def _may_shed(self) -> bool:
            """Whether a new request begins here, and the client reads responses."""
            between = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
            return between and not self.flow.write_paused

    return Shedding


def _refusal() -> bytes:
    response = as_response(ProblemError("busy", BUSY))
    lines = [b": ".join(pair) for pair in (*response.raw_headers, *HEADERS, VARY)]
    return b"\r\n".join([b"HTTP/1.1 503 Service Unavailable", *lines, b"", bytes(response.body)])
