import sqlite3
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from attrs import evolve
from sqlalchemy import insert, select
from sqlalchemy.exc import OperationalError, ProgrammingError
from tests.campaign.journals import emptied
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import Upload
from quietcrowd.campaign.server import writer
from quietcrowd.campaign.server import writer as writer_module
from quietcrowd.campaign.server.writer import JournalEraser, RetentionKeeper, Writer
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import MOST_DAYS, confirm_clock
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


def writer_of(database, patience: float = LONG) -> Writer:
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


DAY = 86_400


def test_a_server_deletes_what_is_over_while_it_runs(start_server, monkeypatch):
    monkeypatch.setattr(writer, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(retention_days=2)
    desk.worker(campaign).send_values(1)
    journal = server.service.departures.journal
    server.app.state.service = evolve(server.service, clock=lambda: 1_000.0)
    confirm_clock(1_000.0, server.database, journal)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    confirm_clock(time.time(), server.database, journal)
    url = f"/campaigns/{campaign}"  # closed in 1970
    assert in_time(lambda: desk.client.get(url).json()["participants"] == 0)
    assert desk.client.get("/readyz").is_success


def test_who_keeps_truths_is_told_and_a_lost_database_is_tried_again(start_server, monkeypatch):
    monkeypatch.setattr(writer, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(retention_days=2)
    desk.worker(campaign).send_values(1)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    told, times = [], [0.0]

    def clock():
        return times[0]

    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=clock,
        changed=told.append,
    )
    failing = [True]
    look = writer.some_expired

    def some_expired(connection, now):
        if failing.pop() if failing else False:
            raise writer.UNAVAILABLE[2]("", {}, Exception("gone"))
        return look(connection, now)

    monkeypatch.setattr(writer, "some_expired", some_expired)
    assert in_time(lambda: not failing)
    assert keeper.alive
    assert told == []
    confirm_clock(4e9, server.database, server.service.departures.journal)
    times[0] = 4e9
    assert in_time(lambda: told == [bytes.fromhex(campaign)])
    keeper.close()
    assert not keeper.alive


def test_a_server_closes_a_campaign_when_its_day_is_over(start_server, monkeypatch):
    monkeypatch.setattr(writer, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(closes_on="2099-12-31", at_least=2)
    told = []
    confirm_clock(4_102_444_800.0, server.database, server.service.departures.journal)
    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=lambda: 4_102_444_800.0,
        changed=told.append,
    )
    assert in_time(lambda: told == [bytes.fromhex(campaign)])
    keeper.close()
    assert desk.client.get(f"/campaigns/{campaign}").json()["state"] == "closed"
    assert desk.client.get("/readyz").is_success


@pytest.mark.nightly
def test_one_wrong_reading_of_the_clock_deletes_nothing(start_server, monkeypatch):
    """Before, the first look 200 days ahead deleted 2 workers and closed the open campaign."""
    monkeypatch.setattr(writer, "_EVERY", 0.02)
    server = start_server()
    desk = new_desk(server)
    over, due = desk.campaign(retention_days=30), desk.campaign(closes_on="2100-01-01")
    for one in (over, due):
        desk.worker(one).send_values(1)
    journal = server.service.departures.journal
    start = 4_102_444_800.0  # 2100
    server.app.state.service = evolve(server.service, clock=lambda: start)
    confirm_clock(start, server.database, journal)
    desk.client.post(f"/campaigns/{over}/close").raise_for_status()

    def look(days):
        now = start + days * DAY
        server.app.state.service = evolve(server.service, clock=lambda: now)
        keeper = RetentionKeeper(
            database=server.database,
            departures=server.service.departures,
            clock=lambda: now,
            changed=lambda _: None,
        )
        keeper.look()
        keeper.close()  # after two looks, one of its own
        found = [desk.client.get(f"/campaigns/{one}").json() for one in (over, due)]
        [closed, opened] = found
        ready = desk.client.get("/readyz").raise_for_status().json()
        return closed["participants"], opened["state"], ready.get("clock")

    for days in (200, -200, 31 + MOST_DAYS):
        assert look(days) == (1, "open", "held")
    assert look(0.5) == (1, "open", None)
    for days in (3, 10, 17, 24):
        assert look(days) == (1, "closed", None)
    assert look(31) == (0, "closed", None)


@pytest.mark.parametrize("days", [-400, 0, 200])
def test_retention_is_counted_from_the_right_day_while_the_clock_is_wrong(server, desk, days):
    """Before, all of workers went at once, or 200 days later than was promised."""
    campaign = desk.campaign(retention_days=30)
    before = server.service
    server.app.state.service = evolve(before, clock=lambda: time.time() + days * DAY)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    server.app.state.service = before
    wanted = select(tables.campaign.c.delete_at).where(
        tables.campaign.c.id == bytes.fromhex(campaign)
    )
    with server.database.read() as connection:
        end = connection.scalar(wanted)
    assert 28 * DAY < end - time.time() <= 31 * DAY  # a held clock counts from midnight


def test_a_look_finds_damage_that_no_request_meets(start_server, monkeypatch):
    server = start_server()
    keeper = RetentionKeeper(
        database=server.database,
        departures=server.service.departures,
        clock=time.time,
        changed=lambda _: None,
    )
    keeper.close()

    def find_damage(database):
        if threading.current_thread() is threading.main_thread():  # the server looks, too
            database.damage = "SQLITE_CORRUPT"

    monkeypatch.setattr(Database, "is_intact", find_damage)
    assert server.client().get("/readyz").status_code == 200
    keeper._checked = None
    keeper.look()
    check_problem(server.client().get("/readyz"), 503, "damaged")


@pytest.mark.parametrize(("now", "pause"), [(5, 60.0), (DAY - 5, 5.0), (3 * DAY, 60.0)])
def test_a_look_is_not_later_than_midnight(now, pause):
    assert writer._pause(now) == pause
