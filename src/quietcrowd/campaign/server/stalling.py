"""Who begins a request and does not go on, or takes no answer, keeps no connection."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from quietcrowd.campaign.terms.settings import TAKING_SECONDS

__all__ = ["UnlessStalled"]


class UnlessStalled(H11Protocol):
    """A connection that ends where the other side stalls.

    The head of the first request has some time from the moment of the connection, that of every
    later one from its first byte; bodies are waited for elsewhere. Between two requests it is
    uvicorn that waits, for as long as connections are kept alive. An answer that waits to be taken
    does so for `TAKING_SECONDS` from one piece to the next, and no longer than a connection that
    is kept alive where it is the last piece. What is left of it then is thrown away.
    """

    _head: asyncio.TimerHandle | None = None
    _piece: asyncio.TimerHandle | None = None

    @property
    def patience(self) -> float:
        """Seconds in which a head has to be whole."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.await_head(coming=True)

    def data_received(self, data: bytes) -> None:
        """Go on waiting where a head is still not whole."""
        super().data_received(data)
        between = self.conn.their_state is h11.IDLE
        self.await_head(coming=between and bool(self.conn.trailing_data[0]))

    def pause_writing(self) -> None:
        """Begin to wait until some of an answer is taken."""
        super().pause_writing()
        self._await_taking(pending=True)

    def resume_writing(self) -> None:
        """Wait no more: some of it was taken."""
        self._await_taking(pending=False)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection that is not used any more, with what was not taken of an answer."""
        super().timeout_keep_alive_handler()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.await_head(coming=False)
        self._await_taking(pending=False)
        super().connection_lost(exc)

    def await_head(self, *, coming: bool) -> None:
        """End the connection in time where a head is coming in; where none is, wait for none.

        Parameters
        ----------
        coming : bool
            Whether the head of a request is on its way.
        """
        self._head = self._timer(self._head, self.patience if coming else None)

    def _await_taking(self, *, pending: bool) -> None:
        """End the connection in time where an answer waits to be taken."""
        self._piece = self._timer(self._piece, TAKING_SECONDS if pending else None)

    def _timer(
        self, running: asyncio.TimerHandle | None, seconds: float | None
    ) -> asyncio.TimerHandle | None:
        """Return what ends the connection in so many seconds; one that runs already goes on."""
        if seconds is not None:
            return running or self.loop.call_later(seconds, self.transport.abort)
        if running is not None:
            running.cancel()
        return None
