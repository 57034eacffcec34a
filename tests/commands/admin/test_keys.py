"""``quietcrowd admin create-key``, ``list-keys`` and ``revoke-key``, against a server."""

import json

import pytest
from sqlalchemy import update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import key_id, token_hash


@pytest.fixture
def key(server, monkeypatch, request):
    """Return a key of a new requester, which is in use."""
    made = issue_key(server.database, request.node.name)
    monkeypatch.setenv("QUIETCROWD_KEY", made)
    monkeypatch.setenv("QUIETCROWD_SERVER", server.url)
    return made


def test_keys_are_told_by_their_ends(run, server, key, request):
    other = issue_key(server.database, request.node.name, expires_at=4_000_000_000)
    status, printed, _ = run("admin", "list-keys")
    assert status == 0
    lines = [line.split() for line in printed.splitlines()]
    assert [key[-4:], "valid", "no", "limit", "in", "use", "now"] in lines
    assert [other[-4:], "valid", "2096-10-02", "07:06", "UTC"] in lines
    assert max(map(len, printed.splitlines())) <= 80
    assert {one["last4"] for one in json.loads(run("admin", "list-keys", "--json")[1])} == {
        key[-4:],
        other[-4:],
    }
    assert not any(one[:-4] in printed for one in (key, other))


def test_one_of_them_is_revoked(run, server, key, request):
    other = issue_key(server.database, request.node.name)
    assert run("admin", "revoke-key", "none")[0] == 2
    status, _, told = run("admin", "revoke-key", other[-4:])
    assert (status, told) == (0, f"The key that ends in {other[-4:]} is revoked.\n")
    assert server.client(other).get("/campaigns").status_code == 401
    assert server.client(key).get("/campaigns").status_code == 200
    status, _, told = run("admin", "revoke-key", other[-4:])
    assert (status, f"0 of your valid keys end in {other[-4:]!r}" in told) == (2, True)


def test_keys_of_older_versions_are_told_by_their_ids(run, server, key, request):
    old = issue_key(server.database, request.node.name)
    hashed = token_hash(old)
    with server.database.write() as connection:
        older = update(tables.api_key).where(tables.api_key.c.token_sha256 == hashed)
        connection.execute(older.values(last4=None))
    name = key_id(hashed).hex()
    assert f"? (id {name})" in " ".join(run("admin", "list-keys")[1].split())
    assert run("admin", "revoke-key", name)[0] == 0
    assert server.client(old).get("/keys").status_code == 401
    assert server.client(key).get("/keys").status_code == 200
