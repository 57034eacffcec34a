"""How many workers one source brings into campaigns that are open to all.

An address is kept in memory alone, as a hash under a salt that is drawn anew every hour: nobody can
tell later who joined from where. What is kept then is forgotten, too.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections import OrderedDict
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Lock

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError

__all__ = ["JoinLimits", "too_many_joins"]

_ROTATE = 3_600.0
"""Seconds for which a salt is used."""

_MOST_SOURCES = 100_000
"""Sources that are kept; those that were used least lately go first."""

_PREFIX = 64
"""Bits of an address of IPv6 that one customer of a network has at least to itself."""

_UNKNOWN = "unknown"


@define(kw_only=True)
class JoinLimits:
    """A bucket for each source: each worker who joins takes one out.

    Attributes
    ----------
    per_minute : float
        Workers that flow into a bucket in a minute; 0 for no limit.
    at_once : int
        What a bucket holds.
    proxy : str, optional
        Address of the server before this one, or a network in which it is, as ``10.0.0.0/24``:
        what it says in X-Forwarded-For is believed, and nobody else.
    """

    per_minute: float
    at_once: int
    proxy: str | None = None
    _network: IPv4Network | IPv6Network | None = field(init=False)
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(factory=OrderedDict, init=False)
    _salt: bytes = field(factory=lambda: secrets.token_bytes(32), init=False, repr=False)
    _until: float | None = field(default=None, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._network = None if self.proxy is None else ip_network(self.proxy, strict=False)

    def source_of(self, request: HTTPConnection) -> str:
        """Return where a request comes from: an address, or a network of IPv6."""
        peer = _UNKNOWN if request.client is None else request.client.host
        if self._is_proxy(peer):
            listed = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
            others = (one.strip() for one in reversed(listed))
            peer = next((one for one in others if not self._is_proxy(one)), peer)
        return _widened(peer)

    def has_room(self, source: str, now: float | None = None) -> bool:
        """Return whether one more worker may join from a source.

        Parameters
        ----------
        source : str
            As `source_of` gives it.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
        if not self.per_minute:
            return True
        with self._lock:
            _, left, _ = self._left(source, now)
        return left >= 1

    def take(self, source: str, now: float | None = None) -> None:
        """Count one more worker from a source; parameters as those of `has_room`.

        Raises
        ------
        ProblemError
            Where there is no room.
        """
        if not self.per_minute:
            return
        with self._lock:
            key, left, moment = self._left(source, now)
            if left >= 1:
                self._buckets[key] = (left - 1, moment)
                self._buckets.move_to_end(key)
                if len(self._buckets) > _MOST_SOURCES:
                    self._buckets.popitem(last=False)
                return
        raise too_many_joins(math.ceil(60 / self.per_minute))

    def _is_proxy(self, text: str) -> bool:
        if self._network is None:
            return False
        try:
            return ip_address(text) in self._network
        except ValueError:
            return False

    def _left(self, source: str, now: float | None) -> tuple[bytes, float, float]:
        """Return what a source is known by, what its bucket holds, and when that is."""
        moment = time.monotonic() if now is None else now
        if self._until is None or moment >= self._until:
            self._salt, self._until = secrets.token_bytes(32), moment + _ROTATE
            self._buckets.clear()
        key = hashlib.blake2b(source.encode(), digest_size=16, key=self._salt).digest()
        left, before = self._buckets.get(key, (float(self.at_once), moment))
        return key, min(self.at_once, left + (moment - before) * self.per_minute / 60), moment


def too_many_joins(seconds: int = 2) -> ProblemError:
    """Return the refusal of who joins from a source of which too many have; when to try again."""
    return ProblemError(
        "too-many-joins",
        "Wait a moment: anyone can join this campaign, so few may from one place at once.",
        headers={"Retry-After": str(seconds)},
    )


def _widened(text: str) -> str:
    """Return an address, or of one of IPv6 the network in which it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return _UNKNOWN
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(IPv6Network((int(address), _PREFIX), strict=False))
    return str(address)
