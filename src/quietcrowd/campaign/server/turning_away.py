"""Refusals of requests whose bodies are not read: answered first, and then the connection ends."""

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

__all__ = ["TurningAway"]

_ENDING = ("credential", "too-many-joins", "too-many-requests")
"""Refusals after which a connection ends; who comes while there is too much to do keeps it."""

_SECONDS = 2.0
"""For which what still comes is thrown away: a connection that ends before that takes the answer
with it, from those who are still sending."""

_MOST = 32
"""Connections on which that is done at once; others end at once."""

_HOLD = 1.0
"""Seconds that the refusal of one who asks too often is held back: who waits asks nothing else. It
is half of them to half as many again, so that many do not come back at one moment."""

_A_SECOND = 32
"""Refusals that go out in a second: where more are held back, each of them waits longer."""

_MOST_HELD = 512
"""Refusals that are held back at once."""


@define(kw_only=True)
class TurningAway:
    """Refuses requests without reading what they send.

    Attributes
    ----------
    held : int
        How many refusals are held back now.
    thrown_away : int
        On how many connections what still comes is thrown away now.
    """

    held: int = field(default=0, init=False)
    thrown_away: int = field(default=0, init=False)

    @property
    def waiting(self) -> int:
        """How many requests are refused just now, and need no work."""
        return self.held + self.thrown_away

    async def hold_back(self) -> None:
        """Wait about a second, longer where many do, and not at all where too many do."""
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
        """Answer, and end the connection if the body of somebody unknown is on its way."""
        if problem.name not in _ENDING or not _has_body(Headers(scope=scope)):
            await as_response(problem)(scope, receive, send)
            return
        problem.headers["Connection"] = "close"

        async def send_and_wait(message: Message) -> None:
            if message["type"] == "http.response.body":
                await send({**message, "more_body": True})  # all of it, but for the end
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
