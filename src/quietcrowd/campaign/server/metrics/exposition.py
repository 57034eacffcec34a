"""The ``/metrics`` endpoint for Prometheus, on a separate port.

Metrics of the process, such as CPU time, are not published: they change with every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate

from prometheus_client import start_http_server
from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from typing_extensions import override

from quietcrowd.campaign.server.metrics.kinds import KINDS, Kind
from quietcrowd.campaign.server.metrics.publishing import Published, histograms
from quietcrowd.campaign.terms.settings import place_of
from quietcrowd.exceptions import ParameterError

__all__ = ["families", "metrics_port"]


@contextmanager
def metrics_port(host: str, port: int, published: Callable[[], Published]) -> Iterator[int]:
    """Answer scrapes until the context ends; yield the port, or raise ParameterError."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(published))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ParameterError(
            f"metrics cannot be served on {place_of(host, port)}: {error.strerror}; take another "
            "metrics_port"
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Collector(Collector):
    def __init__(self, published: Callable[[], Published]) -> None:
        self._published = published

    @override
    def collect(self) -> Iterator[Metric]:
        return families(self._published())


def families(published: Published) -> Iterator[Metric]:
    """Yield the published metrics, without creation times."""
    for kind in KINDS.values():
        if kind.form == "histogram":
            yield _histogram(kind, published)
            continue
        counter = kind.form == "counter"
        family = CounterMetricFamily if counter else GaugeMetricFamily
        found = family(kind.name, kind.about, labels=kind.labels)
        counts = published.counts if counter else published.gauges
        for sample in sorted(one for one in counts if one.kind == kind.name):
            found.add_metric(sample.labels, counts[sample])
        yield found


def _histogram(kind: Kind, published: Published) -> HistogramMetricFamily:
    found = HistogramMetricFamily(kind.name, kind.about, labels=kind.labels)
    ends = [*(f"{bound:g}" for bound in kind.bounds), "+Inf"]
    for labels, counts, total in histograms(kind, published):
        buckets = list(zip(ends, accumulate(counts), strict=True))
        found.add_metric(labels, buckets, total)
    return found
