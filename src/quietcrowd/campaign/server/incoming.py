"""Request bodies: they arrive completely and in time, or the request is rejected without them.

An incomplete body does not count as a request in progress, and only its bytes that have arrived
count. So slow senders do not block others.
"""

import asyncio
import secrets
from collections import Counter
from contextlib import suppress

from attrs import define, field
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.in_flight import BUSY
from quietcrowd.campaign.server.problem_responses import as_response
from quietcrowd.campaign.terms.settings import BODY_SECONDS, MAX_AT_ONCE, MAX_BODY

_SHARE = 8  # one key or credential may use 1/_SHARE of the bytes of incomplete bodies, or one body


@define(kw_only=True)
class IncomingBodies:
    """Request bodies that are arriving, in one event loop; `patience` is in seconds."""

    size: int = MAX_AT_ONCE
    patience: float = BODY_SECONDS
    waiting: int = field(default=0, init=False)
    _kept: int = field(default=0, init=False)
    _of: Counter[bytes] = field(factory=Counter, init=False)

    async def whole(
        self, receive: Receive, *, most: int = MAX_BODY, credential: bytes | None = None
    ) -> bytes:
        """Return the complete body; raise ProblemError beyond the limits, or if it ends early."""
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                return await self._whole(receive, most, credential or b"")
        except TimeoutError:
            raise ProblemError(
                "too-slow",
                f"A complete request must arrive within {self.patience:g} seconds. Send it again.",
                headers={"Connection": "close"},
            ) from None
        finally:
            self.waiting -= 1

    async def _whole(self, receive: Receive, most: int, credential: bytes) -> bytes:
        body, kept = b"", bytearray()
        more = True
        try:
            while more:
                body, more = await _next_part(receive)
                if len(kept) + len(body) > most:
                    raise ProblemError("too-large", f"This request has at most {most:,} bytes.")
                if more:
                    self._keep(len(body), credential)
                    kept += body
            return bytes(kept) + body if kept else body
        finally:
            self._forget(len(kept), credential)

    def _keep(self, size: int, credential: bytes) -> None:
        if self._kept + size > self.size:
            raise ProblemError("busy", BUSY)
        if self._of[credential] + size > max(self.size // _SHARE, MAX_BODY):
            raise ProblemError("too-many-requests", "Send fewer bytes at once.")
        self._kept += size
        self._of[credential] += size

    def _forget(self, size: int, credential: bytes) -> None:
        self._kept -= size
        self._of[credential] -= size
        if not self._of[credential]:
            del self._of[credential]


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ProblemError("malformed", "The request ended before its body was complete.")
    return message.get("body", b""), message.get("more_body", False)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields a body that was already read."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


_ENDING = ("credential", "too-many-joins", "too-many-requests")
"""Problems after which a connection ends; it remains open when the server is busy."""

_SECONDS = 2.0
"""Seconds for which arriving data is discarded: closing earlier would also discard the response for
clients that are still sending."""

_MOST = 32  # maximum number of connections on which data is discarded; others end at once

_HOLD = 1.0
"""Average delay in seconds of a rejected request, during which the client sends no other. It varies
by half, so that clients do not return all at once."""

_A_SECOND = 32  # rejections per second; if more are delayed, each waits longer
_MOST_HELD = 512  # maximum number of delayed rejections


@define(kw_only=True)
class TurningAway:
    """Rejection of requests without reading their bodies; `held` counts the delayed ones."""

    held: int = field(default=0, init=False)
    thrown_away: int = field(default=0, init=False)

    @property
    def waiting(self) -> int:
        """Number of requests that are being rejected, and need no processing."""
        return self.held + self.thrown_away

    async def hold_back(self) -> None:
        """Wait about a second; longer if many wait, and not at all if too many do."""
        if self.held >= _MOST_HELD:
            return
        self.held += 1
        try:
            seconds = _HOLD * max(1.0, self.held / _A_SECOND)
            await asyncio.sleep(seconds * (0.5 + secrets.randbelow(1_000) / 1_000))
        finally:
            self.held -= 1

    async def reject(
        self, problem: ProblemError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Respond, and end the connection if an unknown client is still sending a body."""
        headers = Headers(scope=scope)
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        if problem.name not in _ENDING or not has_body:
            await as_response(problem)(scope, receive, send)
            return
        problem.headers["Connection"] = "close"

        async def send_and_wait(message: Message) -> None:
            if message["type"] == "http.response.body":
                await send({**message, "more_body": True})  # all but the end
                await self._throw_away(receive)
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        await as_response(problem)(scope, receive, send_and_wait)

    async def _throw_away(self, receive: Receive) -> None:
        if self.thrown_away >= _MOST:
            return
        self.thrown_away += 1
        left = MAX_BODY
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS):
                    while left > 0:
                        message = await receive()
                        left -= len(message.get("body", b""))
                        if not message.get("more_body", False):
                            return
        finally:
            self.thrown_away -= 1
