"""Open connections: how many there may be, of one source and in all, and which one ends first.

A connection waits while it is the other side's turn: to send a request, the rest of one, or to take
an answer. Where there are too many, the one that has waited longest ends.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.sources import Sources

__all__ = ["Connection", "OpenConnections"]


class Connection(Protocol):
    """One connection."""

    def cut_off(self) -> None:
        """End it now."""


_Waiting = dict[Connection, None]
"""In the order in which they began to wait."""


@define(kw_only=True)
class OpenConnections:
    """All connections of a server, in one event loop.

    Attributes
    ----------
    most : int
        In all.
    each : int
        Of one source; those through whom others come are none.
    limits : RateLimits
        How often a source may ask.
    sources : Sources
        Tells them apart.
    """

    most: int
    each: int
    limits: RateLimits
    sources: Sources
    _source: dict[Connection, bytes | None] = field(factory=dict, init=False)
    _count: Counter[bytes] = field(factory=Counter, init=False)
    _waiting: _Waiting = field(factory=dict, init=False)
    _waiting_of: dict[bytes, _Waiting] = field(factory=dict, init=False)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._source)

    def may_come(self, address: str | None) -> bool:
        """Return whether a source may have one more: it has not asked too often."""
        source = self.sources.of_connection(address)
        return source is None or self.limits.would_allow(source)

    def may_ask(self, request: HTTPConnection) -> bool:
        """Return whether the source of a request may ask once more, and count it."""
        return self.limits.allow(self.sources.of_request(request))

    def enter(self, connection: Connection, address: str | None) -> None:
        """Count a connection, which waits; end another one, or itself, where there are too many."""
        source = self.sources.of_connection(address)
        self._source[connection] = source
        if source is not None:
            self._count[source] += 1
        self.wait(connection)
        if source is not None and self._count[source] > self.each:
            self._end(next(iter(self._waiting_of[source])))
        elif len(self) > self.most:
            self._end(next(iter(self._waiting)))

    def _end(self, connection: Connection) -> None:
        self.leave(connection)
        connection.cut_off()

    def leave(self, connection: Connection) -> None:
        """Count a connection no more."""
        self.go_on(connection)
        source = self._source.pop(connection, None)
        if source is not None:
            self._count[source] -= 1
            if not self._count[source]:
                del self._count[source]

    def wait(self, connection: Connection) -> None:
        """Note that it is the other side's turn, from now on."""
        if connection not in self._source:
            return
        self.go_on(connection)
        self._waiting[connection] = None
        source = self._source[connection]
        if source is not None:
            self._waiting_of.setdefault(source, {})[connection] = None

    def go_on(self, connection: Connection) -> None:
        """Note that it is this side's turn."""
        self._waiting.pop(connection, None)
        source = self._source.get(connection)
        if source is not None and source in self._waiting_of:
            self._waiting_of[source].pop(connection, None)
            if not self._waiting_of[source]:
                del self._waiting_of[source]
