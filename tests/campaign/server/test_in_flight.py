import asyncio

import pytest

from quietcrowd.campaign.server import in_flight as in_flight_module
from quietcrowd.campaign.server.in_flight import (
    ANONYMOUS,
    NEWCOMER,
    CountedAnswer,
    InFlight,
    WaitingAnswer,
)


def enter(in_flight, size, credential):
    """Count a request where there is room for it, and return whether there was."""
    room = in_flight.has_capacity(size) and in_flight.has_share(credential)
    if room:
        in_flight.enter(size, credential)
    return room


def test_so_many_requests_are_worked_on_at_once():
    in_flight = InFlight(requests=2, size=100, each=10)
    assert [enter(in_flight, 0, b"me") for _ in range(3)] == [True, True, False]
    in_flight.leave(0, b"me")
    assert [enter(in_flight, 0, b"me") for _ in range(2)] == [True, False]


def test_so_many_bytes_are_worked_on_at_once():
    in_flight = InFlight(requests=10, size=100, each=1)
    sizes = {b"a": 60, b"b": 60, b"c": 40, b"d": 1}
    assert [enter(in_flight, size, one) for one, size in sizes.items()] == [
        *(True, False),
        *(True, False),
    ]
    in_flight.leave(60, b"a")
    assert enter(in_flight, 60, b"e")


def test_everyone_has_a_share_and_what_has_left_is_forgotten():
    in_flight = InFlight(requests=10, size=100, each=2)
    assert [enter(in_flight, 0, b"me") for _ in range(3)] == [True, True, False]
    assert enter(in_flight, 0, b"you")
    in_flight.leave(0, b"me")
    assert [enter(in_flight, 0, b"me") for _ in range(2)] == [True, False]
    in_flight.leave(0, b"you")
    assert list(in_flight._of) == [b"me"]
    assert in_flight._requests == 2


def test_all_who_show_nothing_share_a_quarter():
    in_flight = InFlight(requests=8, size=100, each=5)
    assert [enter(in_flight, 0, ANONYMOUS) for _ in range(3)] == [True, True, False]


def test_all_who_join_share_half():
    in_flight = InFlight(requests=8, size=100, each=1)
    assert [enter(in_flight, 0, NEWCOMER) for _ in range(5)] == [True] * 4 + [False]


def answer():
    ended = []
    return WaitingAnswer(cut_off=lambda: ended.append(True)), ended


def test_answers_that_wait_to_be_taken_count_with_their_bytes():
    in_flight = InFlight(requests=8, size=100, each=5)
    (one, _), (other, _), (third, _) = (answer() for _ in range(3))
    assert in_flight.hold(one, 20, b"me")
    assert not in_flight.hold(other, 20, b"me")  # a quarter is one's share
    assert in_flight.hold(other, 70, b"you")
    assert not in_flight.hold(third, 20, b"third")
    assert not in_flight.has_capacity(20)
    assert not in_flight.has_share(b"you")
    in_flight.count(other, -70, b"you")
    assert in_flight.hold(third, 20, b"third")


def test_the_largest_answer_goes_alone():
    in_flight = InFlight(requests=8, size=100, each=5)
    assert in_flight.hold(answer()[0], 1_000, b"me")
    assert not in_flight.hold(answer()[0], 1, b"you")


@pytest.mark.parametrize(("patience", "ends"), [(60.0, []), (-1.0, [True])])
def test_who_has_long_had_time_gives_way(monkeypatch, patience, ends):
    monkeypatch.setattr(in_flight_module, "_PATIENCE", patience)
    in_flight = InFlight(requests=8, size=100, each=5)
    one, ended = answer()
    in_flight.hold(one, 20, b"me")
    in_flight.cut_off_slow()
    assert ended == ends
    in_flight.count(one, -20, b"me")
    in_flight.cut_off_slow()
    assert ended == ends


PIECE = 2**16


def sent(in_flight, *bodies, method="GET", ended=()):
    """Return the status, the body, and the most bytes that were counted meanwhile."""
    told, seen = [], []

    async def send(message):
        told.append(message)
        seen.append(in_flight._size)

    answer = CountedAnswer(
        scope={"type": "http", "method": method, "headers": [], "path": "/"},
        receive=None,
        send=send,
        in_flight=in_flight,
        credential=b"me",
        cut_off=lambda: ended.append(True),
    )

    async def run():
        await answer({"type": "http.response.start", "status": 200, "headers": []})
        for place, body in enumerate(bodies, start=1):
            more = place < len(bodies)
            await answer({"type": "http.response.body", "body": body, "more_body": more})

    asyncio.run(run())
    assert answer.status == 200
    answer.end()
    starts = [one for one in told if one["type"] == "http.response.start"]
    body = b"".join(one["body"] for one in told if one["type"] == "http.response.body")
    assert [one.get("more_body", False) for one in told[1:]].count(False) == 1
    return starts[0]["status"], body, max(seen)


def test_a_small_answer_is_sent_as_it_is():
    in_flight = InFlight(requests=1, size=1, each=1)
    assert sent(in_flight, b"a" * PIECE) == (200, b"a" * PIECE, 0)


def test_a_large_one_counts_until_it_is_taken():
    in_flight = InFlight(requests=1, size=10 * PIECE, each=1)
    body = bytes(range(256)) * 1_024
    assert sent(in_flight, body) == (200, body, len(body))
    assert in_flight._size == 0


def test_one_that_is_made_in_pieces_counts_with_what_is_made():
    in_flight = InFlight(requests=1, size=PIECE, each=1)
    status, body, most = sent(in_flight, *[b"a" * PIECE] * 8)
    assert (status, len(body)) == (200, 8 * PIECE)
    assert most <= 2 * PIECE
    assert in_flight._size == 0


def test_one_for_which_there_is_no_room_is_refused():
    in_flight, ended = InFlight(requests=1, size=4 * PIECE, each=1), []
    in_flight.enter(1, b"me")
    status, body, _ = sent(in_flight, b"a" * 4 * PIECE, ended=ended)
    assert status == 503
    assert b"urn:quietcrowd:problem:busy" in body
    assert in_flight._size == 1
    assert ended == []


def test_what_was_done_is_told_whatever_the_room():
    in_flight = InFlight(requests=1, size=PIECE, each=1)
    in_flight.enter(1, b"me")
    assert sent(in_flight, b"a" * 4 * PIECE, method="POST")[0] == 200
