"""Connections: who stalls keeps none, and what comes while too much is worked on is refused.

This builds on parts of uvicorn that it does not promise: a test runs all of it on the newest one.

To parse a request takes as long as all else that refusing takes: a server that parses first can be
kept from its work by those whom it refuses.
"""

from __future__ import annotations

import asyncio
import re

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.cross_origin import VARY
from quietcrowd.campaign.server.door import Door
from quietcrowd.campaign.server.gate import CONNECTION, HEADERS
from quietcrowd.campaign.server.in_flight import BUSY
from quietcrowd.campaign.server.metrics.requests import note_request
from quietcrowd.campaign.server.problem_responses import as_response

__all__ = ["TimedConnection", "is_whole_post", "shedding_protocol"]

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?=\r\n)")

_OTHERS = re.compile(
    rb"\r\n(?:transfer-encoding:|expect:|upgrade:|connection:(?![ \t]*keep-alive[ \t]*\r\n))"
)
"""Headers with which a request may be another one than it seems."""


class TimedConnection(H11Protocol):
    """A connection that ends where the other side stalls.

    The head of the first request has some time from the moment of the connection, that of every
    later one from its first byte; bodies are waited for elsewhere. Between two requests it is
    uvicorn that waits, for as long as connections are kept alive. An answer that waits to be taken
    does so for some time from one piece to the next, and no longer than a connection that
    is kept alive where it is the last piece. What is left of it then is thrown away.
    """

    _head: asyncio.TimerHandle | None = None
    _piece: asyncio.TimerHandle | None = None
    _worked_on = False

    @property
    def door(self) -> Door:
        """What it has to do with the others."""
        raise NotImplementedError

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.door.connections.enter(self, self.client[0] if self.client else None)
        self.await_head(coming=True)

    @override
    def data_received(self, data: bytes) -> None:
        """Go on waiting where a head is still not whole."""
        super().data_received(data)
        between = self.conn.their_state is h11.IDLE
        self.await_head(coming=between and bool(self.conn.trailing_data[0]))

    @override
    def pause_writing(self) -> None:
        """Begin to wait until some of an answer is taken."""
        super().pause_writing()
        self.door.connections.wait(self)
        self._await_taking(pending=True)

    @override
    def resume_writing(self) -> None:
        """Wait no more: some of it was taken."""
        self._await_taking(pending=False)
        if self._worked_on:
            self.door.connections.go_on(self)
        super().resume_writing()

    @override
    def timeout_keep_alive_handler(self) -> None:
        """End a connection that is not used any more, with what was not taken of an answer."""
        super().timeout_keep_alive_handler()
        self.transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.door.connections.leave(self)
        self.await_head(coming=False)
        self._await_taking(pending=False)
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.door.connections.wait(self)
        super().on_response_complete()

    def work_begins(self) -> None:
        """Note that a request is worked on: nobody waits for the other side."""
        self._worked_on = True
        self.door.connections.go_on(self)

    def work_ends(self) -> None:
        """Note that it is the other side's turn again."""
        self._worked_on = False
        self.door.connections.wait(self)

    def cut_off(self) -> None:
        """End the connection now, with what was not taken of an answer."""
        self.transport.abort()

    def await_head(self, *, coming: bool) -> None:
        """End the connection in time where a head is coming in; where none is, wait for none.

        Parameters
        ----------
        coming : bool
            Whether the head of a request is on its way.
        """
        self._head = self._timer(self._head, self.door.incoming.patience if coming else None)

    def _await_taking(self, *, pending: bool) -> None:
        """End the connection in time where an answer waits to be taken."""
        self._piece = self._timer(self._piece, self.door.taking if pending else None)

    def _timer(
        self, running: asyncio.TimerHandle | None, seconds: float | None
    ) -> asyncio.TimerHandle | None:
        """Return what ends the connection in so many seconds; one that runs already goes on."""
        if seconds is not None:
            return running or self.loop.call_later(seconds, self.transport.abort)
        if running is not None:
            running.cancel()
        return None


def is_whole_post(data: bytes) -> bool:
    """Return whether bytes are a POST request, from its first byte to its last.

    Nothing else of HTTP/1.1 is known here: what is not surely one is not one.
    """
    head, _, body = data.partition(b"\r\n\r\n")
    lowered = head.lower() + b"\r\n"
    return (
        data.startswith(b"POST ")
        and _LENGTH.findall(lowered) == [str(len(body)).encode()]
        and b" http/1.1\r\n" in lowered
        and _OTHERS.search(lowered) is None
    )


def shedding_protocol(door: Door) -> type[H11Protocol]:
    """Return the protocol of a server that works on so many requests at once.

    What does not come in one piece is parsed, and refused by the application.

    Parameters
    ----------
    door : Door
        What its connections have to do with each other.
    """
    shared = door
    refusal = _refusal()
    malformed = as_response(
        ProblemError("malformed", "Send HTTP/1.1 (RFC 9112).", headers={"Connection": "close"})
    )

    class Shedding(TimedConnection):
        @property
        @override
        def door(self) -> Door:
            return shared

        @override
        def data_received(self, data: bytes) -> None:
            if not (shared.is_full(len(self.tasks)) and self._may_shed and is_whole_post(data)):
                super().data_received(data)
                return
            self.await_head(coming=False)
            self.transport.write(refusal)
            self.on_response_complete()
            note_request(shared.tally, "workers", "POST", "unknown", 503, 0.0)

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
            note_request(shared.tally, "workers", "unknown", "unknown", 400, 0.0)

        @property
        def _may_shed(self) -> bool:
            """Whether what comes now is the start of a request, and its answer will be read."""
            between = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
            return between and not self.flow.write_paused

    return Shedding


def _refusal() -> bytes:
    response = as_response(ProblemError("busy", BUSY))
    lines = [b": ".join(pair) for pair in (*response.raw_headers, *HEADERS, VARY)]
    return b"\r\n".join([b"HTTP/1.1 503 Service Unavailable", *lines, b"", bytes(response.body)])
