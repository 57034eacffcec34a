"""Flow control of responses: bytes that the client has not read count against `InFlight`.

A large response is sent in pieces, each after the previous one was read. A response without
capacity is rejected instead of buffered.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field
from starlette.types import Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.in_flight import BUSY, InFlight, WaitingAnswer
from quietcrowd.campaign.server.problem_responses import as_response

_PIECE = 2**16
"""Bytes of a piece; a response that is not larger is sent without waiting."""


@define(kw_only=True)
class CountedAnswer:
    """A response that counts against `InFlight` until the client has read it.

    A GET response may be rejected for lack of capacity, since nothing was changed. `credential` is
    the name of the `Asker`. `cut_off` closes the connection. `status` is 0 until the application
    responds.
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
        """Send a part of the response."""
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
        """Release all bytes that are still counted."""
        self._count(-self._held)

    def _may_go(self, size: int, *, more: bool) -> bool:
        """Count a part, and return whether to send it: only the start of a GET can be rejected."""
        if self._start is not None and size > _PIECE and self.scope["method"] == "GET":
            if not self.in_flight.hold(self._waiting, size, self.credential):
                self.in_flight.cut_off_slow()
                return False
            self._held += size
        elif size > _PIECE or more or self._held:
            self._count(size)
        return True

    async def _send_in_pieces(self, body: bytes, *, more: bool) -> None:
        """Send a part, waiting until the client has read all but the last piece."""
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
