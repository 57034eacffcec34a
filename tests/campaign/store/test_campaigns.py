"""Deleting a campaign while workers send and leave."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from attrs import evolve
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError
from tests.campaign.people import Running, check_problem, new_desk
from tests.campaign.pictures import PNG
from tests.campaign.waiting import in_time

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import (
    close_campaign,
    close_due,
    day_of,
    delete_campaign,
    delete_expired,
    due_campaigns,
    keep_ending,
    some_expired,
)
from quietcrowd.campaign.store.clock import confirm_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.replay import Replayed, replay
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of
from quietcrowd.campaign.terms.tokens import new_id

WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")


@pytest.fixture(scope="module")
def server(postgresql_server):
    settings = Settings(
        database=postgresql_server.url, infer=False, requests_per_second=0, joins_per_minute=0
    )
    running = Running(settings).start()
    yield running
    running.stop()


def wait_for_one(database):
    """Wait until somebody waits for a lock."""

    def somebody_waits():
        with database.read() as connection:
            return connection.scalar(WAITING)

    assert in_time(somebody_waits)


@pytest.mark.parametrize("request_", ["upload", "withdrawal", "joining"])
def test_who_comes_while_a_campaign_is_deleted_waits_and_holds_nothing(server, request_):
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    ask = {
        "upload": lambda: worker.send(report),
        "withdrawal": lambda: worker.client.delete("/me"),
        "joining": lambda: desk.join(worker),
    }[request_]
    row = tables.campaign.c.id == bytes.fromhex(campaign)
    mine = tables.participant.c.campaign_id == bytes.fromhex(campaign)
    with ThreadPoolExecutor(1) as pool, server.database.write() as connection:
        connection.execute(select(tables.campaign).where(row).with_for_update())
        answer = pool.submit(ask)
        wait_for_one(server.database)
        connection.execute(select(tables.participant).where(mine).with_for_update(nowait=True))
        delete_campaign(connection, bytes.fromhex(campaign))
    if request_ == "joining":
        check_problem(answer.result(), 404, "not-found")
    else:
        check_problem(answer.result(), 401, "credential")


DAY = 86_400
CLOSED = 1_700_000_000.5
OF_WORKERS = (
    tables.report,
    tables.participant,
    tables.withdrawn,
    tables.invite,
    tables.inference,
    tables.image,
)


@pytest.fixture(autouse=True)
def clock(server):
    """Close campaigns at a time of the tests' own."""
    before = server.service
    server.app.state.service = evolve(before, clock=lambda: CLOSED)
    confirm_clock(CLOSED, server.database, before.departures.journal)
    yield
    confirm_clock(time.time(), server.database, before.departures.journal)
    server.app.state.service = before


def held(server, campaign):
    """Return how much of workers a campaign has, by table."""
    with server.database.read() as connection:
        return [
            connection.scalar(
                select(func.count())
                .select_from(table)
                .where(table.c.campaign_id == bytes.fromhex(campaign))
            )
            for table in OF_WORKERS
        ]


def over(server, now):
    with server.database.write() as connection:
        some = some_expired(connection, now)
        found = delete_expired(connection, now)
    assert some == bool(found)
    return [one.hex() for one in found]


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.parametrize("least", [1, 2])
def test_all_of_workers_is_deleted_so_many_days_after_closing(server, desk, least):
    method = qc.MajorityVote().to_dict()
    campaign = desk.campaign(retention_days=30, at_least=least, method=method, image=PNG)
    other = desk.campaign(retention_days=31, at_least=least)
    for one in (campaign, other):
        workers = [desk.worker(one) for _ in range(4)]
        for worker in workers:
            worker.send_values(1, 0)
        workers[0].client.delete("/me").raise_for_status()
        revoked = {"invite": desk.invite(one)[0]}
        desk.client.post(f"/campaigns/{one}/close").raise_for_status()
        assert held(server, one)[3] == 0
        desk.client.post(f"/campaigns/{one}/invites/revoke", json=revoked).raise_for_status()
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert held(server, campaign) == [6, 3, 1, 1, 1, 1]
    end = int(CLOSED) + 30 * DAY
    assert over(server, end - 1) == []
    assert held(server, campaign) == [6, 3, 1, 1, 1, 1]
    assert over(server, end) == [campaign]
    assert over(server, end) == []
    assert held(server, campaign) == [0] * 6
    assert held(server, other) == [6, 3, 1, 1, 0, 0]
    check_problem(workers[0].client.get("/me"), 401, "credential")
    document = desk.client.get(f"/campaigns/{campaign}").json()
    assert (document["participants"], document["reports"], document["tasks"]) == (0, 0, 4)
    assert desk.client.get(f"/campaigns/{campaign}/invites").json() == {"invites": 0, "used": 0}
    refused = check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")
    assert "deleted 30 days after the campaign closed" in refused["detail"]
    assert not Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert over(server, end + DAY) == [other]


def test_an_open_campaign_keeps_what_it_has(server, desk):
    campaign = desk.campaign(retention_days=1)
    desk.worker(campaign).send_values(1)
    assert campaign not in over(server, CLOSED + 10_000 * DAY)
    assert held(server, campaign)[0] == 1


NOTHING = Replayed(workers=0, deleted=0, closed=0)


@pytest.fixture
def departures(tmp_path):
    with closing(Departures.open(Settings(database=f"sqlite:///{tmp_path}/q.db"))) as opened:
        yield opened


class Trouble:
    """What goes wrong: before a commit, in it, or after it was done and before that is told."""

    def __init__(self, database, monkeypatch, moment):
        self.dialect, self.monkeypatch, self.moment = database.engine.dialect, monkeypatch, moment
        self.commit = self.dialect.do_commit

    def strike(self):
        if self.moment == "before":
            raise OSError("the disk is full")
        self.monkeypatch.setattr(self.dialect, "do_commit", self.fail)

    def fail(self, connection):
        self.monkeypatch.setattr(self.dialect, "do_commit", self.commit)
        if self.moment == "after":
            self.commit(connection)
        raise OperationalError("COMMIT", None, Exception("the disk is full"))


def delete(database, departures, campaign, trouble):
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with database.write() as connection:
        row = connection.execute(wanted.with_for_update()).one()
        keep_ending(connection, departures, row, "deleted")
        assert departures.ending_of(campaign).kind == "deleted"
        delete_campaign(connection, campaign)
        trouble.strike()


@pytest.mark.grid
@pytest.mark.parametrize("moment", ["before", "in", "after"])
@pytest.mark.parametrize("state", ["draft", "open", "closed"])
def test_a_deletion_that_fails_is_taken_back(server, desk, departures, monkeypatch, state, moment):
    campaign = bytes.fromhex(desk.draft()["id"] if state == "draft" else desk.campaign())
    worker = new_id()
    departures.leave(campaign, worker, bytes(32))
    if state == "closed":
        desk.client.post(f"/campaigns/{campaign.hex()}/close").raise_for_status()
        departures.end(campaign, "closed", 4_102_444_800)
        set_end(server.database, campaign, 4_102_444_800)
    before = departures.ending_of(campaign)
    trouble = Trouble(server.database, monkeypatch, moment)
    with pytest.raises((OSError, OperationalError), match="disk is full"):
        delete(server.database, departures, campaign, trouble)
    assert departures.left(campaign, [worker]) == {worker: bytes(32)}
    if moment == "after":
        assert departures.ending_of(campaign).kind == "deleted"
    else:
        assert departures.ending_of(campaign) == before
        assert replay(server.database, departures, time.time()).deleted == 0
        assert exists(server.database, campaign)


def set_end(database, campaign, moment):
    changed = tables.campaign.update().where(tables.campaign.c.id == campaign)
    with database.write() as connection:
        connection.execute(changed.values(delete_at=moment))


def exists(database, campaign):
    with database.read() as connection:
        wanted = select(tables.campaign.c.id).where(tables.campaign.c.id == campaign)
        return connection.scalar(wanted) == campaign


@pytest.fixture
def kept(server, departures):
    """Return where the server keeps who left."""
    before = server.service
    server.app.state.service = evolve(before, departures=departures)
    yield departures
    server.app.state.service = before


def test_a_requester_who_is_told_that_it_failed_finds_the_campaign(server, desk, kept, monkeypatch):
    campaign = desk.campaign()
    trouble = Trouble(server.database, monkeypatch, "in")
    trouble.strike()
    assert desk.client.delete(f"/campaigns/{campaign}").status_code == 503
    assert not kept.ended(bytes.fromhex(campaign))
    assert desk.client.delete(f"/campaigns/{campaign}").status_code == 204
    assert kept.ended(bytes.fromhex(campaign))


def test_entries_of_workers_go_once_their_campaign_is_deleted(desk, kept):
    campaign = desk.campaign()
    desk.worker(campaign).client.delete("/me").raise_for_status()
    trace = trace_of(bytes.fromhex(campaign))
    assert trace in kept.campaigns_left()
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    assert trace not in kept.campaigns_left()
    assert kept.ended(bytes.fromhex(campaign))


def test_what_another_server_takes_back_meanwhile_is_not_done_again(
    server, desk, departures, monkeypatch
):
    campaign = bytes.fromhex(desk.campaign())
    departures.end(campaign, "deleted")
    endings = departures.endings()
    departures.take_back(campaign)
    monkeypatch.setattr(Departures, "endings", lambda _: endings)
    assert replay(server.database, departures, time.time()) == NOTHING
    assert exists(server.database, campaign)


def test_where_the_database_is_lost_what_did_not_commit_is_taken_back(
    server, desk, departures, monkeypatch
):
    campaign = bytes.fromhex(desk.campaign())
    write = Database.write

    def lose(database):
        monkeypatch.setattr(
            Database, "write", lambda one: lost() if one is database else write(one)
        )
        raise OSError("the disk is full")

    def lost():
        raise OperationalError("BEGIN", None, Exception("nobody there"))

    trouble = Trouble(server.database, monkeypatch, "before")
    trouble.strike = lambda: lose(server.database)
    with pytest.raises(OSError, match="disk is full"):
        delete(server.database, departures, campaign, trouble)
    monkeypatch.undo()
    assert not departures.ended(campaign)


NEW_YEAR = 4_102_444_800.0
"""2100-01-01 00:00, in UTC."""

MAJORITY = qc.MajorityVote().to_dict()


def close_all(server, now):
    """Close what is due; return which campaigns, and of which results may be others."""
    with server.database.read() as connection:
        due = due_campaigns(connection, now)
    changed, departures = [], server.service.departures
    for campaign in due:
        with server.database.write() as connection:
            if close_due(connection, departures, campaign, now):
                changed.append(campaign.hex())
            assert not close_due(connection, departures, campaign, now)
    return {one.hex() for one in due}, changed


def test_a_day_is_one_in_utc():
    assert day_of(NEW_YEAR) == "2100-01-01"
    assert day_of(NEW_YEAR - 0.001) == "2099-12-31"


@pytest.mark.grid
@pytest.mark.parametrize("least", [1, 3])
def test_a_campaign_closes_when_its_last_day_is_over(server, desk, least):
    members = {"at_least": least, "method": MAJORITY, "retention_days": 1}
    campaign, later, never = (
        desk.campaign(closes_on=day, **members) for day in ("2099-12-31", "2100-01-01", None)
    )
    draft = desk.draft(closes_on="2099-12-31")["id"]
    workers = [desk.worker(campaign) for _ in range(4)]
    for worker in workers:
        worker.send_values(1)
    assert close_all(server, NEW_YEAR - 1) == (set(), [])
    due, changed = close_all(server, NEW_YEAR)
    assert due == {campaign}
    assert changed == ([campaign] if least > 1 else [])
    states = [
        desk.client.get(f"/campaigns/{one}").json()["state"]
        for one in (campaign, later, never, draft)
    ]
    assert states == ["closed", "open", "open", "draft"]
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    shown = 4 if least == 1 else 3
    assert desk.client.get(f"/campaigns/{campaign}/results").json()["participants"] == shown
    assert workers[0].send(workers[0].report("0" * 32, 1)).is_success
    assert close_all(server, NEW_YEAR) == (set(), [])
    desk.client.delete(f"/campaigns/{later}").raise_for_status()


def close(server, departures, campaign, problem=None):
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with server.database.write() as connection:
        close_campaign(connection, departures, connection.execute(wanted).one(), NEW_YEAR)
        assert departures.ended(campaign)
        if problem is not None:
            raise problem


def test_a_closing_that_fails_is_taken_back(server, desk, tmp_path):
    """Else a start of the server after the retention would delete what came meanwhile."""
    campaign = bytes.fromhex(desk.campaign(retention_days=1))
    departures = Departures.open(Settings(database=f"sqlite:///{tmp_path}/q.db"))
    with pytest.raises(OSError, match="full"):
        close(server, departures, campaign, OSError("the disk is full"))
    assert not departures.ended(campaign)
    close(server, departures, campaign)
    with server.database.write():
        pass
    assert departures.ended(campaign)
    departures.close()
