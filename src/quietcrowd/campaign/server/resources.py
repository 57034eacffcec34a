"""The resources of a server: database, journal of withdrawals, listening socket and metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from attrs import frozen

from quietcrowd.campaign.server.listening import Listener, listener
from quietcrowd.campaign.server.metrics.running import Metrics, running_metrics
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.capacity import Connections, claim_connections
from quietcrowd.campaign.store.clock import Clock, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import CONNECTIONS, Departures
from quietcrowd.campaign.store.opening import ready_database

__all__ = ["Resources", "opened_resources"]


@frozen(kw_only=True)
class Resources:
    """The resources of a running server; `clock` is the reading at its start."""

    database: Database
    departures: Departures
    connections: Connections | None
    listener: Listener
    metrics: Metrics
    clock: Clock


@contextmanager
def opened_resources(settings: Settings) -> Iterator[Resources]:
    """Open the resources of a server, and close them at the end."""
    with (
        ready_database(settings) as database,
        closing(Departures.open(settings)) as departures,
    ):
        connections = _claimed(settings, database, departures)
        with (
            listener(settings) as found,
            running_metrics(settings, database, departures) as metrics,
        ):
            yield Resources(
                database=database,
                departures=departures,
                connections=connections,
                listener=found,
                metrics=metrics,
                clock=read_clock(time.time(), database, departures.journal),
            )


def _claimed(settings: Settings, database: Database, departures: Departures) -> Connections | None:
    """Claim the connections of a server; those of the journal first, so that all are counted."""
    if departures.journal is not None:
        claim_connections(departures.journal, pool_size=CONNECTIONS, others=0)
    return claim_connections(database, pool_size=settings.pool_size, others=int(settings.infer))
