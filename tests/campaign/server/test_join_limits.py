import pytest
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.join_limits import JoinLimits
from quietcrowd.campaign.server.sources import Sources


def limits(**changed):
    return JoinLimits(**{"sources": Sources(), "per_minute": 6.0, "at_once": 2, **changed})


def request(address):
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def taken(joins, address, now, tries=10):
    """Return how many of some workers are let in."""
    let_in = 0
    for _ in range(tries):
        if joins.has_room(request(address), now):
            joins.take(request(address), now)
            let_in += 1
        elif joins.per_minute:
            with pytest.raises(ProblemError) as caught:
                joins.take(request(address), now)
            assert caught.value.name == "too-many-joins"
            assert caught.value.headers == {"Retry-After": "10"}
    return let_in


def test_each_source_has_a_bucket_that_fills_with_time():
    joins, one, other = limits(), "192.0.2.1", "192.0.2.2"
    assert taken(joins, one, 0.0) == 2
    assert taken(joins, one, 9.0) == 0
    assert taken(joins, other, 9.0) == 2
    assert taken(joins, one, 10.0) == 1
    assert taken(joins, one, 1_000.0) == 2


@pytest.mark.parametrize(
    ("per_minute", "seconds"), [(120.0, 1), (30.0, 2), (7.0, 9), (1e-3, 3_600), (5e-324, 3_600)]
)
def test_who_is_refused_is_told_when_to_try_again(per_minute, seconds):
    assert limits(per_minute=per_minute).refusal().headers == {"Retry-After": str(seconds)}


def test_nothing_is_counted_without_a_limit():
    assert taken(limits(per_minute=0.0), "192.0.2.1", 0.0) == 10
