import pytest
from sqlalchemy import func, select
from tests.campaign.people import new_desk
from tests.campaign.statements import statements

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.participants import erase_named
from quietcrowd.campaign.store.withdrawals.journal import departure

NOBODY = "worker-0123456789abcdef"


def people(desk, campaign):
    """Return the pseudonyms of workers, by what became of them; three are shown together."""
    shown, other, _ = [desk.worker(campaign) for _ in range(3)]
    for worker in (shown, other, _):
        worker.send_values(1, 0)
    waiting, joined, gone = [desk.worker(campaign) for _ in range(3)]
    for worker in (waiting, gone):
        worker.send_values(1)
    everybody = {
        "shown": shown,
        "shown and left": other,
        "waiting": waiting,
        "joined": joined,
        "left": gone,
    }
    names = {
        what: worker.client.get("/me").json()["pseudonym"] for what, worker in everybody.items()
    }
    for worker in (other, gone):
        worker.client.delete("/me").raise_for_status()
    return {**names, "nobody": NOBODY}


def rows(database, table):
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(table))


@pytest.fixture
def running(server, start_server):
    """Return a server that keeps who left outside of its database; on PostgreSQL, within."""
    return start_server() if server.database.path is not None else server


@pytest.mark.grid
def test_the_same_is_written_for_who_is_there_who_has_left_and_who_never_was(running):
    desk = new_desk(running)
    campaign = desk.campaign(at_least=3, join_mode="open")
    database, service = running.database, running.service
    journal = service.departures.journal
    databases = [one for one in (database, journal) if one is not None]
    told = {}
    for what, name in people(desk, campaign).items():
        before = rows(database, tables.withdrawn)
        kept = journal and rows(journal, departure)
        with statements(*databases) as asked, database.write() as connection:
            changed = erase_named(connection, service.departures, bytes.fromhex(campaign), name)
        assert changed == (what == "shown")
        assert rows(database, tables.withdrawn) == before + 1
        assert journal is None or rows(journal, departure) == kept + 1
        told[what] = asked
    first = told["nobody"]
    assert len(first) > 6
    assert all(asked == first for asked in told.values())


@pytest.mark.grid
def test_to_erase_nobody_counts_nobody_out(running):
    desk = new_desk(running)
    for least in (1, 2):
        campaign = desk.campaign(at_least=least, join_mode="open", max_participants=2)
        worker, other = desk.worker(campaign), desk.worker(campaign)
        worker.send_values(1)
        other.send_values(1)
        before = desk.client.get(f"/campaigns/{campaign}").json()
        for _ in range(2):
            url = f"/campaigns/{campaign}/workers/{NOBODY}"
            assert desk.client.delete(url).status_code == 204
        assert desk.client.get(f"/campaigns/{campaign}").json() == before
        assert desk.join(desk.guest(campaign)).json()["type"].endswith(":full")
        assert worker.client.get("/me").json()["reports"] == 1
