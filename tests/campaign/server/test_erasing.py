import sqlite3

import pytest
from sqlalchemy import insert, select
from tests.campaign.journals import emptied
from tests.campaign.people import new_desk

from quietcrowd.campaign.server import erasing
from quietcrowd.campaign.server.erasing import Eraser
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.tables import requester


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(erasing, "_EVERY", 0.05)
    monkeypatch.setattr(erasing, "_AGAIN", 0.05)


@pytest.fixture
def database(tmp_path):
    opened = Database.open(f"sqlite:///{tmp_path}/q.db")
    migrate(opened)
    yield opened
    opened.close()


def add(database, name):
    with database.write() as connection:
        connection.execute(insert(requester), {"id": name.encode(), "name": name})


def test_the_journal_is_emptied_again_and_again(database, tmp_path):
    journal = tmp_path / "q.db-wal"
    add(database, "before")
    eraser = Eraser(database=database)
    assert emptied(journal)
    add(database, "after")
    assert emptied(journal)
    eraser.close()


def test_it_is_emptied_once_nobody_reads(database, tmp_path):
    journal = tmp_path / "q.db-wal"
    eraser = Eraser(database=database)
    with database.read() as connection:
        connection.execute(select(requester.c.name)).all()
        add(database, "new")
        assert not emptied(journal, 0.3)
    assert emptied(journal)
    eraser.close()


def test_it_is_emptied_at_the_end(database, tmp_path, monkeypatch):
    monkeypatch.setattr(erasing, "_EVERY", 3600.0)
    eraser = Eraser(database=database)
    assert emptied(tmp_path / "q.db-wal")
    add(database, "last")
    eraser.close()
    assert not (tmp_path / "q.db-wal").stat().st_size


def test_a_failure_is_logged_and_it_goes_on(database, tmp_path, monkeypatch):
    failures = [sqlite3.OperationalError("disk I/O error")] * 3
    told, empty = [], Database.empty_journal

    def failing(self):
        if failures:
            raise failures.pop()
        return empty(self)

    monkeypatch.setattr(Database, "empty_journal", failing)
    monkeypatch.setattr(erasing, "log_failure", lambda *what: told.append(what))
    add(database, "new")
    eraser = Eraser(database=database)
    assert emptied(tmp_path / "q.db-wal")
    eraser.close()
    assert [event for event, _ in told] == ["eraser"] * 3


def test_a_server_takes_out_who_joined_with_which_invite(start_server, tmp_path):
    desk = new_desk(start_server())
    campaign = desk.campaign()
    worker = desk.worker(campaign)
    assert emptied(tmp_path / "own0.db-wal")
    worker.client.delete("/me").raise_for_status()
    assert emptied(tmp_path / "own0.db-wal")
    assert bytes.fromhex(worker.id) not in (tmp_path / "own0.db").read_bytes()
