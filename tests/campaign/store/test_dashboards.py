import pytest
from sqlalchemy import func, select
from tests.campaign.people import new_desk

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.dashboards import (
    delete_ended,
    exchange_code,
    issue_code,
    reader_of,
    some_ended,
)
from quietcrowd.campaign.store.requesters import requester_of, revoke_keys
from quietcrowd.campaign.terms.tokens import token_hash

TABLES = (tables.dashboard_code, tables.dashboard_token)


@pytest.fixture
def own(start_server):
    """Return a requester of a new server, and a campaign."""
    desk = new_desk(start_server())
    return desk, desk.draft()["id"]


def code_at(desk, campaign, now):
    database = desk.server.database
    holder = requester_of(database, desk.key, now)
    with database.write() as connection:
        return holder, issue_code(connection, holder, bytes.fromhex(campaign), now)


def counts(database):
    with database.read() as connection:
        return [connection.scalar(select(func.count()).select_from(one)) for one in TABLES]


def test_hashes_are_stored_and_what_was_used_is_deleted(own):
    desk, campaign = own
    database = desk.server.database
    _, code = code_at(desk, campaign, 1_000.0)
    with database.read() as connection:
        [row] = connection.execute(select(tables.dashboard_code)).all()
    assert (row.token_sha256, row.expires_at) == (token_hash(code), 1_600)
    token, _ = exchange_code(database, campaign, code, 1_001.0)
    assert counts(database) == [0, 1]
    with database.read() as connection:
        [row] = connection.execute(select(tables.dashboard_token)).all()
    assert row.token_sha256 == token_hash(token)
    assert reader_of(database, token, 1_002.0).only.hex() == campaign


def test_a_code_that_comes_too_late_is_deleted_all_the_same(own):
    desk, campaign = own
    _, code = code_at(desk, campaign, 1_000.0)
    with pytest.raises(ProblemError, match="code-invalid"):
        exchange_code(desk.server.database, campaign, code, 1_600.0)
    assert counts(desk.server.database) == [0, 0]


def test_what_has_ended_is_deleted(own):
    desk, campaign = own
    database = desk.server.database
    _, first = code_at(desk, campaign, 1_000.0)
    exchange_code(database, campaign, first, 1_000.0)
    code_at(desk, campaign, 1_000.0)
    code_at(desk, campaign, 2_000.0)
    for now, ended, left in (
        (1_599, False, [2, 1]),
        (1_600, True, [1, 1]),
        (44_199, True, [0, 1]),
        (44_200, True, [0, 0]),
    ):
        with database.write() as connection:
            assert some_ended(connection, now) == ended
            delete_ended(connection, now)
            assert not some_ended(connection, now)
        assert counts(database) == left


def test_what_a_revoked_key_makes_in_that_moment_reads_nothing(own):
    desk, campaign = own
    database = desk.server.database
    holder = requester_of(database, desk.key, 1_000.0)
    with database.write() as connection:
        revoke_keys(connection, [holder.key_hash])
        code = issue_code(connection, holder, bytes.fromhex(campaign), 1_000.0)
    token, _ = exchange_code(database, campaign, code, 1_001.0)
    with pytest.raises(ProblemError, match="code-invalid"):
        reader_of(database, token, 1_002.0)
