from quietcrowd.campaign.server import rate_limits
from quietcrowd.campaign.server.rate_limits import RateLimits


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
    monkeypatch.setattr(rate_limits, "_MOST_BUCKETS", 2)
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
