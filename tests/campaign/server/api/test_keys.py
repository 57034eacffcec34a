import secrets

import pytest
from attrs import evolve
from tests.campaign.people import check_problem, new_desk

from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import new_token


@pytest.fixture
def name():
    return f"rotates {secrets.token_hex(8)}"


def test_keys_are_listed_by_their_ends_alone(server, name):
    made = [issue_key(server.database, name, expires_at=end) for end in (None, 4_000_000_000)]
    past = issue_key(server.database, name, expires_at=1_000)
    listed = server.client(made[0]).get("/keys")
    items = {one["last4"]: one for one in listed.json()["items"]}
    assert items.keys() == {key[-4:] for key in (*made, past)}
    assert [items[key[-4:]]["expires_at"] for key in made] == [None, 4_000_000_000]
    assert [items[key[-4:]]["state"] for key in (*made, past)] == ["valid", "valid", "expired"]
    assert [items[key[-4:]]["shown"] for key in made] == [True, False]
    for key in (*made, past):
        assert key[:-4] not in listed.text


def test_a_revoked_key_is_told_so_and_nobody_else_is(server, name):
    leaked, kept = (issue_key(server.database, name) for _ in range(2))
    desk = server.client(kept)
    [id_] = [one["id"] for one in desk.get("/keys").json()["items"] if not one["shown"]]
    check_problem(new_desk(server).client.delete(f"/keys/{id_}"), 404, "not-found")
    assert server.client(leaked).get("/campaigns").status_code == 200
    assert desk.delete(f"/keys/{id_}").status_code == 204
    assert desk.delete(f"/keys/{id_}").status_code == 204
    check_problem(server.client(leaked).get("/campaigns"), 401, "key-revoked")
    check_problem(server.client(new_token("qck_")).get("/campaigns"), 401, "credential")
    check_problem(server.client(f"{leaked[:-1]}_").get("/campaigns"), 401, "credential")
    assert desk.get("/campaigns").status_code == 200
    states = {one["last4"]: one["state"] for one in desk.get("/keys").json()["items"]}
    assert states == {leaked[-4:]: "revoked", kept[-4:]: "valid"}


def test_a_key_ends_itself(server, name):
    client = server.client(issue_key(server.database, name))
    [mine] = client.get("/keys").json()["items"]
    assert client.delete(f"/keys/{mine['id']}").status_code == 204
    check_problem(client.get("/keys"), 401, "key-revoked")


def test_a_key_expires_to_the_second(start_server, name):
    server = start_server()
    key = issue_key(server.database, name, expires_at=2_000)
    for now, status in ((1_999.9, 200), (2_000.0, 401)):
        server.app.state.service = evolve(server.service, clock=lambda now=now: now)
        assert server.client(key).get("/keys").status_code == status
    check_problem(server.client(key).get("/keys"), 401, "key-expired")
