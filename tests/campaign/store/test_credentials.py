from sqlalchemy import select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.credentials import Shown, find_shown, known_among
from quietcrowd.campaign.terms.tokens import new_token, token_hash


def test_of_many_those_are_told_that_there_are(server, desk):
    closed, opened = desk.campaign(), desk.campaign(join_mode="open")
    worker = desk.worker(opened)
    here, there = (bytes.fromhex(campaign) for campaign in (closed, opened))
    known = {
        Shown("key", token_hash(desk.key)),
        Shown("code", token_hash(desk.code(closed))),
        Shown("token", token_hash(desk.token(closed))),
        Shown("credential", token_hash(worker.credential)),
        Shown("open-campaign", there),
        *(Shown("campaign", one) for one in (here, there)),
    }
    unknown = {
        Shown("key", token_hash(worker.credential)),
        *(Shown(kind, token_hash(desk.key)) for kind in ("code", "token")),
        Shown("credential", token_hash(desk.key)),
        *(Shown("open-campaign", one) for one in (here, b"\0" * 16)),
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
