import itertools
import math
from fractions import Fraction

import attrs
import numpy as np
import pytest

from quietcrowd.synthesis.attempt import TOTAL, PrivacyTest
from quietcrowd.synthesis.attempt_loss import (
    Attempt,
    compose_curve,
    composed_delta,
    composed_epsilon,
)

BIG = 2**40


def distribution_of(claims, weights, steps, buckets, passes, total):
    """Enumerate the exact distribution of one attempt: numbers, and None for failing."""
    reach = len(steps) - 1
    distribution, failing = {}, Fraction(1)
    for claim, weight in zip(claims, weights, strict=True):
        for step in range(-reach, reach + 1):
            candidate = claim + step
            count = sum(
                abs(other - candidate) <= reach
                and buckets[abs(other - candidate)] == buckets[abs(step)]
                for other in claims
            )
            share = weight * steps[abs(step)] * Fraction(passes[min(count, len(passes) - 1)], total)
            distribution[candidate] = distribution.get(candidate, 0) + share
            failing -= share
    distribution[None] = failing
    return distribution


def beyond(distribution, other, epsilon):
    """Return the exact probability outside of a loss."""
    factor = Fraction(math.exp(epsilon))
    return sum(max(Fraction(0), p - factor * other.get(key, 0)) for key, p in distribution.items())


def worlds(reach, users):
    """Yield claims and neighbours on a small line; the first claim lies at 0."""
    line = range(2 * reach + 2)
    for others in itertools.product(line, repeat=users - 1):
        claims = [0, *others]
        for changed in range(users):
            for place in {0, 1, reach, reach + 1, 2 * reach + 1}:
                yield claims, [*claims[:changed], place, *claims[changed + 1 :]]


def random_case(rng, users, *, equal):
    reach = int(rng.integers(1, 4))
    raw = sorted(rng.integers(1, 40, reach + 1).tolist(), reverse=True)
    steps = [Fraction(weight, raw[0] + 2 * sum(raw[1:])) for weight in raw]
    gamma = rng.choice([1.5, 2.0, 4.0])
    buckets = np.floor(np.log(raw[0] / np.array(raw)) / math.log(gamma)).astype(int).tolist()
    parts = [1] * users if equal else rng.integers(1, 6, users).tolist()
    weights = [Fraction(int(part), int(sum(parts))) for part in parts]
    passes = np.sort(rng.integers(1, 50, users + 1)).tolist()
    ratio = max(
        max(inside) / min(inside)
        for bucket in set(buckets)
        if (inside := [s for s, own in zip(steps, buckets, strict=True) if own == bucket])
    )
    attempt = Attempt(
        passes=passes,
        total=100,
        gamma=ratio,
        most=max(weights),
        least=min(weights),
        claims=users,
    )
    return reach, steps, buckets, weights, passes, attempt


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_pair_of_neighbours_loses_more(seed):
    """All claims on a small line, all neighbours: enumeration stays within the bound."""
    users = 2 + seed % 2
    rng = np.random.default_rng(seed)
    reach, steps, buckets, weights, passes, attempt = random_case(rng, users, equal=seed % 2 == 0)
    epsilons = [epsilon for epsilon in (0.3, 0.8, 1.5, 2.5) if attempt.delta(epsilon) < 1]
    assert epsilons
    worst = dict.fromkeys(epsilons, Fraction(0))
    for claims, neighbour in worlds(reach, users):
        distribution = distribution_of(claims, weights, steps, buckets, passes, 100)
        other = distribution_of(neighbour, weights, steps, buckets, passes, 100)
        for epsilon in epsilons:
            worst[epsilon] = max(worst[epsilon], beyond(distribution, other, epsilon))
    for epsilon in epsilons:
        assert worst[epsilon] <= attempt.delta(epsilon) * (1 + 1e-9)
    if seed % 2 == 0:  # with equal weights the bound is reached
        assert worst[epsilons[-1]] == pytest.approx(attempt.delta(epsilons[-1]))


@pytest.mark.parametrize("drop", [0.1, 0.5])
@pytest.mark.parametrize(("k", "epsilon0", "users"), [(5, 3.7, 20), (10, 9.4, 20), (40, 0.3, 200)])
def test_epsilon_and_delta_say_the_same(k, epsilon0, users, drop):
    attempt = of_test(PrivacyTest(k=k, epsilon0=epsilon0, drop=drop), users)
    for delta in (1e-2, 1e-5, 1e-8):
        epsilon = attempt.epsilon(delta)
        if math.isfinite(epsilon):
            assert attempt.delta(epsilon) <= delta * (1 + 1e-9)
            assert attempt.delta(epsilon - 1e-3) > delta or attempt.epsilon(0.9) == epsilon


def of_test(test, users, gamma=4):
    share = Fraction(1, users)
    return Attempt(
        passes=test.weights.tolist(),
        total=TOTAL,
        gamma=Fraction(gamma),
        most=share,
        least=share,
        claims=users,
    )


def test_the_theorem_follows_with_every_t():
    """The pairs of the printed theorem, with half its delta and the drop, are never better."""
    users, k, epsilon0, gamma = 20, 5, 1.0, 4
    attempt = of_test(PrivacyTest(k=k, epsilon0=epsilon0, drop=0.5), users, gamma)
    for t in range(1, k):
        delta = 0.5 * math.exp(-epsilon0 * (k - t))
        assert attempt.epsilon(delta) <= epsilon0 + math.log1p(gamma / t)


def test_what_has_no_bound_is_infinite():
    assert of_test(PrivacyTest(k=5, epsilon0=1.0, drop=0.0), 20).epsilon(0.1) == math.inf
    assert of_test(PrivacyTest(k=5, epsilon0=1.0, drop=0.0), 20).delta(50.0) == 1
    assert of_test(PrivacyTest(k=3, epsilon0=60.0), 5).epsilon(1e-3) == math.inf
    assert of_test(PrivacyTest(k=5, epsilon0=1.0), 20).epsilon(1e-9) == math.inf


def test_passing_that_is_all_but_impossible_does_not_hide_the_loss():
    """With steep noise most counts never pass; the loss is at the step where passing begins."""
    steep = of_test(PrivacyTest(k=10, epsilon0=9.4), 20, gamma=8)
    assert steep.epsilon(1e-8) > 9


def test_failing_alone_costs_little():
    """A test that asks for nothing: what remains is the share of a claim that may fail."""
    open_test = Attempt(
        passes=[BIG // 2] * 3,
        total=BIG,
        gamma=Fraction(1),
        most=Fraction(1, 10),
        least=Fraction(1, 10),
        claims=10,
    )
    threshold = math.log(0.9 + 0.1 / 0.5)
    assert open_test.delta(threshold + 1e-9) == pytest.approx(0.05, abs=1e-6)
    assert open_test.delta(threshold - 1e-6) == 1
    assert open_test.epsilon(0.05) == pytest.approx(threshold)


@pytest.mark.parametrize(("claims", "delta"), [(1, 1e-3), (1, 0.9), (65536, 1e-3), (1000, 0.05)])
def test_a_delta_that_covers_everything_leaves_what_failing_tells(claims, delta):
    attempt = of_test(PrivacyTest(k=1, epsilon0=8.0), claims)
    epsilon = attempt.epsilon(delta)
    assert math.isinf(epsilon) == (claims == 1 and delta < 0.25)
    if math.isfinite(epsilon):
        assert attempt.delta(epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_move_cost_their_ratio_more(seed):
    """Weights learnt from the claims: any two that keep their bounds, on neighbours."""
    users = 2
    rng = np.random.default_rng(seed)
    reach, steps, buckets, _, passes, attempt = random_case(rng, users, equal=True)
    learnt = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4))]
    bounded = attrs.evolve(attempt, most=Fraction(3, 4), least=Fraction(1, 4))
    assert bounded.epsilon(0.3) > attempt.epsilon(0.3) - 1e-12
    epsilon = 1.2
    allowed = bounded.delta(epsilon)
    assert allowed < 1
    for claims, neighbour in worlds(reach, users):
        for one, two in itertools.product(learnt, repeat=2):
            distribution = distribution_of(claims, one, steps, buckets, passes, 100)
            other = distribution_of(neighbour, two, steps, buckets, passes, 100)
            assert beyond(distribution, other, epsilon + math.log(3)) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 4), (0.5, 7), (1.0, 10), (0.01, 60)])
def test_delta_is_that_of_the_worst_mechanism(epsilon, count):
    """Randomised response: the loss of heads and tails is their difference times epsilon."""
    for steps in range(count // 2 + 1):
        total = (count - 2 * steps) * epsilon
        exact = 0.0
        for tails in range(count + 1):
            ways = math.comb(count, tails) / (1 + math.exp(epsilon)) ** count
            here, there = math.exp((count - tails) * epsilon), math.exp(tails * epsilon)
            exact += ways * max(0.0, here - math.exp(total) * there)
        assert exact <= composed_delta(epsilon, count, steps) <= exact * (1 + 2e-6) + 1e-14


def test_pure_losses_add_without_a_delta():
    assert composed_epsilon(0.3, 0.0, 5, 0.0) == pytest.approx(1.5)
    assert composed_epsilon(0.0, 0.0, 5, 0.0) == 0


def test_a_delta_buys_a_smaller_sum():
    sums = [composed_epsilon(0.05, 0.0, 100, delta) for delta in (0.0, 1e-9, 1e-6, 1e-3)]
    assert sums == sorted(sums, reverse=True)
    assert sums[0] == pytest.approx(5.0)
    assert sums[-1] < 2


def test_deltas_beyond_the_total_leave_no_bound():
    assert composed_epsilon(0.1, 1e-3, 10, 1e-3) == math.inf
    assert composed_epsilon(0.1, 1.0, 1, 0.5) == math.inf
    assert composed_epsilon(math.inf, 0.0, 1, 0.5) == math.inf
    assert composed_epsilon(0.1, 1e-4, 10, 1e-3) == pytest.approx(1.0)


def test_a_curve_is_composed_at_its_best_share():
    def steep(delta):
        return 1.0 if delta >= 1e-7 else math.inf

    assert compose_curve(steep, 10, 1e-6) == pytest.approx(10.0)

    def flat(_):
        return 0.01

    assert compose_curve(flat, 1000, 1e-6) < 2
