import asyncio

from quietcrowd.campaign.server.answers import CountedAnswer
from quietcrowd.campaign.server.in_flight import InFlight

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
