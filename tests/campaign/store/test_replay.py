"""Nobody comes back with a copy: of SQLite by `admin backup`, of PostgreSQL by pg_dump."""

import signal
import sys
import time
from contextlib import closing

import pytest
from attrs import evolve
from sqlalchemy import select
from tests.campaign.older_databases import rows_of
from tests.campaign.people import Running, check_problem, new_desk
from tests.campaign.ports import free_port
from tests.campaign.postgresql import find_programs
from tests.campaign.server_process import base_url, wait_until_ready
from tests.nightly import nightly
from tests.programs import finished, running

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import confirm_clock
from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate, ready_database
from quietcrowd.campaign.store.replay import Replayed, replay
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of
from quietcrowd.campaign.terms.tokens import withdrawn_hash

pytestmark = pytest.mark.slow

YEARS = 4_000 * 86_400


@pytest.fixture
def settings(new_database, tmp_path):
    return Settings(
        database=new_database,
        withdrawal_log=f"sqlite:///{tmp_path}/who left.db",
        infer=False,
        requests_per_second=0,
        joins_per_minute=0,
    )


@pytest.fixture
def serve(settings):
    """Return what starts a server of a database."""
    started = []

    def start(**changed):
        started.append(Running(settings.model_copy(update=changed)).start())
        return started[-1]

    yield start
    for one in started:
        one.stop()


def copied(settings, tmp_path):
    database = Database.open(settings.database)
    copy = tmp_path / "the copy"
    copy_to(database, copy)
    database.close()
    return copy


def put_back(settings, copy, request):
    """Return settings with a database that is what the copy holds."""
    if settings.database.startswith("sqlite"):
        restore(copy, settings.model_copy(update={"withdrawal_log": "none"}), time.time())
        return settings
    url = request.getfixturevalue("postgresql_server").new_database()
    finished(find_programs() / "pg_restore", "--no-owner", "-d", url, copy, check=True)
    return settings.model_copy(update={"database": url})


def workers(database, campaign):
    with database.read() as connection:
        person = tables.participant.c
        wanted = select(person.id).where(person.campaign_id == bytes.fromhex(campaign))
        return {one.hex() for one in connection.scalars(wanted)}


@pytest.mark.nightly
def test_who_left_does_not_come_back(serve, settings, tmp_path, request):
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    stays, leaves = desk.worker(campaign), desk.worker(campaign)
    for one in (stays, leaves):
        one.send_values(1, 0)
    copy = copied(settings, tmp_path)
    later = desk.worker(campaign)
    for one in (leaves, later):
        assert one.client.delete("/me").status_code == 204
    server.stop()
    restored = put_back(settings, copy, request)
    opened = Database.open(restored.database)
    assert workers(opened, campaign) == {stays.id, leaves.id}
    opened.close()
    again = serve(database=restored.database)
    assert workers(again.database, campaign) == {stays.id}
    assert {row["participant_id"].hex() for row in rows_of(again.database)["report"]} == {stays.id}
    held = new_desk(again)
    held.client.headers["Authorization"] = f"Bearer {desk.key}"
    assert held.client.get(f"/campaigns/{campaign}").json()["reports"] == 2
    for one in (leaves, later):
        again_one = again.client(one.credential)
        assert again_one.get("/me").status_code == 401
        joined = again_one.put(
            f"/public/campaigns/{campaign}/participants/{one.id}",
            json={"config_hash": one.config_hash},
        )
        check_problem(joined, 409, "withdrawn")


@pytest.mark.nightly
def test_what_ended_does_not_come_back(serve, settings, tmp_path, request):
    """Of campaigns that were deleted or closed, whatever the copy knows of them."""
    server = serve()
    desk = new_desk(server)
    deleted, closed, over = (desk.campaign(join_mode="open", at_least=1) for _ in range(3))
    waits = desk.campaign(join_mode="open", at_least=2)
    draft = desk.draft()["id"]
    desk.import_csv(draft, "task\na").raise_for_status()
    for campaign in (deleted, closed, over, waits):
        desk.worker(campaign).send_values(1)
    copy = copied(settings, tmp_path)
    desk.client.delete(f"/campaigns/{deleted}").raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for campaign in (closed, waits, draft):
        desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    far, journal = time.time() - YEARS, server.service.departures.journal
    server.app.state.service = evolve(server.service, clock=lambda: far)
    confirm_clock(far, server.database, journal)
    desk.client.post(f"/campaigns/{over}/close").raise_for_status()
    confirm_clock(time.time(), server.database, journal)
    server.stop()
    restored = put_back(settings, copy, request)
    again = serve(database=restored.database)
    client = again.client(desk.key)
    assert client.get(f"/campaigns/{deleted}").status_code == 404
    states = {
        one: client.get(f"/campaigns/{one}").json()["state"] for one in (closed, over, waits, draft)
    }
    assert states == {closed: "closed", over: "closed", waits: "closed", draft: "draft"}
    assert len(workers(again.database, closed)) == 1
    assert workers(again.database, over) == set()
    refused = client.post(f"/campaigns/{draft}/open")
    assert "Create a new campaign" in check_problem(refused, 409, "bad-state")["detail"]
    [kept] = [
        one["delete_at"] for one in rows_of(again.database)["campaign"] if one["id"].hex() == closed
    ]
    assert kept > time.time()


def test_where_all_is_done_nothing_is_changed(serve, settings):
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    desk.worker(campaign).client.delete("/me").raise_for_status()
    before = rows_of(server.database)
    with closing(Departures.open(settings)) as departures:
        done = replay(server.database, departures, time.time())
    assert done == Replayed(workers=0, deleted=0, closed=0)
    assert rows_of(server.database) == before


def test_closings_from_before_are_kept_too(serve, settings, tmp_path, request):
    """A database that was served without knows itself which of its campaigns are closed."""
    server = serve(withdrawal_log="none")
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open")
    copy = copied(settings, tmp_path)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    server.stop()
    with ready_database(settings):
        pass
    restored = put_back(settings, copy, request)
    again = serve(database=restored.database)
    assert again.client(desk.key).get(f"/campaigns/{campaign}").json()["state"] == "closed"


def test_entries_of_workers_go_when_their_campaign_is_over(serve, settings):
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).client.delete("/me").raise_for_status()
    with closing(Departures.open(settings)) as departures:
        assert departures.campaigns_left() == {trace_of(bytes.fromhex(campaign))}
        desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
        replay(server.database, departures, time.time() + YEARS)
        assert departures.campaigns_left() == set()
        assert departures.ended(bytes.fromhex(campaign))


def test_what_cannot_be_kept_is_not_confirmed(serve):
    """The worker is told to try again later, and so is a requester; nothing was deleted."""
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    worker = desk.worker(campaign)
    worker.send_values(1)
    before = rows_of(server.database)
    journal = server.service.departures.journal
    with journal.write() as connection:
        for table in ("departure", "ending"):
            connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {table}_away")
    for request in (
        lambda: worker.client.delete("/me"),
        lambda: desk.client.post(f"/campaigns/{campaign}/close"),
        lambda: desk.client.delete(f"/campaigns/{campaign}"),
    ):
        check_problem(request(), 503, "unavailable")
    assert rows_of(server.database) == before
    with journal.write() as connection:
        for table in ("departure", "ending"):
            connection.exec_driver_sql(f"ALTER TABLE {table}_away RENAME TO {table}")
    assert worker.client.delete("/me").status_code == 204


KILLED = """
import os, signal, sys
from quietcrowd.campaign.server.api import participants
from quietcrowd.campaign.server.app import serve
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of
from quietcrowd.campaign.server.settings import Settings

database, departures, port, moment = sys.argv[1:]
leave, erase, withdraw = Departures.leave, participants.erase_participant, participants.withdraw

def die(*_, **__):
    signal.raise_signal(signal.SIGKILL)

if moment == "before the journal":
    Departures.leave = die
if moment == "between":
    participants.erase_participant = die
if moment == "before the answer":
    from contextlib import contextmanager
    from quietcrowd.campaign.store.database import Database
    write = Database.write

    @contextmanager
    def and_die(self):
        with write(self) as connection:
            yield connection
            left = hasattr(self, "url") and "departed" in done
        if left:
            die()

    done = set()

    def erase_and_tell(*words, **options):
        done.add("departed")
        return erase(*words, **options)

    participants.erase_participant = erase_and_tell
    Database.write = and_die
settings = Settings(database=database, withdrawal_log=departures, port=int(port), infer=False)
serve(settings)
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "moment", [nightly("before the journal"), "between", nightly("before the answer")]
)
def test_killed_at_any_moment_who_was_told_stays_away(serve, settings, tmp_path, request, moment):
    """Whoever was not told either stays with all reports, or left for good."""
    server = serve()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    told, asks = desk.worker(campaign), desk.worker(campaign)
    for one in (told, asks):
        one.send_values(1, 1)
    copy = copied(settings, tmp_path)
    told.client.delete("/me").raise_for_status()
    server.stop()
    port = free_port()
    words = (sys.executable, "-c", KILLED, settings.database, settings.withdrawal_log, port, moment)
    with running(*words) as killed:
        wait_until_ready(base_url(port), lambda: not killed.has_ended)
        client = Running(settings, url=f"http://127.0.0.1:{port}").client(asks.credential)
        with pytest.raises(Exception, match=r"disconnect|reset|closed"):
            client.delete("/me")
        client.close()
        assert killed.finished().status == -signal.SIGKILL
    expected = {asks.id} if moment == "before the journal" else set()
    again = serve()
    assert workers(again.database, campaign) == expected
    assert {row["participant_id"].hex() for row in rows_of(again.database)["report"]} == expected
    again.stop()
    restored = put_back(settings, copy, request)
    last = serve(database=restored.database)
    assert workers(last.database, campaign) == expected
    if expected:
        assert last.client(asks.credential).delete("/me").status_code == 204


@pytest.mark.nightly
def test_servers_replay_beside_each_other(postgresql_server):
    """One starts while another lets workers leave: nobody leaves twice, and no request fails."""
    url, other = postgresql_server.new_database(), postgresql_server.new_database()
    settings = Settings(database=url, withdrawal_log=other, infer=False, requests_per_second=0)
    opened = Database.open(url)
    migrate(opened)
    server = Running(settings).start()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    crowd = [desk.worker(campaign) for _ in range(10)]
    with closing(Departures.open(settings)) as departures:
        for one in crowd:
            one.send_values(1)
            kept = withdrawn_hash(one.credential)
            departures.leave(bytes.fromhex(campaign), bytes.fromhex(one.id), kept)
        assert replay(opened, departures, time.time()).workers == 10
        assert replay(opened, departures, time.time()).workers == 0
    beside = Running(settings).start()
    assert workers(beside.database, campaign) == set()
    for one in (beside, server):
        one.stop()
    opened.close()
