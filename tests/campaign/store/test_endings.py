"""A campaign whose ending failed is as it was, also for the next server that starts."""

import time
from contextlib import closing

import pytest
from attrs import evolve
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import delete_campaign
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures, trace_of
from quietcrowd.campaign.store.endings import keep_ending
from quietcrowd.campaign.store.replay import Replayed, replay
from quietcrowd.campaign.terms.tokens import new_id

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
