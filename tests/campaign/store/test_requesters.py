import pytest
from sqlalchemy import select
from tests.campaign.people import check_problem

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import issue_key, key_state
from quietcrowd.campaign.terms.tokens import token_hash
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
