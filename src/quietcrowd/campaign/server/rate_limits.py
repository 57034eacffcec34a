"""How often a key or credential may ask: token buckets, in memory alone."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from threading import Lock

from attrs import define, field

__all__ = ["RateLimits"]

_MOST = 100_000
"""Buckets that are kept; those that were used least lately go first."""


@define(kw_only=True)
class RateLimits:
    """A bucket for each key or credential: what it holds may be spent at once.

    Attributes
    ----------
    rate : float
        Requests per second that flow into a bucket; 0 for no limit.
    burst : int
        What a bucket holds.
    """

    rate: float
    burst: int
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(factory=OrderedDict, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def allow(self, credential: bytes, now: float | None = None) -> bool:
        """Return whether a request with this key or credential may pass, and count it.

        Parameters
        ----------
        credential : bytes
            What the request shows for itself, or nothing; a hash of it is kept.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
        if not self.rate:
            return True
        key = hashlib.sha256(credential).digest()[:16]
        moment = time.monotonic() if now is None else now
        with self._lock:
            left, before = self._buckets.pop(key, (float(self.burst), moment))
            left = min(self.burst, left + (moment - before) * self.rate)
            allowed = left >= 1
            self._buckets[key] = (left - allowed, moment)
            if len(self._buckets) > _MOST:
                self._buckets.popitem(last=False)
        return allowed
