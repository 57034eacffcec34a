"""Limits per source, key or credential: on request rates, new workers and open connections.

A source is an IPv4 address or a network of IPv6. It is stored in memory only, hashed with a random
salt that changes every hour. So no one can later find out who came from where. Above a limit, the
connection that has waited longest for its client is closed.
"""

import hashlib
import math
import secrets
import time
from collections import Counter, OrderedDict
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Lock
from typing import Protocol

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError

_MOST_BUCKETS = 100_000  # maximum number of buckets; the least recently used are dropped


@define(kw_only=True)
class RateLimits:
    """Token buckets per key, credential or source; `rate` is per second, and 0 means no limit."""

    rate: float
    burst: int
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(factory=OrderedDict, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def allow(self, who: bytes, now: float | None = None) -> bool:
        """Count a request, and return whether it may pass; `now` is a monotonic time in seconds."""
        if not self.rate:
            return True
        key = hashlib.sha256(who).digest()[:16]
        moment = time.monotonic() if now is None else now
        with self._lock:
            left = self._left(key, moment)
            allowed = left >= 1
            self._buckets[key] = (left - allowed, moment)
            self._buckets.move_to_end(key)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return allowed

    def would_allow(self, who: bytes, now: float | None = None) -> bool:
        """Return whether a request may pass, without counting it."""
        if not self.rate:
            return True
        key = hashlib.sha256(who).digest()[:16]
        return self._left(key, time.monotonic() if now is None else now) >= 1

    def _left(self, key: bytes, moment: float) -> float:
        left, before = self._buckets.get(key, (float(self.burst), moment))
        return min(self.burst, left + (moment - before) * self.rate)


_ROTATE = 3_600.0  # seconds for which a salt is used
_PREFIX = 64  # bits of an IPv6 address that identify the smallest network of a customer
_UNKNOWN = "unknown"


@define(kw_only=True)
class Sources:
    """Hashed client addresses; only the X-Forwarded-For of `proxy`, a network, is trusted."""

    proxy: str | None = None
    _network: IPv4Network | IPv6Network | None = field(init=False)
    _salt: bytes = field(factory=lambda: secrets.token_bytes(32), init=False, repr=False)
    _until: float | None = field(default=None, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._network = None if self.proxy is None else ip_network(self.proxy, strict=False)

    def of_connection(self, peer: str | None, now: float | None = None) -> bytes | None:
        """Return the hash of a connecting address; None for the proxy and this machine."""
        address = _address(peer)
        if address is None or address.is_loopback or self._is_proxy(address):
            return None
        return self._hashed(_widened(address), now)

    def of_request(self, request: HTTPConnection, now: float | None = None) -> bytes:
        """Return the hash of a request's client; a configured proxy states its address."""
        return self._hashed(self._name_of(request), now)

    def _name_of(self, request: HTTPConnection) -> str:
        found = _address(None if request.client is None else request.client.host)
        if found is not None and self._is_proxy(found):
            listed = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
            others = (_address(one.strip()) for one in reversed(listed))
            found = next((one for one in others if not self._is_proxy(one)), found)
        return _UNKNOWN if found is None else _widened(found)

    def _is_proxy(self, address: IPv4Address | IPv6Address | None) -> bool:
        return self._network is not None and address is not None and address in self._network

    def _hashed(self, name: str, now: float | None) -> bytes:
        moment = time.monotonic() if now is None else now
        with self._lock:
            if self._until is None or moment >= self._until:
                self._salt, self._until = secrets.token_bytes(32), moment + _ROTATE
            salt = self._salt
        return hashlib.blake2b(name.encode(), digest_size=16, key=salt).digest()


def _address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found


def _widened(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _PREFIX), strict=False))
    return str(address)


_LONGEST = 3_600.0  # maximum of Retry-After, in seconds


@define(kw_only=True)
class JoinLimits:
    """Token buckets of new workers, one per source; `per_minute` = 0 means no limit."""

    sources: Sources
    per_minute: float
    at_once: int
    _limits: RateLimits = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._limits = RateLimits(rate=self.per_minute / 60, burst=self.at_once)

    def has_capacity(self, request: HTTPConnection, now: float | None = None) -> bool:
        """Return whether the source of a request may add a worker at the monotonic time `now`."""
        return self._limits.would_allow(self.sources.of_request(request, now), now)

    def take(self, request: HTTPConnection, now: float | None = None) -> None:
        """Count a new worker; raise ProblemError if the source has reached its limit."""
        if not self._limits.allow(self.sources.of_request(request, now), now):
            raise self.refusal()

    def refusal(self) -> ProblemError:
        """Return the problem of a source at its limit."""
        seconds = math.ceil(min(60 / self.per_minute, _LONGEST))
        return ProblemError(
            "too-many-joins",
            "Wait a moment. The server limits the number of new workers per source.",
            headers={"Retry-After": str(seconds)},
        )


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
