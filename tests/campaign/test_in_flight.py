from quietcrowd.campaign.in_flight import InFlight


def test_so_many_requests_are_worked_on_at_once():
    in_flight = InFlight(requests=2, size=100)
    assert [in_flight.enter(0) for _ in range(3)] == [True, True, False]
    in_flight.leave(0)
    assert [in_flight.enter(0) for _ in range(2)] == [True, False]


def test_so_many_bytes_are_worked_on_at_once():
    in_flight = InFlight(requests=10, size=100)
    assert [in_flight.enter(size) for size in (60, 60, 40, 1)] == [True, False, True, False]
    in_flight.leave(60)
    assert in_flight.enter(60)
