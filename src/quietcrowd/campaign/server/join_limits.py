"""Limits on the new workers of a source in campaigns that are open to all.

A source is an IPv4 address or a network of IPv6. It is stored in memory only, hashed with a random
salt that changes every hour. So no one can later find out who came from where.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from threading import Lock

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.rate_limits import RateLimits

_ROTATE = 3_600.0
"""Seconds for which a salt is used."""

_PREFIX = 64
"""Bits of an IPv6 address that identify the smallest network of a customer."""

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
        """Return the hash of a connecting address; None if other clients may connect through it.

        These are the proxy, and this machine, which may have a proxy that is not configured.
        """
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
    """Parse an address; an IPv4-mapped IPv6 address becomes one of IPv4."""
    try:
        found = ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found


def _widened(address: IPv4Address | IPv6Address) -> str:
    """Return an IPv4 address, or the network of an IPv6 address."""
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _PREFIX), strict=False))
    return str(address)


_LONGEST = 3_600.0
"""Maximum of Retry-After, in seconds."""


@define(kw_only=True)
class JoinLimits:
    """Token buckets of new workers, one per source; `per_minute` 0 is no limit."""

    sources: Sources
    per_minute: float
    at_once: int
    _limits: RateLimits = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._limits = RateLimits(rate=self.per_minute / 60, burst=self.at_once)

    def has_room(self, request: HTTPConnection, now: float | None = None) -> bool:
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
            "Wait a moment: anyone can join this campaign, so few may from one place at once.",
            headers={"Retry-After": str(seconds)},
        )
