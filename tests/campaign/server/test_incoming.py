import asyncio
from types import SimpleNamespace

import pytest

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server import incoming as module
from quietcrowd.campaign.server.incoming import IncomingBodies, TurningAway, replayed
from quietcrowd.campaign.terms.settings import MAX_BODY


def whole(incoming, *parts, **members):
    """Return the body that comes in parts; one of None never comes."""
    waiting = list(parts)

    async def receive():
        assert incoming.waiting
        body = waiting.pop(0)
        if body is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    return asyncio.run(incoming.whole(receive, **members))


@pytest.mark.parametrize("parts", [[b""], [b"a"], [b"a", b""], [b"", b"a"], [b"a", b"b", b"c"]])
def test_a_body_is_what_came(parts):
    incoming = IncomingBodies(size=2)
    assert whole(incoming, *parts) == b"".join(parts)
    assert whole(incoming, *parts) == b"".join(parts)
    assert incoming.waiting == 0


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ([b"a", None], "too-slow"),
        ([b" " * MAX_BODY, b"a"], "too-large"),
        ([b" " * (MAX_BODY + 1)], "too-large"),
    ],
)
def test_what_is_refused_leaves_room(parts, name):
    incoming = IncomingBodies(size=MAX_BODY, patience=0.01)
    for _ in range(2):
        with pytest.raises(ProblemError, match=name):
            whole(incoming, *parts)
    assert whole(incoming, b" " * (MAX_BODY - 1), b"a")[-1:] == b"a"


def test_pieces_have_so_much_room_and_what_is_whole_needs_none():
    incoming = IncomingBodies(size=3)
    with pytest.raises(ProblemError, match="busy"):
        whole(incoming, b"abcd", b"e")
    assert whole(incoming, b"abcde") == b"abcde"


def test_a_sender_who_goes_away_is_no_failure():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(ProblemError, match="malformed"):
        asyncio.run(IncomingBodies().whole(receive))


def test_pieces_of_one_sender_have_a_part_of_the_room(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.server.incoming.MAX_BODY", 2)
    incoming = IncomingBodies(size=24)
    incoming._keep(2, b"me")
    with pytest.raises(ProblemError, match="too-many-requests"):
        whole(incoming, b"ab", b"c", credential=b"me", most=100)
    assert whole(incoming, b"ab", b"c", credential=b"you", most=100) == b"abc"


def test_a_body_may_be_smaller():
    with pytest.raises(ProblemError, match="too-large"):
        whole(IncomingBodies(), b"ab", b"c", most=2)


def test_what_was_read_is_given_once_more_and_then_what_comes():
    async def receive():
        return {"type": "http.disconnect"}

    async def read():
        again = replayed(b"abc", receive)
        return [await again() for _ in range(2)]

    first, second = asyncio.run(read())
    assert first == {"type": "http.request", "body": b"abc", "more_body": False}
    assert second == {"type": "http.disconnect"}


WITH_BODY, WITHOUT = [(b"content-length", b"5")], [(b"content-length", b"0")]


def refused(name, headers, parts, turning_away=None):
    """Return what is sent, and how many parts were read; after the last one nothing comes."""
    turned, told, left = turning_away or TurningAway(), [], list(parts)

    async def receive():
        assert turned.thrown_away == turned.waiting == 1
        assert told[-1]["more_body"]  # it has been answered already
        if not left:
            await asyncio.Event().wait()
        body, *more = [left.pop(0), *left[:1]]
        return {"type": "http.request", "body": body, "more_body": bool(more) or body == b"on"}

    async def send(message):
        told.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    problem = ProblemError(name, "It is so.")
    asyncio.run(turned.reject(problem, scope, receive, send))
    assert turned.waiting == 0
    assert not told[-1].get("more_body", False)
    return told, len(parts) - len(left)


@pytest.mark.parametrize(
    ("name", "headers", "ends"),
    [
        ("credential", WITH_BODY, True),
        ("credential", [(b"transfer-encoding", b"chunked")], True),
        ("too-many-requests", WITH_BODY, True),
        ("credential", WITHOUT, False),
        ("credential", [], False),
        ("busy", WITH_BODY, False),
    ],
)
def test_a_connection_ends_where_the_body_of_a_stranger_is_on_its_way(name, headers, ends):
    told, read = refused(name, headers, [b"a", b"b"])
    assert ((b"connection", b"close") in told[0]["headers"]) is ends
    assert read == (2 if ends else 0)
    assert b"It is so." in b"".join(one.get("body", b"") for one in told)


def test_who_sends_no_more_is_waited_for_briefly(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.05)
    assert refused("credential", WITH_BODY, [b"on"])[1] == 1


def test_who_sends_without_end_is_left():
    some = b"a" * (MAX_BODY // 2)
    assert refused("credential", WITH_BODY, [some] * 5)[1] == 2


def test_few_are_waited_for_at_once(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 0)
    told, read = refused("credential", WITH_BODY, [b"a"])
    assert (b"connection", b"close") in told[0]["headers"]
    assert read == 0


def test_so_many_are_held_back_at_once(monkeypatch):
    monkeypatch.setattr(module, "_HOLD", 0.02)
    monkeypatch.setattr(module, "_MOST_HELD", 2)
    turned, seen = TurningAway(), []

    async def hold():
        await turned.hold_back()
        seen.append(turned.waiting)

    async def run():
        waiting = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert turned.waiting == 2
        assert len(seen) == 1
        await asyncio.gather(*waiting)

    asyncio.run(run())
    assert turned.waiting == 0


@pytest.mark.parametrize(("count", "mean"), [(1, 1.0), (32, 1.0), (128, 4.0), (512, 16.0)])
def test_many_who_are_held_back_come_back_no_more_often_and_not_at_once(monkeypatch, count, mean):
    turned, waited = TurningAway(), []
    turned.held = count - 1

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep))  # servers go on sleeping
    for _ in range(100):
        asyncio.run(turned.hold_back())
    assert mean / 2 <= min(waited) < max(waited) <= mean * 1.5
