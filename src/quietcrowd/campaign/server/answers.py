"""Answers as they are sent: what waits to be taken counts, until it is taken.

A large answer goes out in pieces, each once the one before is taken; one for which there is no room
is refused instead of kept.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field
from starlette.types import Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.in_flight import BUSY, InFlight, WaitingAnswer
from quietcrowd.campaign.server.problem_responses import as_response

__all__ = ["CountedAnswer"]

_PIECE = 2**16
"""Bytes that are sent at once: what is smaller need not be waited for."""


@define(kw_only=True)
class CountedAnswer:
    """The answer to one request.

    Attributes
    ----------
    scope : dict
        Of the request; what answers GET may be refused for want of room, since nothing was done.
    receive, send : callable
        Of the request.
    in_flight : InFlight
        Where to count.
    credential : bytes
        Of the request.
    cut_off : callable
        Ends the connection.
    status : int
        Of the answer that the application gave; 0 as long as there is none.
    """

    scope: Scope
    receive: Receive
    send: Send
    in_flight: InFlight
    credential: bytes
    cut_off: Callable[[], None]
    status: int = field(default=0, init=False)
    _waiting: WaitingAnswer = field(init=False)
    _start: Message | None = field(default=None, init=False)
    _held: int = field(default=0, init=False)
    _refused: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._waiting = WaitingAnswer(cut_off=self.cut_off)

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer, as the application gives it."""
        if message["type"] != "http.response.body":
            self._start, self.status = message, message.get("status", 0)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._refused or not self._may_go(len(body), more=more):
            await self._refuse()
            return
        if self._start is not None:
            start, self._start = self._start, None
            await self.send(start)
        if len(body) <= _PIECE and not more and not self._held:
            await self.send(message)
            return
        await self._send_in_pieces(body, more=more)

    def end(self) -> None:
        """Count nothing of it any more."""
        self._count(-self._held)

    def _may_go(self, size: int, *, more: bool) -> bool:
        """Return whether there is room for a part, and count it.

        What has begun goes on: it was made a piece at a time, as the ones before were taken.
        """
        if self._start is not None and size > _PIECE and self.scope["method"] == "GET":
            if not self.in_flight.hold(self._waiting, size, self.credential):
                self.in_flight.cut_off_slow()
                return False
            self._held += size
        elif size > _PIECE or more or self._held:
            self._count(size)
        return True

    async def _send_in_pieces(self, body: bytes, *, more: bool) -> None:
        """Send a part, and wait until all but the last piece of it is taken."""
        before = self._held - len(body)
        view = memoryview(body)
        for start in range(0, len(body), _PIECE):
            piece = view[start : start + _PIECE]
            await self._send_body(bytes(piece))
            self._count(-before)
            before = len(piece)
        if not more:
            await self._send_body(b"", more=False)
            self._count(-self._held)

    async def _send_body(self, body: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    def _count(self, size: int) -> None:
        if size:
            self._held += size
            self.in_flight.count(self._waiting, size, self.credential)

    async def _refuse(self) -> None:
        if not self._refused:
            self._refused = True
            problem = ProblemError("busy", BUSY)
            await as_response(problem)(self.scope, self.receive, self.send)
