"""Publication once a minute: ``/metrics`` for Prometheus on a separate port, and OpenTelemetry.

Counts of workers change in multiples, and only after releases. The interval begins at the start of
the server, so more frequent scrapes show nothing new. Sums of times are computed from buckets, so
that no single time is revealed. Metrics of the process, such as CPU time, are not published: they
change with every request. OpenTelemetry is loaded only if variables name a collector.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import accumulate
from threading import Event, Thread
from typing import TYPE_CHECKING

from attrs import define, field, frozen
from typing_extensions import override

from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.counters import (
    AT_LEAST,
    CLOCK_HELD,
    KINDS,
    QUEUE_DEPTH,
    WRITABLE,
    Kind,
    Ripe,
    Sample,
    Tally,
)
from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.health import Unwritable
from quietcrowd.campaign.store.releases import largest_at_least
from quietcrowd.campaign.terms.settings import place_of
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint, MetricsData
    from opentelemetry.sdk.metrics.export import Metric as SentMetric
    from prometheus_client.core import Metric

_EVERY = 60.0  # seconds between two publications


@frozen(kw_only=True)
class Published:
    """Published counts (of counters and histogram buckets) and gauges."""

    counts: Mapping[Sample, int]
    gauges: Mapping[Sample, int]


@define(kw_only=True)
class Publisher:
    """Publication once a minute, in a thread; `publish` is called after each."""

    tally: Tally
    database: Database
    unwritable: Callable[[], Unwritable | None]
    clock_held: Callable[[], bool]
    publish: Callable[[Published], None]
    _of_workers: dict[Sample, int] = field(factory=dict, init=False)
    _of_releases: dict[Sample, int] = field(factory=dict, init=False)
    _gauges: dict[Sample, int] = field(factory=dict, init=False)
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    @property
    def published(self) -> Published:
        """Metrics that are visible now, including all counts of requesters and checks."""
        counts = {**self._of_workers, **self._of_releases}
        for sample, count in self.tally.read("others").items():
            counts[sample] = counts.get(sample, 0) + count
        return Published(counts=counts, gauges=dict(self._gauges))

    def close(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Publish the current metrics."""
        of_releases = self.tally.read("releases")
        gauges = {**self._gauges, Sample(WRITABLE.name): int(self.unwritable() is None)}
        of_workers = self._of_workers
        try:
            with self.database.read() as connection:
                least = largest_at_least(connection)
            gauges[Sample(CLOCK_HELD.name)] = int(self.clock_held())
        except UNAVAILABLE as error:  # the required multiple is unknown
            log_failure("metrics", error, timed=True)
        else:
            gauges[Sample(AT_LEAST.name)] = least
            ripe = self.tally.take_ripe(least)
            if ripe is not None:
                of_workers = _advanced(of_workers, ripe, least)
                depth = ripe.peaks.get(Sample(QUEUE_DEPTH.name), 0)
                gauges[Sample(QUEUE_DEPTH.name)] = depth - depth % least
        self._of_workers, self._of_releases, self._gauges = of_workers, of_releases, gauges
        self.publish(self.published)

    def _run(self) -> None:
        while True:
            self.look()
            if self._ended.wait(_EVERY):
                return


def _advanced(before: Mapping[Sample, int], ripe: Ripe, least: int) -> dict[Sample, int]:
    """Increase published counts in multiples of `least`: even a 0 would reveal the first."""
    after = dict(before)
    for sample, count in ripe.counts.items():
        more = count - before.get(sample, 0)
        if more >= least:
            after[sample] = before.get(sample, 0) + more - more % least
    return after


def histograms(
    kind: Kind, published: Published
) -> Iterator[tuple[tuple[str, ...], list[int], float]]:
    """Yield the labels, bucket counts and sum of each histogram of a kind."""
    of_kind = {one: n for one, n in published.counts.items() if one.kind == kind.name}
    for labels in sorted({one.labels for one in of_kind}):
        buckets = range(len(kind.bounds) + 1)
        counts = [of_kind.get(Sample(kind.name, labels, one), 0) for one in buckets]
        total = sum(kind.middle(one) * n for one, n in enumerate(counts))
        yield labels, counts, total


@contextmanager
def metrics_port(host: str, port: int, published: Callable[[], Published]) -> Iterator[int]:
    """Answer scrapes until the context ends; yield the port, or raise ParameterError."""
    from prometheus_client import CollectorRegistry, start_http_server  # takes 0.1 s to load
    from prometheus_client.registry import Collector

    class Scraped(Collector):
        @override
        def collect(self) -> Iterator[Metric]:
            return families(published())

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Scraped())
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ParameterError(
            "campaign.metrics-address-unusable", address=place_of(host, port), reason=error.strerror
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def families(published: Published) -> Iterator[Metric]:
    """Yield the published metrics, without creation times."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    for kind in KINDS.values():
        if kind.form == "histogram":
            bars = HistogramMetricFamily(kind.name, kind.about, labels=kind.labels)
            ends = [*(f"{bound:g}" for bound in kind.bounds), "+Inf"]
            for labels, buckets, total in histograms(kind, published):
                bars.add_metric(labels, list(zip(ends, accumulate(buckets), strict=True)), total)
            yield bars
            continue
        counter = kind.form == "counter"
        family = CounterMetricFamily if counter else GaugeMetricFamily
        found = family(kind.name, kind.about, labels=kind.labels)
        counts = published.counts if counter else published.gauges
        for sample in sorted(one for one in counts if one.kind == kind.name):
            found.add_metric(sample.labels, counts[sample])
        yield found


_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_NAME = "OTEL_SERVICE_NAME"
_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@frozen(kw_only=True)
class Exporter:
    """An exporter of published metrics; `close` aborts transfers."""

    send: Callable[[Published], None]
    close: Callable[[], None]


def asked_for() -> str | None:
    """Describe whether OpenTelemetry is requested and installed; None if it is not requested."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return None
    return "sent" if _installed() else "not installed, requires quietcrowd[otel]"


def exporter() -> Exporter | None:
    """Return an exporter to the collector that variables name, if any."""
    if asked_for() != "sent":
        return None
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    started, sender = time.time_ns(), OTLPMetricExporter()

    def send(published: Published) -> None:
        sender.export(metrics_data(published, started))

    return Exporter(send=send, close=sender.shutdown)


def _installed() -> bool:
    try:
        return all(find_spec(name) is not None for name in _PACKAGES)
    except ModuleNotFoundError:  # a parent package is missing
        return False


def metrics_data(published: Published, started: int) -> MetricsData:
    """Convert published metrics; all counts begin at `started`, in nanoseconds since 1970."""
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    times = (started, time.time_ns())
    found = [_metric(kind, published, times) for kind in KINDS.values()]
    scope = ScopeMetrics(
        scope=InstrumentationScope("quietcrowd"),
        metrics=[one for one in found if one.data.data_points],
        schema_url="",
    )
    named = {} if os.environ.get(_NAME) else {"service.name": "quietcrowd"}
    resource = Resource.create(named)
    return MetricsData([ResourceMetrics(resource, scope_metrics=[scope], schema_url="")])


def _metric(kind: Kind, published: Published, times: tuple[int, int]) -> SentMetric:
    from opentelemetry.sdk.metrics import export

    always = export.AggregationTemporality.CUMULATIVE
    data: export.Sum | export.Gauge | export.Histogram
    if kind.form == "histogram":
        data = export.Histogram(_bars(kind, published, times), always)
    else:
        counter = kind.form == "counter"
        points = [
            export.NumberDataPoint(_attributes(kind, sample.labels), *times, count)
            for sample, count in (published.counts if counter else published.gauges).items()
            if sample.kind == kind.name
        ]
        data = export.Sum(points, always, is_monotonic=True) if counter else export.Gauge(points)
    unit = "s" if kind.name.endswith("_seconds") else "1"
    return export.Metric(name=kind.name, description=kind.about, unit=unit, data=data)


def _bars(kind: Kind, published: Published, times: tuple[int, int]) -> list[HistogramDataPoint]:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint

    return [
        HistogramDataPoint(
            attributes=_attributes(kind, labels),
            start_time_unix_nano=times[0],
            time_unix_nano=times[1],
            count=sum(counts),
            sum=total,
            bucket_counts=counts,
            explicit_bounds=kind.bounds,
            min=0.0,
            max=kind.bounds[-1],
        )
        for labels, counts, total in histograms(kind, published)
    ]


def _attributes(kind: Kind, labels: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(kind.labels, labels, strict=True))
