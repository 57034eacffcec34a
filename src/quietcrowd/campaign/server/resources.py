"""What a server stands on: its database, its place to listen, its metrics."""

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
    """What a server stands on.

    Attributes
    ----------
    database : Database
        Up to date, and locked where it is a file.
    connections : Connections, optional
        Of PostgreSQL.
    departures : Departures
        Who left, and what ended, outside of the database.
    listener : Listener
        Where it listens.
    metrics : Metrics
        What is counted.
    clock : Clock
        At the start.
    """

    database: Database
    departures: Departures
    connections: Connections | None
    listener: Listener
    metrics: Metrics
    clock: Clock


@contextmanager
def opened_resources(settings: Settings) -> Iterator[Resources]:
    """Give what a server stands on, as long as it runs.

    Raises
    ------
    ParameterError, FormatError
        As of `ready_database`, `claim_connections`, `listener` and `running_metrics`.
    """
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
    """Take all connections of a server; those of the journal first, so that the rest sees them."""
    if departures.journal is not None:
        claim_connections(departures.journal, pool_size=CONNECTIONS, others=0)
    return claim_connections(database, pool_size=settings.pool_size, others=int(settings.infer))
