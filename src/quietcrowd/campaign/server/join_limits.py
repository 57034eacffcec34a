"""Limits on the new workers of a source in campaigns that are open to all."""

from __future__ import annotations

import math

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.sources import Sources

__all__ = ["JoinLimits"]

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
