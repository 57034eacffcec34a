import pytest
from attrs import define
from starlette.requests import HTTPConnection

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server import limits as module
from quietcrowd.campaign.server.limits import JoinLimits, OpenConnections, RateLimits, Sources


def limits(**changed):
    return JoinLimits(**{"sources": Sources(), "per_minute": 6.0, "at_once": 2, **changed})


def request(address):
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def taken(joins, address, now, tries=10):
    """Return how many of some workers are let in."""
    let_in = 0
    for _ in range(tries):
        if joins.has_capacity(request(address), now):
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


def test_an_address_is_told_by_a_hash_that_changes_every_hour():
    sources = Sources()
    first, salt = sources.of_connection("192.0.2.7", 0.0), sources._salt
    assert sources.of_connection("192.0.2.7", 3_599.0) == first
    assert sources.of_connection("192.0.2.8", 3_599.0) != first
    assert "192.0.2.7" not in repr(sources)
    assert salt.hex() not in repr(sources)
    assert sources.of_connection("192.0.2.7", 3_600.0) != first
    assert sources._salt != salt
    assert Sources().of_connection("192.0.2.7", 0.0) != first


@pytest.mark.parametrize(
    ("peer", "proxy", "is_one"),
    [
        ("192.0.2.7", None, True),
        ("192.0.2.7", "192.0.2.0/24", False),
        ("::ffff:192.0.2.7", "192.0.2.0/24", False),
        ("192.0.2.7", "10.0.0.1", True),
        ("127.0.0.1", "10.0.0.1", False),
        ("127.0.0.1", None, False),
        ("::1", None, False),
        ("::ffff:127.0.0.1", None, False),
        ("fe80::1%eth0", None, True),
        ("testclient", None, False),
        (None, None, False),
    ],
)
def test_those_through_whom_others_may_come_are_no_source_of_connections(peer, proxy, is_one):
    assert (Sources(proxy=proxy).of_connection(peer, 0.0) is not None) == is_one


def request_from(peer, forwarded):
    scope = {
        "type": "http",
        "client": None if peer is None else (peer, 1),
        "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded],
    }
    return HTTPConnection(scope)


@pytest.mark.parametrize(
    ("proxy", "peer", "forwarded", "source"),
    [
        (None, "192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        (None, "127.0.0.1", ["198.51.100.1"], "127.0.0.1"),
        (None, "2001:db8:1:2:3::4", [], "2001:db8:1:2::/64"),
        (None, "::ffff:192.0.2.7", [], "192.0.2.7"),
        (None, None, [], "unknown"),
        (None, "testclient", [], "unknown"),
        ("10.0.0.1", "10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", "::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
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
    assert Sources(proxy=proxy)._name_of(request_from(peer, forwarded)) == source


def test_who_connects_is_the_source_of_what_it_asks():
    sources = Sources(proxy="10.0.0.1")
    asked = sources.of_request(request_from("2001:db8:1:2:3::4", []), 0.0)
    assert asked == sources.of_connection("2001:db8:1:2::9", 0.0)
    assert asked == sources.of_request(request_from("10.0.0.1", ["2001:db8:1:2::7"]), 0.0)


def test_a_bucket_empties_and_fills_again():
    limits = RateLimits(rate=2.0, burst=3)
    assert [limits.allow(b"me", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert not limits.allow(b"me", now=0.4)
    assert limits.allow(b"me", now=0.5)
    assert [limits.allow(b"me", now=100.0) for _ in range(4)] == [True, True, True, False]


def test_everyone_has_a_bucket():
    limits = RateLimits(rate=1.0, burst=1)
    assert limits.allow(b"me", now=0.0)
    assert not limits.allow(b"me", now=0.0)
    assert limits.allow(b"you", now=0.0)


def test_no_rate_is_no_limit():
    limits = RateLimits(rate=0, burst=1)
    assert all(limits.allow(b"me", now=0.0) for _ in range(10))


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BUCKETS", 2)
    limits = RateLimits(rate=1.0, burst=1)
    for name in (b"a", b"b", b"c"):
        assert limits.allow(name, now=0.0)
    assert not limits.allow(b"c", now=0.0)
    assert limits.allow(b"a", now=0.0)  # was forgotten


def test_to_look_costs_nothing():
    limits = RateLimits(rate=1.0, burst=1)
    assert [limits.would_allow(b"me", now=0.0) for _ in range(3)] == [True] * 3
    assert limits.allow(b"me", now=0.0)
    assert not limits.would_allow(b"me", now=0.0)
    assert limits.would_allow(b"me", now=1.0)
    assert RateLimits(rate=0, burst=1).would_allow(b"me")


ONE, OTHER, HERE = "192.0.2.1", "192.0.2.2", "127.0.0.1"


@define(eq=False)
class Fake:
    ended: bool = False

    def cut_off(self):
        self.ended = True


def open_connections(most=4, each=2, rate=0.0):
    by_source = RateLimits(rate=rate, burst=1)
    return OpenConnections(most=most, each=each, limits=by_source, sources=Sources())


def entered(open_connections, *addresses):
    made = [Fake() for _ in addresses]
    for connection, address in zip(made, addresses, strict=True):
        open_connections.enter(connection, address)
    return made


def ended(made):
    return [connection.ended for connection in made]


def test_the_one_that_has_waited_longest_ends_first():
    limited = open_connections()
    made = entered(limited, *[HERE] * 4)
    limited.go_on(made[0])
    limited.wait(made[0])
    assert ended(made) == [False] * 4
    made += entered(limited, HERE)
    assert ended(made) == [False, True, False, False, False]
    assert len(limited) == 4


def test_none_ends_that_is_worked_for():
    limited = open_connections()
    made = entered(limited, *[HERE] * 4)
    for connection in made[:3]:
        limited.go_on(connection)
    made += entered(limited, HERE, HERE)
    assert ended(made) == [False, False, False, True, True, False]
    limited.go_on(made[-1])
    made += entered(limited, HERE)
    assert ended(made)[-2:] == [False, True]  # all others are worked for


def test_a_source_has_its_share_and_ends_its_own():
    limited = open_connections()
    made = entered(limited, ONE, OTHER, ONE, ONE)
    assert ended(made) == [True, False, False, False]
    limited.leave(made[2])
    made += entered(limited, ONE)
    assert ended(made) == [True, False, False, False, False]


def test_what_is_left_is_counted_no_more():
    limited = open_connections()
    made = entered(limited, ONE, ONE, OTHER)
    for connection in [*made, *made]:
        limited.leave(connection)
        limited.wait(connection)
    assert len(limited) == 0
    assert not limited._count
    assert not limited._waiting
    assert not limited._waiting_of


@pytest.mark.parametrize(("address", "allowed"), [(ONE, [True, False]), (HERE, [True, True])])
def test_who_asks_too_often_may_not_come(address, allowed):
    limited = open_connections(rate=0.001)
    request = HTTPConnection({"type": "http", "client": (address, 1), "headers": []})
    assert limited.may_come(address)
    assert [limited.may_ask(request) for _ in range(2)] == [True, False]
    assert [True, limited.may_come(address)] == allowed
    assert limited.may_come(OTHER)
