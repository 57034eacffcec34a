"""The metrics of a running server: always counted, and published on request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from attrs import evolve, frozen

from quietcrowd.campaign.server.metrics.counters import Tally
from quietcrowd.campaign.server.metrics.exposition import Publisher, exporter, metrics_port
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.health import WriteProbe
from quietcrowd.campaign.store.withdrawals.journal import Departures


@frozen(kw_only=True)
class Metrics:
    """The metrics of a server, and where they are published."""

    probe: WriteProbe
    tally: Tally
    port: int | None = None
    publisher: Publisher | None = None

    @classmethod
    def of(cls, database: Database, departures: Departures) -> Metrics:
        """Return metrics that are counted, but not published."""
        return cls(probe=WriteProbe(database=database, departures=departures), tally=Tally())


@contextmanager
def running_metrics(
    settings: Settings, database: Database, departures: Departures
) -> Iterator[Metrics]:
    """Publish the metrics of a server until the context ends; may raise ParameterError."""
    metrics, export = Metrics.of(database, departures), exporter()
    if settings.metrics_port is None and export is None:
        yield metrics
        return
    with ExitStack() as held:
        publisher = Publisher(
            tally=metrics.tally,
            database=database,
            unwritable=metrics.probe.why_not,
            clock_held=lambda: read_clock(time.time(), database, departures.journal).held,
            publish=(lambda _: None) if export is None else export.send,
        )
        held.enter_context(closing(publisher))
        if export is not None:
            held.callback(export.close)  # first: the publisher waits for it
        port = None
        if settings.metrics_port is not None:
            served = metrics_port(
                settings.metrics_host, settings.metrics_port, lambda: publisher.published
            )
            port = held.enter_context(served)
        yield evolve(metrics, port=port, publisher=publisher)
