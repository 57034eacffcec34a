import pytest
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.sources import JoinLimits


def limits(**changed):
    return JoinLimits(**{"per_minute": 6.0, "at_once": 2, **changed})


def taken(joins, source, now, tries=10):
    """Return how many of some workers are let in."""
    let_in = 0
    for _ in range(tries):
        if joins.has_room(source, now):
            joins.take(source, now)
            let_in += 1
        elif joins.per_minute:
            with pytest.raises(ProblemError) as caught:
                joins.take(source, now)
            assert caught.value.name == "too-many-joins"
            assert caught.value.headers == {"Retry-After": "10"}
    return let_in


def test_each_source_has_a_bucket_that_fills_with_time():
    joins = limits()
    assert joins.has_room("a", 0.0)
    assert taken(joins, "a", 0.0) == 2
    assert not joins.has_room("a", 9.0)
    assert taken(joins, "b", 9.0) == 2
    assert joins.has_room("a", 10.0)
    assert taken(joins, "a", 10.0) == 1
    assert taken(joins, "a", 1_000.0) == 2


def test_an_address_is_kept_as_a_hash_that_changes_every_hour():
    joins = limits()
    joins.take("192.0.2.7", 0.0)
    [first], salt = joins._buckets, joins._salt
    assert b"192.0.2.7" not in first
    assert "192.0.2.7" not in repr(joins)
    assert salt.hex() not in repr(joins)
    joins.take("192.0.2.7", 3_600.0)
    [second] = joins._buckets
    assert second != first
    assert joins._salt != salt


def test_the_oldest_sources_are_forgotten(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.server.sources._MOST_SOURCES", 3)
    joins = limits()
    for source in "abacd":
        joins.take(source, 0.0)
    assert len(joins._buckets) == 3
    assert [taken(joins, source, 0.0) for source in "ab"] == [0, 2]


def test_nothing_is_counted_without_a_limit():
    joins = limits(per_minute=0.0)
    assert taken(joins, "a", 0.0) == 10
    assert joins.has_room("a", 0.0)
    assert not joins._buckets


@pytest.mark.parametrize(
    ("proxy", "peer", "forwarded", "source"),
    [
        (None, "192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        (None, "2001:db8:1:2:3::4", [], "2001:db8:1:2::/64"),
        (None, "::ffff:192.0.2.7", [], "192.0.2.7"),
        (None, None, [], "unknown"),
        (None, "testclient", [], "unknown"),
        ("10.0.0.1", "10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", "10.0.0.2", ["198.51.100.1"], "10.0.0.2"),
        ("10.0.0.1", "10.0.0.1", ["203.0.113.9, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", "10.0.0.1", ["203.0.113.9", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.0/24", "10.0.0.9", ["198.51.100.1, 10.0.0.8"], "198.51.100.1"),
        ("10.0.0.1", "10.0.0.1", ["10.0.0.1"], "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1", ["secret"], "unknown"),
        ("10.0.0.1", "10.0.0.1", [], "unknown"),
    ],
)
def test_only_a_proxy_that_is_named_says_who_asks(proxy, peer, forwarded, source):
    scope = {
        "type": "http",
        "client": None if peer is None else (peer, 1),
        "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded],
    }
    assert limits(proxy=proxy).source_of(HTTPConnection(scope)) == source
