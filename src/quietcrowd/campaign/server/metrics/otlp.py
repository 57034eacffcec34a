"""Export of the published metrics to an OpenTelemetry collector, if its variables name one.

The metrics are those of ``/metrics``, sent over HTTP after each publication, without traces and
logs. OpenTelemetry is loaded only if a variable requires it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from attrs import frozen

from quietcrowd.campaign.server.metrics.counters import KINDS, Kind
from quietcrowd.campaign.server.metrics.exposition import Published, histograms

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint, Metric, MetricsData

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
    return "sent" if _installed() else "not installed, take quietcrowd[otel]"


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


def _metric(kind: Kind, published: Published, times: tuple[int, int]) -> Metric:
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
