"""Token-bucket rate limits."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from threading import Lock

from attrs import define, field

_MOST_BUCKETS = 100_000
"""Maximum number of buckets; the least recently used are dropped."""


@define(kw_only=True)
class RateLimits:
    """Token buckets per key, credential or source; `rate` is per second, and 0 is no limit."""

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
