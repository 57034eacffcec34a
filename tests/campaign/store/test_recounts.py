import pytest
from sqlalchemy import insert, select, update
from tests.campaign.older_databases import fill_older

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate, ready_database
from quietcrowd.campaign.store.recounts import recount

KEPT = ("tasks", "joined", "shown_participants", "shown_reports", "invites_made")


@pytest.fixture
def database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    with opened.write() as connection:
        connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
        for campaign, at_least in ((b"a", 1), (b"b", 5)):
            fill_older(connection, campaign, at_least=at_least)
    yield opened
    opened.close()


def kept(database):
    campaign = tables.campaign.c
    wanted = select(*(campaign[name] for name in KEPT)).order_by(campaign.id)
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(wanted)]


def test_what_older_servers_stored_is_counted(database):
    assert kept(database) == [(0,) * 5] * 2
    recount(database)
    assert kept(database) == [(2, 2, 2, 2, 4), (2, 2, 0, 0, 0)]


def test_a_server_counts_as_it_starts(database, new_database):
    with ready_database(Settings(database=new_database, departures="none")):
        assert kept(database) == [(2, 2, 2, 2, 4), (2, 2, 0, 0, 0)]


def test_what_releases_and_revocations_wrote_stays(database):
    with database.write() as connection:
        connection.execute(update(tables.campaign).values(invites_made=9, shown_reports=7))
        connection.execute(update(tables.invite).values(revoked=1))
    recount(database)
    assert kept(database) == [(2, 2, 2, 2, 9), (2, 2, 0, 7, 9)]
