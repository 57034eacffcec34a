import pytest
from sqlalchemy import select
from tests.campaign.people import check_problem

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import (
    Shown,
    find_shown,
    issue_key,
    key_state,
    known_among,
)
from quietcrowd.campaign.terms.tokens import new_token, token_hash
from quietcrowd.exceptions import ParameterError


def test_keys_of_one_name_are_one_requesters(server, desk):
    campaign = desk.draft()["id"]
    name = "twice"
    first, second = (server.client(issue_key(server.database, name)) for _ in range(2))
    made = first.post(
        "/campaigns", json={"title": "t", "mechanism": desk.draft()["mechanism"]}
    ).json()["id"]
    assert second.get(f"/campaigns/{made}").status_code == 200
    check_problem(second.get(f"/campaigns/{campaign}"), 404, "not-found")


def test_replacing_ends_all_earlier_keys(server):
    old = server.client(issue_key(server.database, "replaced"))
    assert old.get("/campaigns").status_code == 200
    new = server.client(issue_key(server.database, "replaced", replace=True))
    check_problem(old.get("/campaigns"), 401, "key-revoked")
    assert new.get("/campaigns").status_code == 200


def test_of_a_key_its_hash_and_its_last_four_characters_are_stored(server):
    key = issue_key(server.database, "stored", expires_at=4_000_000_000)
    with server.database.read() as connection:
        [row] = connection.execute(
            select(tables.api_key).where(tables.api_key.c.token_sha256 == token_hash(key))
        )
    assert (row.last4, row.expires_at, row.revoked) == (key[-4:], 4_000_000_000, 0)
    assert key_state(row, 3_999_999_999.9) == "valid"
    assert key_state(row, 4_000_000_000.0) == "expired"


@pytest.mark.parametrize("name", ["", "  ", "a\0b", 7, "\ud800"])
def test_a_requester_has_a_name(server, name):
    with pytest.raises(ParameterError):
        issue_key(server.database, name)


def test_of_many_those_are_told_that_there_are(server, desk):
    closed, opened = desk.campaign(), desk.campaign(join_mode="open")
    worker = desk.worker(opened)
    here, there = (bytes.fromhex(campaign) for campaign in (closed, opened))
    known = {
        Shown("key", token_hash(desk.key)),
        Shown("code", token_hash(desk.code(closed))),
        Shown("token", token_hash(desk.token(closed))),
        Shown("credential", token_hash(worker.credential)),
        *(Shown("campaign", one) for one in (here, there)),
    }
    unknown = {
        Shown("key", token_hash(worker.credential)),
        *(Shown(kind, token_hash(desk.key)) for kind in ("code", "token")),
        Shown("credential", token_hash(desk.key)),
        Shown("campaign", bytes.fromhex(desk.draft()["id"])),
        Shown("campaign", b"\0" * 16),
        *(Shown("credential", token_hash(new_token("qcw_"))) for _ in range(300)),
    }
    with server.database.read() as connection:
        assert known_among(connection, known | unknown) == known
        assert known_among(connection, unknown) == known_among(connection, set()) == set()
        for one in known:
            assert known_among(connection, {one}) == {one}


def test_who_has_withdrawn_is_not_known(server, desk):
    worker = desk.worker(desk.campaign())
    worker.client.delete("/me").raise_for_status()
    shown = {Shown("credential", token_hash(worker.credential))}
    with server.database.read() as connection:
        assert known_among(connection, shown) == set()


def test_what_is_shown_is_found_by_its_hash_and_its_form(server, desk, monkeypatch):
    keys = tables.api_key
    wanted = select(keys).where(keys.c.revoked == 0)

    def find(token, prefix):
        return find_shown(server.database, keys, wanted, token, prefix)

    assert find(desk.key, "qck_").token_sha256 == token_hash(desk.key)
    assert find(new_token("qck_"), "qck_") is None
    monkeypatch.setattr(type(server.database), "read", None)
    for token, prefix in ((desk.key, "qcr_"), (f"{desk.key}a", "qck_"), ("", "qck_")):
        assert find(token, prefix) is None
