"""The head of a request has so many seconds: who never ends one keeps no connection."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HeadDeadline"]


class HeadDeadline(H11Protocol):
    """A connection that is closed where the head of a request is not whole in time.

    The first has that time from the moment of the connection, every later one from its first byte;
    between two requests it is uvicorn that waits, for as long as connections are kept alive.
    """

    _closing: asyncio.TimerHandle | None = None

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

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self.await_head(coming=False)
        super().connection_lost(exc)

    def await_head(self, *, coming: bool) -> None:
        """Close in time where a head is coming in; where none is, wait for none.

        Parameters
        ----------
        coming : bool
            Whether the head of a request is on its way.
        """
        if not coming and self._closing is not None:
            self._closing.cancel()
            self._closing = None
        elif coming and self._closing is None:
            self._closing = self.loop.call_later(self.patience, self.transport.close)
