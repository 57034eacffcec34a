"""An end to every request: a server that sends a byte now and then does not hold a device."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any

import httpx
from attrs import define, field

__all__ = ["Deadline"]


@define(kw_only=True, eq=False)
class Deadline:
    """How long a request may take as a whole: while it is held, its connection is cut in the end.

    A time limit on each read alone has no end, where every read brings a byte.

    Parameters
    ----------
    seconds : float
        From the moment from which it is held.

    Attributes
    ----------
    over : bool
        Whether it has passed: then what was read may be cut off.
    """

    seconds: float
    over: bool = field(default=False, init=False)
    _socket: socket.socket | None = field(default=None, init=False, repr=False)
    _timer: threading.Timer = field(init=False, repr=False)

    def __enter__(self) -> Deadline:
        self._timer = threading.Timer(self.seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Learn of a request's connection: httpx calls this as its extension ``trace``.

        Raises
        ------
        httpx.ReadTimeout
            Where the deadline has passed.
        """
        stream = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and stream is not None:
            self._socket = stream.get_extra_info("socket")
        self.require()

    def require(self) -> None:
        """Raise httpx.ReadTimeout where the deadline has passed."""
        if self.over:
            raise self.error

    @property
    def error(self) -> httpx.ReadTimeout:
        """What is told where the deadline has passed."""
        return httpx.ReadTimeout(f"there was no whole answer within {self.seconds:g} s")

    def _cut(self) -> None:
        self.over = True
        connection = self._socket
        if connection is not None:
            with suppress(OSError):  # it is closed already
                # not SSLSocket's: that would go on without encryption
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
