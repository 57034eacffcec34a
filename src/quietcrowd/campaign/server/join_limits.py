"""How many workers one source brings into campaigns that are open to all."""

from __future__ import annotations

import math

from attrs import define, field
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.sources import Sources

__all__ = ["JoinLimits"]

_LONGEST = 3_600.0
"""Seconds after which somebody is to try again, at most."""


@define(kw_only=True)
class JoinLimits:
    """Each worker who joins takes one out of the bucket of a source.

    Attributes
    ----------
    sources : Sources
        Tells them apart.
    per_minute : float
        Workers that flow into a bucket in a minute; 0 for no limit.
    at_once : int
        What a bucket holds.
    """

    sources: Sources
    per_minute: float
    at_once: int
    _limits: RateLimits = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._limits = RateLimits(rate=self.per_minute / 60, burst=self.at_once)

    def has_room(self, request: HTTPConnection, now: float | None = None) -> bool:
        """Return whether one more worker may join from where a request comes.

        Parameters
        ----------
        request : HTTPConnection
            Of who joins.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
        return self._limits.would_allow(self.sources.of_request(request, now), now)

    def take(self, request: HTTPConnection, now: float | None = None) -> None:
        """Count one more worker; parameters as those of `has_room`.

        Raises
        ------
        ProblemError
            Where there is no room.
        """
        if not self._limits.allow(self.sources.of_request(request, now), now):
            raise self.refusal()

    def refusal(self) -> ProblemError:
        """Return the refusal of who joins from a source without room, and when to try again."""
        seconds = math.ceil(min(60 / self.per_minute, _LONGEST))
        return ProblemError(
            "too-many-joins",
            "Wait a moment: anyone can join this campaign, so few may from one place at once.",
            headers={"Retry-After": str(seconds)},
        )
