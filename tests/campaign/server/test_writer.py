import sqlite3
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import OperationalError, ProgrammingError
from tests.campaign.journals import emptied
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import Upload
from quietcrowd.campaign.server import writer as writer_module
from quietcrowd.campaign.server.writer import JournalEraser, Writer
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.intake import WorkerUpload
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.tables import requester
from quietcrowd.campaign.terms.tokens import new_token

UPLOAD = Upload(config_hash="0" * 64)


@pytest.fixture
def database(tmp_path):
    opened = Database.open(f"sqlite:///{tmp_path}/q.db")
    migrate(opened)
    yield opened
    opened.close()


def sent() -> WorkerUpload:
    return WorkerUpload(credential=new_token("qcw_"), upload=UPLOAD)


class Failing:
    """A database whose first transactions fail."""

    def __init__(self, database, failures):
        self.database, self.failures, self.tries = database, failures, 0

    @contextmanager
    def write(self):
        self.tries += 1
        if self.tries <= self.failures:
            raise OperationalError("a statement", {}, Exception("gone"))
        with self.database.write() as connection:
            yield connection


def writer_of(database, patience: float = 10.0) -> Writer:
    return Writer(database=database, changed=lambda _: None, patience=patience)


def test_all_that_waits_is_decided_before_the_end(database):
    writer = writer_of(database)
    waiting = [writer.submit(sent()) for _ in range(300)]
    writer.close()
    assert all(isinstance(one.exception(0), ProblemError) for one in waiting)
    assert {one.exception().name for one in waiting} == {"credential"}
    with pytest.raises(ProblemError, match="busy"):
        writer.submit(sent())


def test_uploads_share_transactions(database):
    counting = Failing(database, 0)
    writer = writer_of(counting)
    waiting = [writer.submit(sent()) for _ in range(300)]
    writer.close()
    assert len(waiting) == 300
    assert counting.tries < 100


def test_a_database_that_comes_back_is_waited_for(database, monkeypatch):
    monkeypatch.setattr(writer_module, "_PAUSE", 0.0)
    failing = Failing(database, 3)
    writer = writer_of(failing)
    assert writer.submit(sent()).exception(LONG).name == "credential"
    writer.close()
    assert failing.tries == 4


def test_one_that_fails_at_the_end_does_not_keep_the_server(database):
    writer = writer_of(Failing(database, 10**9), 10 * LONG)
    done = writer.submit(sent())
    ending = threading.Thread(target=writer.close, daemon=True)
    ending.start()
    ending.join(LONG)
    assert not ending.is_alive()
    assert done.exception().name == "unavailable"


def test_one_that_does_not_is_told_of(database):
    writer = writer_of(Failing(database, 10**9), 0.0)
    done = writer.submit(sent())
    writer.close()
    assert done.exception().name == "unavailable"


def test_a_client_that_went_away_changes_nothing_for_others(database):
    writer = writer_of(database)
    gone, stays = writer.submit(sent()), writer.submit(sent())
    gone.cancel()
    writer.close()
    assert stays.exception().name == "credential"


def test_a_server_that_ends_is_a_problem_over_http(start_server, monkeypatch):
    own = start_server()
    desk = new_desk(own)
    worker = desk.worker(desk.campaign(join_mode="open"))
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    monkeypatch.setattr(own.service.writer, "_closed", True)
    refused = worker.send(report)
    check_problem(refused, 503, "busy")
    assert refused.headers["retry-after"] == "1"
    monkeypatch.undo()
    assert worker.send(report).status_code == 200


@pytest.mark.slow
def test_no_upload_waits_longer_than_the_one_before_it(database, monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep)
    monkeypatch.setattr(writer_module, "time", clock)
    monkeypatch.setattr(writer_module, "_UPLOADS", 1)
    writer = writer_of(Failing(database, 10**9), 0.3)
    waiting = [writer.submit(sent()) for _ in range(100)]
    now[0] = 0.4  # one after the other, the second would wait on
    assert {one.exception(LONG).name for one in waiting} == {"unavailable"}
    writer.close()


def test_what_is_no_passing_failure_is_not_tried_again(database):
    class Wrong(Failing):
        @contextmanager
        def write(self):
            self.tries += 1
            raise ProgrammingError("a statement", {}, Exception("wrong"))
            yield

    wrong = Wrong(database, 0)
    writer = writer_of(wrong)
    assert writer.submit(sent()).exception(LONG).name == "internal"
    writer.close()
    assert wrong.tries == 1


@pytest.fixture
def quickly(monkeypatch):
    monkeypatch.setattr(writer_module, "_ERASE_EVERY", 0.05)
    monkeypatch.setattr(writer_module, "_ERASE_AGAIN", 0.05)


def add(database, name):
    with database.write() as connection:
        connection.execute(insert(requester), {"id": name.encode(), "name": name})


@pytest.mark.usefixtures("quickly")
def test_the_journal_is_emptied_again_and_again(database, tmp_path):
    journal = tmp_path / "q.db-wal"
    add(database, "before")
    eraser = JournalEraser(database=database)
    assert emptied(journal)
    add(database, "after")
    assert emptied(journal)
    eraser.close()


@pytest.mark.slow
@pytest.mark.usefixtures("quickly")
def test_it_is_emptied_once_nobody_reads(database, tmp_path, monkeypatch):
    journal, tries, empty = tmp_path / "q.db-wal", [], Database.empty_journal

    def try_to(self):
        tries.append(empty(self))
        return tries[-1]

    monkeypatch.setattr(Database, "empty_journal", try_to)
    eraser = JournalEraser(database=database)
    with database.read() as connection:
        connection.execute(select(requester.c.name)).all()
        add(database, "new")
        tries.clear()
        assert in_time(lambda: len(tries) > 1)
        assert journal.stat().st_size
    assert emptied(journal)
    eraser.close()


@pytest.mark.usefixtures("quickly")
def test_it_is_emptied_at_the_end(database, tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_ERASE_EVERY", 3600.0)
    eraser = JournalEraser(database=database)
    assert emptied(tmp_path / "q.db-wal")
    add(database, "last")
    eraser.close()
    assert not (tmp_path / "q.db-wal").stat().st_size


@pytest.mark.usefixtures("quickly")
def test_a_failure_is_logged_and_it_goes_on(database, tmp_path, monkeypatch):
    failures = [sqlite3.OperationalError("disk I/O error")] * 3
    told, empty = [], Database.empty_journal

    def failing(self):
        if failures:
            raise failures.pop()
        return empty(self)

    monkeypatch.setattr(Database, "empty_journal", failing)
    monkeypatch.setattr(writer_module, "log_failure", lambda *what: told.append(what))
    add(database, "new")
    eraser = JournalEraser(database=database)
    assert emptied(tmp_path / "q.db-wal")
    eraser.close()
    assert [event for event, _ in told] == ["eraser"] * 3


@pytest.mark.usefixtures("quickly")
def test_a_server_takes_out_who_joined_with_which_invite(start_server, tmp_path):
    desk = new_desk(start_server())
    campaign = desk.campaign()
    worker = desk.worker(campaign)
    assert emptied(tmp_path / "own0.db-wal")
    worker.client.delete("/me").raise_for_status()
    assert emptied(tmp_path / "own0.db-wal")
    assert bytes.fromhex(worker.id) not in (tmp_path / "own0.db").read_bytes()
