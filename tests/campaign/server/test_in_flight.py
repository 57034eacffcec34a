from quietcrowd.campaign.server.in_flight import InFlight


def enter(in_flight, size, credential=b"you"):
    """Count a request where there is room for it, and return whether there was."""
    room = in_flight.has_room(size) and in_flight.has_share(credential)
    if room:
        in_flight.enter(size, credential)
    return room


def test_so_many_requests_are_worked_on_at_once():
    in_flight = InFlight(requests=2, size=100, each=1)
    assert [enter(in_flight, 0) for _ in range(3)] == [True, True, False]
    in_flight.leave(0, b"you")
    assert [enter(in_flight, 0) for _ in range(2)] == [True, False]


def test_so_many_bytes_are_worked_on_at_once():
    in_flight = InFlight(requests=10, size=100, each=1)
    assert [enter(in_flight, size) for size in (60, 60, 40, 1)] == [True, False, True, False]
    in_flight.leave(60, b"you")
    assert enter(in_flight, 60)


def test_everyone_has_a_share_and_what_has_left_is_forgotten():
    in_flight = InFlight(requests=10, size=100, each=2)
    assert [enter(in_flight, 0, b"me") for _ in range(3)] == [True, True, False]
    assert enter(in_flight, 0, b"you")
    assert enter(in_flight, 0)
    in_flight.leave(0, b"me")
    assert [enter(in_flight, 0, b"me") for _ in range(2)] == [True, False]
    in_flight.leave(0, b"you")
    assert list(in_flight._of) == [b"me"]
