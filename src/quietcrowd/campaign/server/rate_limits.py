"""How often somebody may ask: a bucket for each, and what it holds may be spent at once."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from threading import Lock

from attrs import define, field

__all__ = ["RateLimits"]

_MOST_BUCKETS = 100_000
"""Buckets that are kept; those that were used least lately go first."""


@define(kw_only=True)
class RateLimits:
    """A bucket for each key or credential, or each source.

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

    def allow(self, who: bytes, now: float | None = None) -> bool:
        """Return whether a request may pass, and count it.

        Parameters
        ----------
        who : bytes
            Whose it is; a hash of it is kept.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
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
        """Return whether a request may pass, and count nothing; parameters as those of `allow`."""
        if not self.rate:
            return True
        key = hashlib.sha256(who).digest()[:16]
        return self._left(key, time.monotonic() if now is None else now) >= 1

    def _left(self, key: bytes, moment: float) -> float:
        left, before = self._buckets.get(key, (float(self.burst), moment))
        return min(self.burst, left + (moment - before) * self.rate)
