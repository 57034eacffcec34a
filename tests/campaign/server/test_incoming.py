import asyncio

import pytest

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.incoming import IncomingBodies, replayed
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
