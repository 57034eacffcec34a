"""Releases, and an audit of what they tell: the printed theorem fails, the repair does not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import beta
from tests.synthesis.crowds import claims_of, normal_claims

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.randomness import word_source
from quietcrowd.synthesis.attempt import TOTAL, Blur, PrivacyTest, seed_edges
from quietcrowd.synthesis.attempt_loss import Attempt
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.release import GridClaims

ISOLATED = np.arange(20) * 10.0 - 100.0
"""Twenty claims, ten bandwidths from each other."""

MOVED = np.where(np.arange(20) == 3, 95.0, ISOLATED)
"""A neighbour: one claim lies elsewhere, isolated as well."""

SURE = 1 - 1e-4


def bounds(hits, draws):
    """Return Clopper-Pearson bounds of a probability."""
    low = beta.ppf((1 - SURE) / 2, hits, draws - hits + 1) if hits else 0.0
    high = beta.ppf((1 + SURE) / 2, hits + 1, draws - hits) if hits < draws else 1.0
    return low, high


def proven_delta(hits, others, draws, epsilon):
    """Return a delta that an event proves: with it, delta at epsilon is at least so large."""
    return bounds(hits, draws)[0] - math.exp(epsilon) * bounds(others, draws)[1]


def released_near(values, place):
    return int((np.abs(values - place) < 5).sum())


@pytest.mark.nightly
def test_the_loop_as_printed_loses_more_than_printed():
    """All claims isolated: what passes is an exact draw of the claims, whatever k and epsilon0."""
    draws = 20_000
    method = PrisCrowd(
        release="paper", weights="uniform", epsilon0=1.0, k=5, gamma=4.0, bandwidth=1.0, claims=1
    )
    found = []
    for claims in (ISOLATED, MOVED):
        density = method.fit(claims_of([claims] * draws))
        released = density.release(random_state=1)
        assert len(released) >= draws - 10  # a few reach the end of the tries
        found.append(released_near(released.values, ISOLATED[3]))
    guarantee = density.guarantee()
    assert guarantee.claimed_delta == pytest.approx(math.exp(-4))  # 0.018
    assert guarantee.claimed_epsilon == pytest.approx(1 + math.log(5))
    audited = proven_delta(*found, draws, guarantee.claimed_epsilon)
    assert audited > 1.8 * guarantee.claimed_delta  # 0.035 against 0.018
    assert guarantee.epsilon == guarantee.total_epsilon == math.inf
    assert not guarantee.claim_holds


def attempts_on(claims, draws, seed, k=5, epsilon0=1.0):
    offsets = np.array([0, len(claims)])
    grid = GridClaims(
        offsets=offsets,
        places=np.rint(claims * 32).astype(np.int64),
        seed_edges=seed_edges(offsets, np.full(len(claims), 1 / len(claims)), 1.0),
        lifts=np.zeros(1),
        blur=Blur(),
        test=PrivacyTest(k=k, epsilon0=epsilon0, drop=0.5),
    )
    passes = grid.attempt(np.zeros(draws, np.int64), word_source(np.random.default_rng(seed)))
    return passes.candidates / 32


CLUSTER = np.append(np.linspace(-1, 1, 19), 0.0)
PAIRS = [
    (ISOLATED, MOVED),
    (CLUSTER, np.append(CLUSTER[:-1], 60.0)),
    (np.append(CLUSTER[:-1], 60.0), CLUSTER),
    (np.append(np.zeros(4), np.arange(1, 17) * 6.0), np.append(np.zeros(3), np.arange(17) * 6.0)),
]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.5, 1.72, 2.61])
def test_one_attempt_never_exceeds_its_guarantee(pair, epsilon):
    """Events: near a place, passing at all, failing. Both directions, Clopper-Pearson bounds."""
    draws = 100_000
    test = PrivacyTest(k=5, epsilon0=1.0, drop=0.5)
    share = Fraction(1, 20)
    delta = Attempt(
        passes=test.weights.tolist(),
        total=TOTAL,
        gamma=Blur().exact_gamma,
        most=share,
        least=share,
        claims=20,
    ).delta(epsilon)
    assert delta < 0.15
    one, two = (attempts_on(np.sort(claims), draws, seed) for seed, claims in enumerate(pair))
    events = [len, lambda passed: draws - len(passed)]
    events += [lambda passed, at=at: released_near(passed, at) for at in (*pair[0][::4], 60.0)]
    for event in events:
        here, there = event(one), event(two)
        assert proven_delta(here, there, draws, epsilon) <= delta
        assert proven_delta(there, here, draws, epsilon) <= delta


def test_attempts_make_a_fixed_number_and_stay_within_the_range():
    claims = claims_of([np.full(30, 100.0), np.full(30, -100.0), [5.0, 6.0]])
    method = PrisCrowd(epsilon0=2.0, bandwidth=3.0, claims=50)
    released = method.fit(claims).release(random_state=0)
    assert released.attempts.tolist() == [100, 100, 0]
    assert (released.passed[:2] > 30).all()
    assert released.passed[2] == 0
    assert released.values.min() == -100
    assert released.values.max() == 100
    grid = (released.values + 100) / (3 / 32)
    inside = np.abs(released.values) < 100
    np.testing.assert_allclose(grid[inside], np.rint(grid[inside]), atol=1e-6)


def test_the_paper_gives_what_was_wanted_or_says_so():
    method = PrisCrowd(release="paper", epsilon0=1.0, bandwidth="silverman", claims=30)
    released = method.fit(normal_claims()).release(random_state=0)
    assert (released.passed == 30).all()
    assert (released.attempts >= 30).all()
    strict = PrisCrowd(
        release="paper", weights="uniform", epsilon0=20.0, k=20, bandwidth=0.5, claims=30
    )
    assert strict.most_attempts == 100_000
    capped = PrisCrowd(
        release="paper",
        weights="uniform",
        epsilon0=20.0,
        k=20,
        bandwidth=0.5,
        claims=30,
        most_attempts=100,
    )
    short = capped.fit(claims_of([ISOLATED])).release(random_state=0)
    assert short.attempts.tolist() == [100]
    assert len(short) < 30
    assert short.wanted == 30


def test_the_paper_has_a_grid_and_buckets_for_each_bandwidth():
    """Claims ten times as wide, with a bandwidth ten times as large, are released alike."""
    narrow = np.random.default_rng(0).normal(size=25)
    method = PrisCrowd(release="paper", epsilon0=1.0, bandwidth="mad", claims=2000, gamma=2.0)
    released = method.fit(claims_of([narrow, 10 * narrow])).release(random_state=0)
    first, second = np.split(released.values, [2000])
    assert second.std() / 10 == pytest.approx(first.std(), rel=0.1)
    assert second.mean() / 10 == pytest.approx(first.mean(), abs=0.1)


def test_the_same_seed_gives_the_same_release():
    density = PrisCrowd(epsilon0=1.0, bandwidth=0.6).fit(normal_claims())
    one, two = (density.release(random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    other = density.release(random_state=6)
    assert not np.array_equal(one.values, other.values)
    real = density.release()
    assert one.simulated
    assert not real.simulated
    assert len(real) == pytest.approx(len(one), rel=0.3)


DRAWS = 200_000


def grid_of(places, *, k=2, epsilon0=1.0, drop=0.5, gamma=4.0, cells=4, lift=0.0, weights=None):
    places = np.array(places)
    offsets = np.array([0, len(places)])
    shares = np.full(len(places), 1 / len(places)) if weights is None else np.array(weights)
    return GridClaims(
        offsets=offsets,
        places=places,
        seed_edges=seed_edges(offsets, shares, 1.0 if weights is None else 0.0),
        lifts=np.array([lift]),
        blur=Blur(gamma=gamma, cells=cells),
        test=PrivacyTest(k=k, epsilon0=epsilon0, drop=drop),
    )


def distribution_by_hand(grid, shares):
    """Return the exact distribution of one attempt's passes, in plain Python."""
    blur, distribution = grid.blur, {}
    buckets = [math.floor(grid.lifts[0] + fall) for fall in blur.falls]
    passes = grid.test.probabilities
    for claim, share in zip(grid.places.tolist(), shares, strict=True):
        for step in range(-blur.reach, blur.reach + 1):
            candidate = claim + step
            count = sum(
                abs(other - candidate) <= blur.reach
                and buckets[abs(other - candidate)] == buckets[abs(step)]
                for other in grid.places.tolist()
            )
            weight = share * blur.weights[abs(step)] / 2**63 * passes[min(count, len(passes) - 1)]
            distribution[candidate] = distribution.get(candidate, 0.0) + weight
    return distribution


@pytest.mark.parametrize(
    ("places", "options", "shares"),
    [
        ([0, 1, 5], {}, [1 / 3] * 3),
        ([0, 0, 0, 40], {"k": 3, "drop": 0.0}, [1 / 4] * 4),
        ([0, 7], {"lift": 0.6, "gamma": 2.0}, [1 / 2] * 2),
        ([0, 2, 9], {"weights": [0.0, 0.25, 0.75]}, [0.0, 0.25, 0.75]),
    ],
)
def test_attempts_follow_their_distribution(places, options, shares):
    """Chi-squared, over all candidates and failing."""
    grid = grid_of(places, **options)
    distribution = distribution_by_hand(grid, shares)
    passes = grid.attempt(np.zeros(DRAWS, np.int64), word_source(np.random.default_rng(7)))
    found = dict(zip(*np.unique(passes.candidates, return_counts=True), strict=True))
    assert set(found) <= set(distribution)
    frequent = {key: p * DRAWS for key, p in distribution.items() if p * DRAWS >= 10}
    statistic = sum((found.get(key, 0) - n) ** 2 / n for key, n in frequent.items())
    failed = DRAWS * (1 - sum(distribution.values()))
    statistic += (DRAWS - len(passes.candidates) - failed) ** 2 / failed
    assert statistic < len(frequent) + 6 * math.sqrt(2 * len(frequent))


def test_tasks_do_not_mix():
    offsets = np.array([0, 2, 2, 4])
    grid = GridClaims(
        offsets=offsets,
        places=np.array([0, 0, 10**6, 10**6]),
        seed_edges=seed_edges(offsets, np.full(4, 0.5), 1.0),
        lifts=np.zeros(3),
        blur=Blur(),
        test=PrivacyTest(k=1, epsilon0=50.0, drop=0.0),
    )
    tasks = np.tile([0, 2], 500)
    passes = grid.attempt(tasks, word_source(np.random.default_rng(0)))
    assert len(passes.tasks) > 400
    near = passes.candidates < 10**5
    np.testing.assert_array_equal(near, passes.tasks == 0)


def test_words_of_the_operating_system_serve_as_well():
    passes = grid_of([0] * 10).attempt(np.zeros(1000, np.int64), word_source(None))
    assert 300 < len(passes.candidates) < 700


@pytest.fixture(scope="module")
def released():
    claims = claims_of([[1.0] * 9, [5.0, 5.0], [2.0, 2.1, 1.9, 2.0, 2.05, 2.1]])
    method = PrisCrowd(epsilon0=2.0, bandwidth=0.5, claims=20)
    return method.fit(claims).release(random_state=0)


def test_frames_say_what_is_public(released):
    claims = released.claims
    assert list(claims) == ["task", "claim"]
    assert len(claims) == len(released)
    assert claims["task"].is_monotonic_increasing
    assert claims.groupby("task").size().to_dict() == {
        "t00000": released.passed[0],
        "t00002": released.passed[2],
    }
    tasks = released.tasks
    assert tasks["users"].tolist() == [9, 2, 6]
    assert tasks["attempts"].tolist() == [40, 0, 40]
    assert released.unreleased.to_dict("records") == [
        {"task": "t00001", "users": 2, "reason": "2 of at least 5 users"}
    ]
    assert "2 tasks, 1 rejected, simulated" in repr(released)
    assert released.claims_as("pyarrow").column_names == ["task", "claim"]
    with pytest.raises(ParameterError, match="backend"):
        released.claims_as("spark")


@pytest.mark.parametrize(
    ("simulated", "epsilon", "may"),
    [(False, 10.0, True), (True, 10.0, False), (False, 10.1, False)],
)
def test_real_claims_of_a_small_loss_may_be_shared(released, simulated, epsilon, may):
    guarantee = evolve(released.guarantee, epsilon=epsilon, total_epsilon=20.0, tail=None)
    assert evolve(released, simulated=simulated, guarantee=guarantee).may_be_shared is may


def test_densities_are_of_the_synthetic_claims(released):
    densities = released.densities(np.full(3, 0.5))
    x = np.linspace(-10, 20, 3001)
    assert densities.pdf(0, x).sum() * 0.01 == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="no points"):
        densities.pdf(1, x)
