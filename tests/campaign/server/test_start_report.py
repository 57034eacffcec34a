import socket

from attrs import evolve

from quietcrowd.campaign.server.door import open_door
from quietcrowd.campaign.server.listening import file_limit
from quietcrowd.campaign.server.metrics import otlp
from quietcrowd.campaign.server.metrics.running import Metrics
from quietcrowd.campaign.server.resources import Resources
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start_report import start_lines
from quietcrowd.campaign.store.capacity import Connections
from quietcrowd.campaign.store.clock import Clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures

URL = "postgresql://me:planted@db.example:5433/crowd?password=planted"

PLAUSIBLE = Clock(now=0.0, seen=None)


def lines(settings, connections=None, metrics_port=None, clock=PLAUSIBLE):
    database, departures = Database.open(settings.database), Departures.open(settings)
    with socket.create_server(("127.0.0.1", 0)) as found:
        metrics = evolve(Metrics.of(database, departures), port=metrics_port)
        resources = Resources(
            database=database,
            departures=departures,
            connections=connections,
            listener=found,
            metrics=metrics,
            clock=clock,
        )
        door = open_door(settings, database, metrics.tally)
        told = start_lines(settings, resources, door)
        port = found.getsockname()[1]
    departures.close()
    database.close()
    return "\n".join(told).replace(f":{port};", ":81;")


def test_a_server_says_what_it_will_use_and_no_password():
    told = lines(
        Settings(
            database=URL,
            host="::1",
            infer=False,
            requests_per_second=0,
            joins_per_minute=0,
            connections=900,
            source_requests_per_second=7,
            proxy="10.0.0.0/24",
            metrics_host="::1",
        ),
        Connections(given=97, used=34),
        metrics_port=9,
    )
    assert told.startswith("Serving campaigns on http://[::1]:81; stop with Ctrl+C.\n")
    for words in (
        "PostgreSQL, postgresql://me@db.example:5433/crowd; 10 connections, 34 of 97 in use",
        "256 at once, 32 with one key or credential",
        "Who left: kept in the database alone; comes back with a copy",
        "no limit of a rate",
        "from one source: no limit;\n    a source is what 10.0.0.0/24 says",
        "67,108,864 bytes",
        f"  Connections: 900, 225 of them from one source; open files: at most {file_limit():,}",
        "from one source: 7 a second, 100 at once",
        "left to other servers",
        "http://[::1]:9/metrics",
    ):
        assert words in told
    assert "planted" not in told
    assert all(len(line) <= 80 for line in told.splitlines() if "postgresql" not in line)


def test_what_is_usual_is_told_too(tmp_path):
    told = lines(Settings(database=f"sqlite:///{tmp_path}/q.db"))
    for words in (
        f"SQLite, {tmp_path}/q.db; 10 connections",
        f"Who left: SQLite, {tmp_path}/q.db.departures",
        "20 a second, 100 at once",
        "from one source: 30 a minute, 100 at once;\n    a source is who connects",
        "in a process of its own, ended after 600 seconds",
        "Metrics: none",
        "the name under which it is asked",
    ):
        assert words in told


def test_it_says_where_opentelemetry_is_asked_for_and_not_there(tmp_path, monkeypatch):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setattr(otlp, "find_spec", lambda _: None)
    assert "Metrics: none; OpenTelemetry: not installed, take quietcrowd[otel]" in lines(settings)
    monkeypatch.setattr(otlp, "find_spec", lambda _: object())
    assert "Metrics: none; OpenTelemetry: sent" in lines(settings)


def test_a_clock_that_is_held_is_told(tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    told = lines(settings, clock=Clock(now=86_400.0 * 21_000, seen=20_800))
    assert "Warning: The clock says 2027-07-01, and the last day seen is 2026-12-13." in told
    assert "campaign clock --confirm" in told
    assert "Warning" not in lines(settings)
