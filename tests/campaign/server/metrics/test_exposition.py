import re
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.exc import OperationalError
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import PLAIN, new_desk
from tests.campaign.ports import has_ipv6
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.server.metrics import exposition
from quietcrowd.campaign.server.metrics.counters import (
    COMMITS,
    INFERENCE_LAG,
    KINDS,
    REQUESTS,
    Sample,
)
from quietcrowd.campaign.server.metrics.exposition import (
    Published,
    exporter,
    families,
    histograms,
    metrics_data,
    metrics_port,
)
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError

SHOWN = Published(
    counts={
        Sample(COMMITS.name): 40,
        Sample(REQUESTS.name, ("GET", "/api/v1/me", "200")): 60,
        Sample(INFERENCE_LAG.name, (), 0): 2,
        Sample(INFERENCE_LAG.name, (), 3): 1,
    },
    gauges={Sample("quietcrowd_writable"): 1},
)


def published():
    return SHOWN


@pytest.mark.slow
def test_what_is_published_is_read_as_prometheus_reads_it():
    with metrics_port("127.0.0.1", 0, published) as port:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", verify=PLAIN, timeout=LONG).text
    read = list(text_string_to_metric_families(text))
    assert {family.name for family in read} == set(KINDS)
    values = {(one.name, *one.labels.values()): one.value for each in read for one in each.samples}
    assert values["quietcrowd_commits_total",] == 40
    assert values["quietcrowd_requests_total", "GET", "/api/v1/me", "200"] == 60
    assert values["quietcrowd_writable",] == 1
    assert values["quietcrowd_inference_lag_seconds_bucket", "0.1"] == 2
    assert values["quietcrowd_inference_lag_seconds_bucket", "2.5"] == 3
    assert values["quietcrowd_inference_lag_seconds_bucket", "+Inf"] == 3
    assert values["quietcrowd_inference_lag_seconds_count",] == 3


@pytest.mark.slow
def test_the_port_is_free_again_and_one_that_is_not_is_told_of():
    with metrics_port("127.0.0.1", 0, published) as port:
        told = rf"metrics cannot be served on 127\.0\.0\.1:{port}: .*; use another metrics_port"
        with pytest.raises(ParameterError, match=told), metrics_port("127.0.0.1", port, published):
            pass
    with socket.create_server(("127.0.0.1", port)):
        pass


@pytest.mark.slow
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_it_may_listen_on_ipv6():
    with metrics_port("::1", 0, published) as port:
        assert (
            httpx.get(f"http://[::1]:{port}/metrics", verify=PLAIN, timeout=LONG).status_code == 200
        )


LEAST = 3

OF_WORKERS = re.compile(r"quietcrowd_(requests|request_seconds|reports|commits|batch|queue)")


@pytest.fixture
def measured(start_server, monkeypatch):
    """Return a server with metrics, of which the minutes pass when a test wants it."""
    monkeypatch.setattr(exposition, "_EVERY", 10**6)
    return start_server(metrics_port=0, requests_per_second=0)


def scrape(server):
    """Return what a scrape shows now."""
    port = server.app.state.metrics.port
    answer = httpx.get(
        f"http://127.0.0.1:{port}/metrics", verify=PLAIN, timeout=LONG
    ).raise_for_status()
    return {
        name: float(value)
        for name, _, value in (
            line.rpartition(" ") for line in answer.text.splitlines() if line[0] != "#"
        )
    }


def pass_minute(server):
    server.app.state.metrics.publisher.look()


def moved(server, before):
    """Return by how much a minute moves what is published, but for what requesters move."""
    pass_minute(server)
    after = scrape(server)
    return {
        name: value - before.get(name, 0.0)
        for name, value in after.items()
        if value != before.get(name) and "/campaigns" not in name.replace("/public/campaigns", "")
    }


class Watch:
    """Somebody who scrapes after whatever happens, a minute later each time."""

    def __init__(self, server):
        self.server = server
        pass_minute(server)
        self.seen = scrape(server)

    def look(self):
        found = moved(self.server, self.seen)
        self.seen = scrape(self.server)
        return found


def play_one(desk, campaign):
    """Let somebody join, look around, err and send, and yield after each step."""
    worker = desk.guest(campaign)
    for _ in range(2 * LEAST):
        worker.client.get(f"/public/campaigns/{campaign}").raise_for_status()
        assert worker.client.get("/me").status_code == 401
    yield worker
    desk.join(worker).raise_for_status()
    yield worker
    for _ in range(2 * LEAST):
        worker.client.get("/me").raise_for_status()
        worker.tasks()
    yield worker
    sent = worker.report(worker.tasks()[0]["task_id"], 1)
    assert worker.send({**sent, "value": "x"}).status_code == 422
    assert worker.send({**sent, "value": 99}).status_code in (200, 422)
    yield worker


@pytest.mark.nightly
def test_joining_looking_and_leaving_moves_nothing(measured):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=LEAST)
    watch = Watch(measured)
    for _ in range(2 * LEAST):
        steps = [(worker, watch.look()) for worker in play_one(desk, campaign)]
        assert [look for _, look in steps] == [{}] * 4
        steps[0][0].client.delete("/me").raise_for_status()
        assert watch.look() == {}


@pytest.mark.nightly
def test_sending_moves_nothing_but_with_a_release_and_then_in_multiples(measured):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=LEAST)
    watch = Watch(measured)
    moves = []
    for _ in range(3 * LEAST):
        steps = [(worker, watch.look()) for worker in play_one(desk, campaign)]
        assert [look for _, look in steps] == [{}] * 4
        steps[0][0].send_values(1, 0, 1)
        moves.append(watch.look())
    assert [bool(one) for one in moves] == [False, False, True] * 3
    assert moves[2]['quietcrowd_reports_total{outcome="accepted"}'] == 3 * LEAST
    for name, value in (pair for one in moves for pair in one.items()):
        if OF_WORKERS.match(name) and not name.partition("{")[0].endswith("_sum"):
            assert value % LEAST == 0, name


@pytest.mark.nightly
def test_one_who_leaves_after_a_release_moves_nothing(measured):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=LEAST)
    workers = [desk.worker(campaign) for _ in range(LEAST)]
    for worker in workers:
        worker.send_values(1, 0, 1)
    watch = Watch(measured)
    for worker in workers:
        worker.client.delete("/me").raise_for_status()
        assert watch.look() == {}


@pytest.mark.nightly
def test_the_largest_of_all_open_campaigns_counts(measured):
    desk = new_desk(measured)
    first = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=LEAST)
    second = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=1)
    watch = Watch(measured)
    assert watch.seen["quietcrowd_at_least"] == LEAST
    moves = []
    for _ in range(LEAST):
        desk.worker(second).send_values(1, 0, 1)
        moves.append(watch.look())
    assert [bool(one) for one in moves] == [False, False, True]
    desk.client.post(f"/campaigns/{first}/close").raise_for_status()
    assert watch.look()["quietcrowd_at_least"] == 1 - LEAST
    desk.worker(second).send_values(1, 0, 1)
    assert watch.look()['quietcrowd_reports_total{outcome="accepted"}'] == 3


@pytest.mark.nightly
def test_between_two_minutes_nothing_moves_but_what_requesters_ask_for(measured):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=1)
    pass_minute(measured)
    before = scrape(measured)
    for _ in range(3):
        worker = desk.worker(campaign)
        worker.send_values(1, 0, 1)
        worker.client.delete("/me").raise_for_status()
    after = scrape(measured)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed
    assert all('route="/api/v1/campaigns' in name for name in changed)


def test_a_scrape_holds_no_id_and_no_time_of_the_process(measured):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=1)
    worker = desk.worker(campaign)
    worker.send_values(1, 0, 1)
    worker.client.get(f"/planted-{worker.id}")
    worker.client.request("PLANTED", "/me")
    desk.client.get("/readyz").raise_for_status()
    pass_minute(measured)
    port = measured.app.state.metrics.port
    told = httpx.get(f"http://127.0.0.1:{port}/metrics", verify=PLAIN, timeout=LONG).text
    pseudonym = worker.client.get("/me").json()["pseudonym"]
    for secret in (campaign, worker.id, worker.credential, desk.key, pseudonym, "planted"):
        assert secret not in told.lower()
    for word in ("_created", "process_", "python_", "# {"):
        assert word not in told
    assert 'method="other"' in told
    lines = [line for line in told.splitlines() if line[0] != "#"]
    assert all(len(line.rsplit("}", 1)[-1].split()) <= 2 for line in lines), "a time stands there"
    assert all(line.startswith("quietcrowd_") for line in lines)


def test_nothing_of_workers_is_published_while_nobody_can_say_who_waits(measured, monkeypatch):
    desk = new_desk(measured)
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open", at_least=1)
    watch = Watch(measured)
    desk.worker(campaign).send_values(1, 0, 1)

    def fail(_):
        raise OperationalError("a statement", {}, Exception("gone"))

    with monkeypatch.context() as without:
        without.setattr(exposition, "largest_at_least", fail)
        without.setattr(
            measured.app.state.metrics.publisher, "unwritable", lambda: ("database", "53100")
        )
        assert watch.look() == {"quietcrowd_writable": -1}
    assert watch.look()["quietcrowd_writable"] == 1


def test_a_sum_is_worked_out_from_buckets():
    name = INFERENCE_LAG.name
    counts = {Sample(name, (), 0): 2, Sample(name, (), 11): 1}
    [(labels, buckets, total)] = histograms(INFERENCE_LAG, Published(counts=counts, gauges={}))
    assert (labels, buckets) == ((), [2, *[0] * 10, 1])
    assert total == pytest.approx(2 * 0.05 + 1_800)


def test_a_server_without_metrics_has_no_thread_for_them(start_server):
    own = start_server()
    assert own.app.state.metrics.publisher is None
    assert isinstance(own.database, Database)


EXPORTED = Published(
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
    sender.send(EXPORTED)
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
    [resource] = metrics_data(EXPORTED, 7).resource_metrics
    points = [point for one in resource.scope_metrics[0].metrics for point in one.data.data_points]
    assert {point.start_time_unix_nano for point in points} == {7}
    assert resource.resource.attributes["service.name"] == "quietcrowd"


def test_without_a_variable_or_the_packages_nothing_is_sent(monkeypatch):
    assert exporter() is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(exposition, "find_spec", lambda _: None)
    assert exporter() is None

    def no_parent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(exposition, "find_spec", no_parent)
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
