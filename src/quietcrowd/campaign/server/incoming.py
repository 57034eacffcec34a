"""Request bodies, which must arrive completely and in time before they are processed.

An incomplete body does not count as a request in progress, and only its bytes that have arrived
count. So slow senders do not block others.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from attrs import define, field
from starlette.types import Message, Receive

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.in_flight import BUSY
from quietcrowd.campaign.terms.settings import BODY_SECONDS, MAX_AT_ONCE, MAX_BODY

_SHARE = 8
"""One key or credential may use 1/_SHARE of the bytes of incomplete bodies, or one body."""


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
                f"A request has to be here within {self.patience:g} seconds: send the same again.",
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
            raise ProblemError("too-many-requests", "Send fewer at once.")
        self._kept += size
        self._of[credential] += size

    def _forget(self, size: int, credential: bytes) -> None:
        self._kept -= size
        self._of[credential] -= size
        if not self._of[credential]:
            del self._of[credential]


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next bytes, and whether more follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ProblemError("malformed", "The request ended before its body did.")
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
