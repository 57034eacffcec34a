"""What a server stands on: its database, its place to listen, its metrics."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from attrs import frozen

from quietcrowd.campaign.server.metrics.running import Metrics, running_metrics
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.capacity import Connections, claim_connections
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import CONNECTIONS, Departures
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.terms.settings import place_of
from quietcrowd.exceptions import ParameterError

__all__ = ["Resources", "listener", "opened_resources"]


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
    listener : socket
        Where it listens.
    metrics : Metrics
        What is counted.
    """

    database: Database
    departures: Departures
    connections: Connections | None
    listener: socket.socket
    metrics: Metrics


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
            )


def _claimed(settings: Settings, database: Database, departures: Departures) -> Connections | None:
    """Take all connections of a server; those of the journal first, so that the rest sees them."""
    if departures.journal is not None:
        claim_connections(departures.journal, pool_size=CONNECTIONS, others=0)
    return claim_connections(database, pool_size=settings.pool_size, others=int(settings.infer))


def listener(settings: Settings) -> socket.socket:
    """Return a socket that listens where a server is to.

    Raises
    ------
    ParameterError
        Where nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        found = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ParameterError(
            f"cannot listen on {place_of(settings.host, settings.port)}: {error.strerror}; take "
            "another port"
        ) from None
    # asyncio does so only where a socket names its protocol: an answer is two packets, and the
    # second would wait 40 ms for the first to be confirmed
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found
