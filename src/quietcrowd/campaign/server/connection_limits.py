"""Limits on open connections, per source and in total.

A connection waits while the client has to act: send a request or the rest of it, or read a
response. Above a limit, the connection that has waited longest is closed.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.server.join_limits import Sources
from quietcrowd.campaign.server.rate_limits import RateLimits


class Connection(Protocol):
    """A connection that can be closed."""

    def cut_off(self) -> None:
        """Close the connection now."""


_Waiting = dict[Connection, None]
"""Connections in the order in which they began to wait."""


@define(kw_only=True)
class OpenConnections:
    """Open connections, in one event loop: at most `most` in total, and `each` per source."""

    most: int
    each: int
    limits: RateLimits
    sources: Sources
    _source: dict[Connection, bytes | None] = field(factory=dict, init=False)
    _count: Counter[bytes] = field(factory=Counter, init=False)
    _waiting: _Waiting = field(factory=dict, init=False)
    _waiting_of: dict[bytes, _Waiting] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._source)

    def may_come(self, address: str | None) -> bool:
        """Return whether an address may connect: its source is within its request rate."""
        source = self.sources.of_connection(address)
        return source is None or self.limits.would_allow(source)

    def may_ask(self, request: HTTPConnection) -> bool:
        """Count a request, and return whether its source is within its rate."""
        return self.limits.allow(self.sources.of_request(request))

    def enter(self, connection: Connection, address: str | None) -> None:
        """Count a new connection, which waits; above a limit, close the one that waited longest."""
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
        """Stop counting a connection."""
        self.go_on(connection)
        source = self._source.pop(connection, None)
        if source is not None:
            self._count[source] -= 1
            if not self._count[source]:
                del self._count[source]

    def wait(self, connection: Connection) -> None:
        """Record that the client has to act."""
        if connection not in self._source:
            return
        self.go_on(connection)
        self._waiting[connection] = None
        source = self._source[connection]
        if source is not None:
            self._waiting_of.setdefault(source, {})[connection] = None

    def go_on(self, connection: Connection) -> None:
        """Record that the server has to act."""
        self._waiting.pop(connection, None)
        source = self._source.get(connection)
        if source is not None and source in self._waiting_of:
            self._waiting_of[source].pop(connection, None)
            if not self._waiting_of[source]:
                del self._waiting_of[source]
