"""Bodies of requests that are coming in: read whole before any work on them begins.

Who sends slowly, or not at all, keeps nobody from being served: what is still coming in counts
neither as a request that is worked on nor with more bytes than have come.
"""

from __future__ import annotations

import asyncio

from attrs import define, field
from starlette.types import Receive

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.terms.settings import BODY_SECONDS, MAX_AT_ONCE, MAX_BODY

__all__ = ["BUSY", "Arrivals"]

BUSY = "Send the same again in a moment."


@define(kw_only=True)
class Arrivals:
    """Requests whose bodies are coming in, in one event loop.

    Attributes
    ----------
    size : int
        Most bytes that are kept at once of bodies that are not whole yet.
    patience : float
        Seconds in which a body has to be whole.
    waiting : int
        How many bodies are coming in now.
    """

    size: int = MAX_AT_ONCE
    patience: float = BODY_SECONDS
    waiting: int = field(default=0, init=False)
    _kept: int = field(default=0, init=False)

    async def whole(self, receive: Receive) -> bytes:
        """Return the body of a request once all of it is here.

        Parameters
        ----------
        receive : callable
            Gives the next message of the request.

        Raises
        ------
        ProblemError
            Where it is too large, takes too long, ends early, or too much is coming in.
        """
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                return await self._whole(receive)
        except TimeoutError:
            raise ProblemError(
                "too-slow",
                f"A request has to be here within {self.patience:g} seconds: send the same again.",
                headers={"Connection": "close"},
            ) from None
        finally:
            self.waiting -= 1

    async def _whole(self, receive: Receive) -> bytes:
        body, kept = b"", bytearray()
        more = True
        try:
            while more:
                body, more = await _next_part(receive)
                if len(kept) + len(body) > MAX_BODY:
                    raise ProblemError("too-large", f"A request has at most {MAX_BODY:,} bytes.")
                if more:
                    self._require_room(len(body))
                    self._kept += len(body)
                    kept += body
            return bytes(kept) + body if kept else body
        finally:
            self._kept -= len(kept)

    def _require_room(self, size: int) -> None:
        if self._kept + size > self.size:
            raise ProblemError("busy", BUSY)


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next bytes of a body, and whether more follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ProblemError("malformed", "The request ended before its body did.")
    return message.get("body", b""), message.get("more_body", False)
