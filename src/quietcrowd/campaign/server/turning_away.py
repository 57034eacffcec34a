"""Rejection of requests with unread bodies: the response first, then the connection ends."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

from attrs import define, field
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import as_response
from quietcrowd.campaign.terms.settings import MAX_BODY

_ENDING = ("credential", "too-many-joins", "too-many-requests")
"""Problems after which a connection ends; it remains open when the server is busy."""

_SECONDS = 2.0
"""Seconds for which arriving data is discarded: closing earlier would also discard the response for
clients that are still sending."""

_MOST = 32
"""Maximum number of connections on which data is discarded; others end at once."""

_HOLD = 1.0
"""Average delay in seconds of a rejected request, during which the client sends no other. It varies
by half, so that clients do not return all at once."""

_A_SECOND = 32
"""Rejections per second; if more are delayed, each waits longer."""

_MOST_HELD = 512
"""Maximum number of delayed rejections."""


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

    async def refuse(
        self, problem: ProblemError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Respond, and end the connection if an unknown client is still sending a body."""
        if problem.name not in _ENDING or not _has_body(Headers(scope=scope)):
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


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
