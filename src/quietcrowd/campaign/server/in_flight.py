"""Limits on requests in progress, and on bytes of their bodies and unread responses."""

import time
from collections import Counter
from collections.abc import Callable

from attrs import define, field, frozen
from starlette.types import Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import as_response

BUSY = "Repeat the request in a moment."
ANONYMOUS = b""  # name of all requests without a known key or credential
NEWCOMER = b"newcomer"  # name of all joins
_SHARE = 4  # one key or credential may use 1/_SHARE of all bytes

_TOGETHER = {ANONYMOUS: 4, NEWCOMER: 2}
"""Each of these names may use 1/n of all requests: many people join at the same time."""

_PATIENCE = 10.0
"""Seconds after which an unread response may be cut off if others need the capacity."""


@frozen(kw_only=True, eq=False)
class WaitingAnswer:
    """A response that the client has not read completely; `since` is when its request began."""

    cut_off: Callable[[], None]
    since: float = field(factory=time.monotonic)


@define(kw_only=True)
class InFlight:
    """Limits on requests in progress, until their response is read, in one event loop.

    `each` limits the requests of a key or credential, which may also use a quarter of all bytes.
    """

    requests: int
    size: int
    each: int
    _requests: int = field(default=0, init=False)
    _size: int = field(default=0, init=False)
    _of: Counter[bytes] = field(factory=Counter, init=False)
    _size_of: Counter[bytes] = field(factory=Counter, init=False)
    _answers: dict[WaitingAnswer, int] = field(factory=dict, init=False)

    def has_capacity(self, size: int) -> bool:
        """Return whether there is capacity for a request with a body of `size` bytes."""
        return self._requests < self.requests and self._has_bytes(size)

    def has_share(self, credential: bytes) -> bool:
        """Return whether a key or credential may send one more request.

        All requests without a credential count as one, and so do all joins.
        """
        part = _TOGETHER.get(credential)
        most = self.each if part is None else max(1, self.requests // part)
        return self._of[credential] < most and self._size_of[credential] < self._share

    def enter(self, size: int, credential: bytes) -> None:
        """Start counting a request with a body of `size` bytes."""
        self._requests += 1
        self._of[credential] += 1
        self._grow(size, credential)

    def leave(self, size: int, credential: bytes) -> None:
        """Stop counting a request."""
        self._requests -= 1
        self._of[credential] -= 1
        self._grow(-size, credential)
        for counted in (self._of, self._size_of):
            if not counted[credential]:
                del counted[credential]

    def hold(self, answer: WaitingAnswer, size: int, credential: bytes) -> bool:
        """Count `size` more bytes of an unread response, and return True, if there is capacity.

        A response may exceed the share of its credential, or the total, if nothing else counts
        there.
        """
        if self._size_of[credential] and self._size_of[credential] + size > self._share:
            return False
        if self._answers and not self._has_bytes(size):
            return False
        self.count(answer, size, credential)
        return True

    def count(self, answer: WaitingAnswer, size: int, credential: bytes) -> None:
        """Count `size` more bytes of a response, fewer if negative, regardless of the limits."""
        self._answers[answer] = self._answers.get(answer, 0) + size
        if not self._answers[answer]:
            del self._answers[answer]
        self._grow(size, credential)

    def cut_off_slow(self) -> None:
        """Close the connections of responses that have long been unread, to free capacity."""
        now = time.monotonic()
        for answer in list(self._answers):
            if now - answer.since > _PATIENCE:
                answer.cut_off()

    @property
    def _share(self) -> int:
        return self.size // _SHARE

    def _has_bytes(self, size: int) -> bool:
        return self._size + size <= self.size

    def _grow(self, size: int, credential: bytes) -> None:
        self._size += size
        self._size_of[credential] += size


_PIECE = 2**16  # bytes of a piece; a response that is not larger is sent without waiting


@define(kw_only=True)
class CountedAnswer:
    """A response that counts against `InFlight` until read; a GET may be rejected for capacity."""

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
    _rejected: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._waiting = WaitingAnswer(cut_off=self.cut_off)

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] != "http.response.body":
            self._start, self.status = message, message.get("status", 0)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._rejected or not self._may_go(len(body), more=more):
            await self._reject()
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

    async def _reject(self) -> None:
        if not self._rejected:
            self._rejected = True
            problem = ProblemError("busy", BUSY)
            await as_response(problem)(self.scope, self.receive, self.send)
