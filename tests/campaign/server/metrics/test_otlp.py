import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.campaign.waiting import in_time

from quietcrowd.campaign.server.metrics import exposition, otlp
from quietcrowd.campaign.server.metrics.counters import COMMITS, INFERENCE_LAG, REQUESTS, Sample
from quietcrowd.campaign.server.metrics.exposition import Published, families
from quietcrowd.campaign.server.metrics.otlp import exporter, metrics_data

SHOWN = Published(
    counts={
        Sample(COMMITS.name): 40,
        Sample(REQUESTS.name, ("GET", "/api/v1/me", "200")): 60,
        Sample(INFERENCE_LAG.name, (), 0): 2,
        Sample(INFERENCE_LAG.name, (), 11): 1,
    },
    gauges={Sample("quietcrowd_writable"): 1},
)


def needs_packages():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


@pytest.fixture
def collector(monkeypatch):
    """Return what arrives at a collector that variables name."""
    needs_packages()
    arrived = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            arrived.append((self.path, self.rfile.read(length)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        yield arrived
        server.shutdown()
        thread.join()


def received(body):
    """Return the numbers of a message, by name and labels."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    [resource] = ExportMetricsServiceRequest.FromString(body).resource_metrics
    [scope] = resource.scope_metrics
    found = {}
    for metric in scope.metrics:
        data = getattr(metric, metric.WhichOneof("data"))
        for point in data.data_points:
            labels = tuple(one.value.string_value for one in point.attributes)
            value = list(point.bucket_counts) if hasattr(point, "bucket_counts") else point.as_int
            found[metric.name, labels] = value
    return found


def test_the_numbers_of_metrics_are_sent(collector):
    sender = exporter()
    sender.send(SHOWN)
    sender.close()
    [(path, body)] = collector
    assert path == "/v1/metrics"
    assert received(body) == {
        ("quietcrowd_commits", ()): 40,
        ("quietcrowd_requests", ("GET", "/api/v1/me", "200")): 60,
        ("quietcrowd_inference_lag_seconds", ()): [2, *[0] * 10, 1],
        ("quietcrowd_writable", ()): 1,
    }


def test_a_server_sends_what_it_publishes_without_a_port_of_its_own(collector, start_server):
    own = start_server(requests_per_second=0)
    own.client().get("/readyz").raise_for_status()
    publisher = own.app.state.metrics.publisher
    asked = ("quietcrowd_requests", ("GET", "/api/v1/readyz", "200"))

    def is_counted():  # a request is counted once it is answered
        publisher.look()
        return asked in received(collector[-1][1])

    assert in_time(is_counted)
    sent = received(collector[-1][1])
    assert sent[asked] == 1
    shown = {
        (family.name, tuple(one.labels.values())): one.value
        for family in families(publisher.published)
        for one in family.samples
        if family.type != "histogram"
    }
    assert {name: value for name, value in sent.items() if isinstance(value, int)} == shown
    assert own.app.state.metrics.port is None


def test_one_time_alone_stands_for_the_start():
    needs_packages()
    [resource] = metrics_data(SHOWN, 7).resource_metrics
    points = [point for one in resource.scope_metrics[0].metrics for point in one.data.data_points]
    assert {point.start_time_unix_nano for point in points} == {7}
    assert resource.resource.attributes["service.name"] == "quietcrowd"


def test_without_a_variable_or_the_packages_nothing_is_sent(monkeypatch):
    assert exporter() is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(otlp, "find_spec", lambda _: None)
    assert exporter() is None

    def no_parent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(otlp, "find_spec", no_parent)
    assert exporter() is None


@pytest.mark.nightly
@pytest.mark.slow
def test_without_a_variable_nothing_of_it_is_loaded(program, tmp_path):
    code = f"""
import sys
from quietcrowd.campaign.server.app import serve_in_background
from quietcrowd.campaign.server.settings import Settings
with serve_in_background(Settings(database="sqlite:///{tmp_path}/q.db", port=0, infer=False)):
    heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "prometheus_client")
    sys.exit(", ".join(name for name in heavy if name in sys.modules) or 0)
"""
    assert program(sys.executable, "-c", code).finished() == (0, "", "")


def test_a_collector_that_is_not_there_keeps_nothing_from_going_on(monkeypatch, start_server):
    needs_packages()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setattr(exposition, "_EVERY", 0.01)
    own = start_server()
    assert own.client().get("/readyz").status_code == 200
