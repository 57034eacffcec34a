import asyncio
import secrets
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from quietcrowd.campaign.server import lookups
from quietcrowd.campaign.server.lookups import Lookups
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.store.shown_tokens import Shown
from quietcrowd.campaign.terms.tokens import new_token, token_hash


@pytest.fixture
def looked(server, monkeypatch):
    """Return what looks up, and what was looked up in the database."""
    seen = []

    def note(connection, shown):
        seen.append(set(shown))
        return known_among(connection, shown)

    known_among = lookups.known_among
    monkeypatch.setattr(lookups, "known_among", note)
    found = Lookups(database=server.database)
    yield found, seen
    found.close()
    assert not found.alive


def shown(token):
    return Shown("key", token_hash(token))


def ask(looked_up, *tokens, **members):
    async def asked():
        wanted = (looked_up.is_known(one, **members) for one in tokens)
        return await asyncio.gather(*wanted)

    return asyncio.run(asked())


def test_what_was_found_is_remembered_and_so_is_what_was_not(looked, server):
    found, seen = looked
    key = shown(issue_key(server.database, secrets.token_hex(8)))
    stranger = shown(new_token("qck_"))
    assert ask(found, key, stranger) == [True, False]
    assert set().union(*seen) == {key, stranger}
    seen.clear()
    assert ask(found, key, stranger) == [True, False]
    assert seen == []


def test_what_is_not_to_be_remembered_is_looked_up_again(looked):
    found, seen = looked
    stranger = shown(new_token("qck_"))
    for _ in range(2):
        assert ask(found, stranger, remember=False) == [False]
    assert seen == [{stranger}] * 2


def test_many_are_looked_up_at_once(looked):
    found, seen = looked
    assert not any(ask(found, *(shown(new_token("qck_")) for _ in range(400))))
    assert len(seen) < 40


def test_it_is_told_what_changes(looked):
    found, seen = looked
    one = shown(new_token("qck_"))
    found.learn(one)
    assert ask(found, one) == [True]
    found.forget(one)
    assert ask(found, one) == [False]
    found.learn(one)
    assert ask(found, one) == [True]
    assert seen == []


def test_what_is_remembered_is_so_for_a_while_and_bounded(monkeypatch):
    monkeypatch.setattr(lookups, "_MOST", 2)
    now = [0.0]
    monkeypatch.setattr(lookups, "time", SimpleNamespace(monotonic=lambda: now[0]))
    memory = lookups._Memory(seconds=60.0)
    tokens = [shown(new_token("qck_")) for _ in range(3)]
    for one in tokens:
        memory.add(one)
    assert [one in memory for one in tokens] == [False, True, True]
    now[0] = 59.9
    assert [one in memory for one in tokens] == [False, True, True]
    now[0] = 60.1
    assert not any(one in memory for one in tokens)


@pytest.mark.usefixtures("log_as_before")
def test_without_a_database_nobody_is_a_stranger(looked, monkeypatch):
    def fail(*_):
        raise OperationalError("", None, Exception())

    found, _ = looked
    monkeypatch.setattr(lookups, "known_among", fail)
    stranger = shown(new_token("qck_"))
    assert ask(found, stranger) == [True]
    monkeypatch.undo()
    assert ask(found, stranger) == [False]
