import pytest

from quietcrowd.campaign.server import in_flight as in_flight_module
from quietcrowd.campaign.server.in_flight import ANONYMOUS, NEWCOMER, InFlight, WaitingAnswer


def enter(in_flight, size, credential):
    """Count a request where there is room for it, and return whether there was."""
    room = in_flight.has_room(size) and in_flight.has_share(credential)
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
    assert in_flight.worked_on == 2


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
    assert not in_flight.has_room(20)
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
