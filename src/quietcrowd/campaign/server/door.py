"""State shared by the connections of a server."""

from __future__ import annotations

from attrs import field, frozen

from quietcrowd.campaign.server.connection_limits import OpenConnections
from quietcrowd.campaign.server.incoming import IncomingBodies
from quietcrowd.campaign.server.join_limits import Sources
from quietcrowd.campaign.server.metrics.counters import Tally
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import connections_within
from quietcrowd.campaign.server.turning_away import TurningAway
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.settings import TAKING_SECONDS

_SHARE = 4
"""By default, one source may have 1/_SHARE of all connections."""


@frozen(kw_only=True)
class Door:
    """State shared by connections; `taking` is the seconds to read a piece of a response."""

    at_once: int
    connections: OpenConnections
    incoming: IncomingBodies
    turning_away: TurningAway
    taking: float = TAKING_SECONDS
    tally: Tally = field(factory=Tally)

    def is_full(self, requests: int) -> bool:
        """Return whether the limit is reached; waiting and rejected requests do not count."""
        return requests - self.incoming.waiting - self.turning_away.waiting >= self.at_once


def open_door(settings: Settings, database: Database, tally: Tally) -> Door:
    """Create the shared state; raise ParameterError if the process may not open enough files."""
    most = connections_within(settings.connections, database.files_at_most)
    return Door(
        at_once=settings.at_once,
        connections=OpenConnections(
            most=most,
            each=min(settings.connections_each or max(1, most // _SHARE), most),
            limits=RateLimits(
                rate=settings.source_requests_per_second, burst=settings.source_burst
            ),
            sources=Sources(proxy=settings.proxy),
        ),
        incoming=IncomingBodies(size=settings.bytes_at_once, patience=settings.body_seconds),
        turning_away=TurningAway(),
        taking=settings.taking_seconds,
        tally=tally,
    )
