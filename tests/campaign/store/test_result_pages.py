import pytest
from sqlalchemy import insert
from tests.campaign.people import new_desk
from tests.nightly import nightly

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.result_pages import (
    FOR_OLDER,
    KINDS,
    ResultPage,
    put_pages,
    read_page,
    read_pages,
)

PAGES = [ResultPage(kind, number, f'["{kind} {number}"]') for kind in KINDS for number in range(40)]


@pytest.fixture
def campaign(server):
    found = bytes.fromhex(new_desk(server).campaign())
    row = {"campaign_id": found, "reports": 1, "erasures": 0, "etag": "e", "head": "{}"}
    row |= {"snapshot": FOR_OLDER, "pages_etag": "e"}
    with server.database.write() as connection:
        connection.execute(insert(tables.inference), row)
        put_pages(connection, found, iter(PAGES))
    return found


@pytest.mark.parametrize("most", [7, nightly(1), nightly(40), nightly(1_000)])
def test_pages_come_in_their_order(server, campaign, most):
    seen, after = [], ("", 0)
    with server.database.read() as connection:
        while block := read_pages(connection, campaign, KINDS, after, most):
            assert len(block) <= most
            seen += block
            after = block[-1][:2]
        workers = read_pages(connection, campaign, ["workers"], ("workers", 37), 9)
        one = read_page(connection, campaign, "truths", 39)
        beyond = read_page(connection, campaign, "truths", 40)
    assert seen == PAGES
    assert workers == PAGES[-2:]
    assert (one, beyond) == ('["truths 39"]', "[]")


def test_pages_replace_those_before(server, campaign):
    with server.database.write() as connection:
        put_pages(connection, campaign, PAGES[:1])
    with server.database.read() as connection:
        assert read_pages(connection, campaign, KINDS, ("", 0), 99) == PAGES[:1]


def test_pages_go_with_their_head(server, campaign):
    with server.database.write() as connection:
        connection.execute(
            tables.inference.delete().where(tables.inference.c.campaign_id == campaign)
        )
    with server.database.read() as connection:
        assert read_pages(connection, campaign, KINDS, ("", 0), 1) == []
