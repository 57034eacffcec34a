import socket
from contextlib import ExitStack, contextmanager
from unittest.mock import Mock

import psycopg
import pytest
from attrs import evolve

from quietcrowd.campaign.server import start
from quietcrowd.campaign.server.connections import make_shared_state
from quietcrowd.campaign.server.metrics import exposition
from quietcrowd.campaign.server.metrics.running import Metrics
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import (
    AT_A_TIME,
    Connections,
    Resources,
    claim_connections,
    connections_within,
    file_limit,
    listener,
    start_lines,
)
from quietcrowd.campaign.store.clock import Clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.exceptions import ParameterError


def test_an_answer_does_not_wait_for_its_first_packet_to_be_confirmed():
    with listener(Settings(port=0)) as found, socket.create_connection(found.getsockname()):
        accepted, _ = found.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("limit", "wanted", "given"),
    [
        (None, None, 2_048),
        (None, 10, 10),
        (10**6, None, 2_048),
        (10**6, 5_000, 5_000),
        (256, None, 60),
        (256, 50, 50),
        (256, 60, 60),
        (256, 61, None),
        (204, None, 8),
        (203, None, None),
    ],
)
def test_connections_are_as_many_as_files_allow(monkeypatch, limit, wanted, given):
    monkeypatch.setattr(start, "file_limit", lambda: limit)
    if given is None:
        needed = r"Increase the limit, for example with ulimit -n \d+"
        with pytest.raises(ParameterError, match=needed):
            connections_within(wanted, 100)
    else:
        assert connections_within(wanted, 100) == given


def test_there_is_a_limit_of_files():
    found = start.file_limit()
    assert found is None or found > 0


@pytest.fixture
def ways_in():
    """Return what listens, and a way to connect to it."""
    with ExitStack() as opened:
        found = opened.enter_context(listener(Settings(port=0)))
        found.setblocking(False)

        def connect():
            opened.enter_context(socket.create_connection(found.getsockname()))

        yield found, connect


def test_who_asks_too_often_is_not_let_in(ways_in):
    found, connect = ways_in
    found.connections = Mock(most=10, may_come=Mock(side_effect=[False, True]))
    connect()
    connect()
    taken, _ = found.accept()
    with taken:
        found.connections.may_come.assert_called_with("127.0.0.1")
        with pytest.raises(BlockingIOError):
            found.accept()


def test_there_are_never_more_than_there_may_be_but_for_a_few(ways_in):
    found, connect = ways_in
    found.connections = Mock(most=1, may_come=Mock(return_value=True))
    for _ in range(AT_A_TIME + 2):
        connect()
    taken = [found.accept()[0] for _ in range(AT_A_TIME + 1)]
    with pytest.raises(BlockingIOError):
        found.accept()
    taken.pop().close()
    taken.append(found.accept()[0])  # one more has waited
    for one in taken:
        one.close()
    assert not found._taken


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
        shared = make_shared_state(settings, database, metrics.tally)
        told = start_lines(settings, resources, shared.connections)
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
            trusted_proxy="10.0.0.0/24",
            metrics_host="::1",
        ),
        Connections(given=97, used=34),
        metrics_port=9,
    )
    assert told.startswith("Serving campaigns on http://[::1]:81; stop with Ctrl+C.\n")
    for words in (
        "PostgreSQL, postgresql://me@db.example:5433/crowd; 10 connections, 34 of 97 in use",
        "256 at once, 32 with one key or credential",
        "Withdrawals: only in the database; copies restore withdrawn workers",
        "no rate limit",
        "from one source: no limit;\n    a source is an address stated by 10.0.0.0/24",
        "67,108,864 bytes",
        f"  Connections: 900, 225 of them from one source; open files: at most {file_limit():,}",
        "from one source: 7 a second, 100 at once",
        "on other servers",
        "http://[::1]:9/metrics",
    ):
        assert words in told
    assert "planted" not in told
    assert all(len(line) <= 80 for line in told.splitlines() if "postgresql" not in line)


def test_what_is_usual_is_told_too(tmp_path):
    told = lines(Settings(database=f"sqlite:///{tmp_path}/q.db"))
    for words in (
        f"SQLite, {tmp_path}/q.db; 10 connections",
        f"Withdrawals: SQLite, {tmp_path}/q.db.departures",
        "20 a second, 100 at once",
        "from one source: 30 a minute, 100 at once;\n    a source is a client",
        "in a separate process, at most 600 seconds",
        "Metrics: none",
        "the host name of the request",
    ):
        assert words in told


def test_it_says_where_opentelemetry_is_asked_for_and_not_there(tmp_path, monkeypatch):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setattr(exposition, "find_spec", lambda _: None)
    assert "Metrics: none; OpenTelemetry: not installed, requires quietcrowd[otel]" in lines(
        settings
    )
    monkeypatch.setattr(exposition, "find_spec", lambda _: object())
    assert "Metrics: none; OpenTelemetry: sent" in lines(settings)


def test_a_clock_that_is_held_is_told(tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    told = lines(settings, clock=Clock(now=86_400.0 * 21_000, seen=20_800))
    assert "Warning: The clock shows 2027-07-01, and the last day seen is 2026-12-13." in told
    assert "admin clock --confirm" in told
    assert "Warning" not in lines(settings)


@contextmanager
def opened(url, pool_size):
    database = Database.open(url, pool_size=pool_size)
    yield database
    database.close()


def test_sqlite_has_no_limit(tmp_path):
    with opened(f"sqlite:///{tmp_path}/q.db", 2) as database:
        assert claim_connections(database, pool_size=2, others=1) is None


@pytest.mark.nightly
def test_all_are_taken_at_once_and_the_next_server_sees_them(postgresql_server):
    url = postgresql_server.new_database()
    with opened(url, 5) as first, opened(url, 5) as second:
        before = claim_connections(first, pool_size=5, others=0)
        assert before.given == 97
        assert first.engine.pool.checkedin() == 5
        assert claim_connections(first, pool_size=5, others=0) == before
        after = claim_connections(second, pool_size=5, others=1)
        assert after.used - before.used == 6


def test_what_postgresql_cannot_give_is_refused_in_one_line(postgresql_server):
    with opened(postgresql_server.new_database(), 98) as database:
        told = r"PostgreSQL allows 97 connections .*, \d+ are in use, and this server needs 99\."
        with pytest.raises(ParameterError, match=told):
            claim_connections(database, pool_size=98, others=1)
        assert database.engine.pool.checkedin() <= 1


def test_limits_of_a_database_and_of_its_user_count(postgresql_server):
    url = postgresql_server.new_database()
    name = url.rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 3")
    with opened(url, 4) as database, pytest.raises(ParameterError, match="allows 3 connections"):
        claim_connections(database, pool_size=4, others=0)
