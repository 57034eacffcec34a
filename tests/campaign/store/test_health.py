import secrets
from contextlib import contextmanager

import pytest
from sqlalchemy import event, insert, text
from sqlalchemy.exc import DBAPIError
from tests.campaign.test_read_only_database import read_only

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import health
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.health import WriteProbe
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.revisions import newest_revision
from quietcrowd.campaign.store.tables import requester
from quietcrowd.campaign.store.withdrawals.journal import Departures


@pytest.fixture
def database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    yield opened
    opened.close()


@contextmanager
def told(database, *pragmas):
    """Tell SQLite something in each connection, for a while."""

    def tell(connection, *_):
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    event.listen(database.engine, "checkout", tell)
    yield
    event.remove(database.engine, "checkout", tell)
    database.engine.dispose()


@pytest.fixture
def probe(database, monkeypatch):
    monkeypatch.setattr(health, "_EVERY", 0.0)
    return WriteProbe(database=database, departures=Departures(journal=None))


def test_what_is_written_is_there_no_more(database, probe):
    assert [probe.why_not() for _ in range(3)] == [None] * 3
    with database.read() as connection:
        rows = connection.scalars(text("SELECT version_num FROM alembic_version")).all()
    assert rows == [newest_revision()]


def named(name):
    return {"id": secrets.token_bytes(16), "name": name}


def write_much(database):
    for number in range(1_000):
        with database.write() as connection:
            connection.execute(insert(requester), named(f"{number:09}" * 100))


@pytest.mark.parametrize("new_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "code"), [("max_page_count=1", "SQLITE_FULL"), ("query_only=ON", "SQLITE_READONLY")]
)
def test_a_full_disk_and_a_file_that_may_only_be_read_are_told_of(database, probe, pragma, code):
    with told(database, pragma):
        with pytest.raises(DBAPIError):
            write_much(database)
        assert probe.why_not() == ("database", code)
    assert probe.why_not() is None


@pytest.mark.parametrize("new_database", ["postgresql"], indirect=True)
def test_a_postgresql_that_may_only_be_read_is_told_of(probe, postgresql_server):
    with read_only(postgresql_server):
        assert probe.why_not() == ("database", "25006")
    assert probe.why_not() is None


def test_who_waits_for_the_table_of_the_revision_is_not_waited_for(database, probe, monkeypatch):
    monkeypatch.setattr(health, "_BRIEFLY", "SET LOCAL lock_timeout = '50ms'")
    other = Database.open(database.url.render_as_string(hide_password=False))
    if database.path is None:
        with other.write() as connection:
            connection.execute(text("LOCK TABLE alembic_version"))
            assert probe.why_not() == ("database", "55P03")
    else:
        with told(database, "busy_timeout=20"), other.write():
            assert probe.why_not() == ("database", "SQLITE_BUSY")
    other.close()
    assert probe.why_not() is None


@pytest.fixture
def journal(new_database, tmp_path, monkeypatch):
    """Return what probes a database that can be written, and a journal on either database."""
    monkeypatch.setattr(health, "_EVERY", 0.0)
    settings = Settings(database=f"sqlite:///{tmp_path}/campaigns.db", withdrawal_log=new_database)
    database, departures = Database.open(settings.database), Departures.open(settings)
    migrate(database)
    yield WriteProbe(database=database, departures=departures)
    departures.close()
    database.close()


def probed(departures):
    with departures.journal.read() as connection:
        return connection.execute(text("SELECT line FROM probe")).all()


@pytest.mark.parametrize("new_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("pragma", "code"), [("max_page_count=1", "SQLITE_FULL"), ("query_only=ON", "SQLITE_READONLY")]
)
def test_where_it_is_kept_who_left_is_tried_too(journal, pragma, code):
    assert journal.why_not() is None
    with told(journal.departures.journal, pragma):
        assert journal.why_not() == ("departures", code)
    assert journal.why_not() is None
    assert probed(journal.departures) == [("",)]
    assert journal.departures.endings() == {}


@pytest.mark.parametrize("new_database", ["postgresql"], indirect=True)
def test_a_postgresql_of_who_left_is_tried_too(journal, postgresql_server):
    with read_only(postgresql_server):
        assert journal.why_not() == ("departures", "25006")
    assert journal.why_not() is None
    assert probed(journal.departures) == [("",)]


def test_it_is_tried_once_in_a_while_and_real_writes_count(database, monkeypatch):
    tries = []
    monkeypatch.setattr(WriteProbe, "_try", lambda _: tries.append(0))
    probe = WriteProbe(database=database, departures=Departures(journal=None))
    assert [probe.why_not() for _ in range(9)] == [None] * 9
    assert len(tries) == 1
    if database.path is not None:
        with told(database, "query_only=ON"), pytest.raises(DBAPIError), database.write() as one:
            one.execute(insert(requester), named("me"))
        assert probe.why_not() == ("database", "SQLITE_READONLY")
        monkeypatch.setattr(health, "_EVERY", 0.0)
        assert probe.why_not() is None
        assert len(tries) == 2
