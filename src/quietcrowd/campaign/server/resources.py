"""What a server stands on: its database, its place to listen, its metrics."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from quietcrowd.campaign.server.metrics.running import Metrics, running_metrics
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.capacity import Connections, claim_connections
from quietcrowd.campaign.store.database import Database
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
        Brought up to date, and locked where it is a file.
    connections : Connections, optional
        Of PostgreSQL.
    listener : socket
        Where it listens.
    metrics : Metrics
        What is counted.
    """

    database: Database
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
    size, seconds = settings.pool_size, settings.pool_seconds
    with ready_database(settings.database, pool_size=size, pool_seconds=seconds) as database:
        connections = claim_connections(database, pool_size=size, others=int(settings.infer))
        with listener(settings) as found, running_metrics(settings, database) as metrics:
            yield Resources(
                database=database, connections=connections, listener=found, metrics=metrics
            )


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
