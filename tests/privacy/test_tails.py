import itertools
import math
from collections import Counter
from operator import eq, ne

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.accounting.calibration import two_layer_bounds
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels import TableChannel
from quietcrowd.privacy import PrivacyGuarantee
from quietcrowd.privacy.loss import LossDistribution, channel_distribution, pure_distribution
from quietcrowd.privacy.loss_grid import compose_losses
from quietcrowd.privacy.tails import (
    TailBound,
    composed_tail,
    tail_at,
    tail_of_curve,
    tail_of_distribution,
)

YES_NO = qc.Categorical(["no", "yes"])


@given(
    masses=st.lists(st.floats(1e-3, 1), min_size=2, max_size=5),
    losses=st.lists(st.floats(-3, 3), min_size=5, max_size=5),
    epsilon=st.floats(0, 3),
    probability=st.floats(1e-3, 0.999),
)
def test_a_pair_bounds_the_tail_of_every_distribution_that_has_it(
    masses, losses, epsilon, probability
):
    total = sum(masses)
    distribution = [(mass / total, loss) for mass, loss in zip(masses, losses, strict=False)]
    delta = sum(mass * -math.expm1(min(0.0, epsilon - loss)) for mass, loss in distribution)
    bound = tail_at(epsilon, delta, probability)
    assert bound >= epsilon
    assert sum(mass for mass, loss in distribution if loss > bound) <= probability * (1 + 1e-9)


def test_a_distribution_reaches_the_bound_of_its_pair():
    epsilon, delta, probability = 1.0, 0.02, 0.1
    bound = tail_at(epsilon, delta, probability)
    assert probability * -math.expm1(epsilon - bound) == pytest.approx(delta)


def test_a_pair_says_nothing_of_what_is_as_rare_as_its_delta():
    assert tail_at(1.0, 0.1, 0.1) == math.inf
    assert tail_at(math.inf, 0.1, 0.5) == math.inf
    assert tail_at(2.0, 0.0, 0.0) == 2.0
    assert tail_of_curve([(1.0, 0.1), (2.0, 0.01)], 0.1) == tail_at(2.0, 0.01, 0.1)
    assert tail_of_curve([], 0.1) == math.inf


def test_a_guarantee_with_a_delta_has_a_tail():
    stated = PrivacyGuarantee(
        answers=3,
        epsilon=1.0,
        total_epsilon=3.0,
        delta=0.01,
        participation_protected=False,
        claimed_epsilon=1.0,
        assumptions=(),
        source="",
    )
    assert stated.tail == TailBound.of_pair(1.0, 1.0, 3.0, 0.01)
    assert stated.tail.probability == 0.02
    assert stated.tail.total_epsilon == pytest.approx(3 + math.log(2))
    pure = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).guarantee(answers=3)
    assert pure.tail is None


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", Mechanism.registry())
def test_tails_are_no_more_than_pure_losses(mechanism):
    kind = Mechanism.registry()[mechanism]
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
    stated = built.guarantee(answers=4, tasks=6, linked=2)
    last = math.inf
    for probability in (1e-9, 1e-3, 0.1, 0.6):
        tail = built.tail(probability, answers=4, tasks=6, linked=2)
        assert tail.probability == probability
        assert 0 <= tail.total_epsilon <= last
        last = tail.total_epsilon
        assert tail.epsilon <= stated.epsilon * (1 + 1e-9)
        assert tail.linked_epsilon <= stated.linked_epsilon * (1 + 1e-9)
        assert tail.total_epsilon <= stated.total_epsilon * (1 + 1e-9)


@pytest.mark.parametrize("probability", [0, 1, -0.1, 2, math.nan, "0.1", True, None])
def test_probabilities_are_checked(probability):
    with pytest.raises(ParameterError, match="probability"):
        qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).tail(probability)


@pytest.mark.parametrize("mechanism", Mechanism.registry())
def test_linked_answers_are_some_of_all(mechanism):
    kind = Mechanism.registry()[mechanism]
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
    for linked in (0, 5, -1, 1.5, "2"):
        with pytest.raises(ParameterError, match="linked"):
            built.guarantee(answers=4, tasks=4, linked=linked)


@pytest.mark.parametrize("mechanism", Mechanism.registry())
def test_a_fact_that_answers_share_is_between_one_and_all(mechanism):
    kind = Mechanism.registry()[mechanism]
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0)
    losses = [built.guarantee(answers=6, tasks=6, linked=m).linked_epsilon for m in range(1, 7)]
    stated = built.guarantee(answers=6, tasks=6)
    assert losses[0] == stated.epsilon == stated.linked_epsilon
    assert losses == sorted(losses)
    assert losses[-1] <= stated.total_epsilon * (1 + 1e-12)
    assert losses[2] > 1.5 * losses[0]


def test_a_tail_is_told_in_a_sentence_with_figures_rounded_up():
    bound = TailBound(
        probability=0.0123456789, epsilon=1.00001, linked_epsilon=2.0, total_epsilon=math.inf
    )
    assert str(bound) == (
        "Each with probability at least 1 - 0.0123457, the loss is at most 1.001 about one answer, "
        "2 about a fact that linked answers share, and inf about all together."
    )


def randomised(epsilon, labels=2):
    return qc.RandomizedResponse(domain=qc.Ordinal(range(labels)), epsilon=epsilon)


def distribution_of(losses, masses):
    """Return a distribution as {loss: probability}."""
    distribution = Counter()
    for loss, mass in zip(losses, masses, strict=True):
        distribution[round(float(loss), 9)] += float(mass)
    return distribution


def added(*distributions):
    """Return the distribution of the sum of independent losses."""
    whole = Counter({0.0: 1.0})
    for distribution in distributions:
        pairs = itertools.product(whole.items(), distribution.items())
        sums = [(x + y, p * q) for (x, p), (y, q) in pairs]
        whole = distribution_of(*zip(*sums, strict=True))
    return whole


def exceeded(distribution, loss):
    return sum(mass for one, mass in distribution.items() if one > loss + 1e-6)


def distributions_of_rows(channel, differing):
    """Return the distributions of the loss of all pairs of rows that differ in so many answers."""
    pairs = [
        distribution_of(np.log(one / other), one)
        for one, other in itertools.permutations(channel.probabilities, 2)
    ]
    return [added(*rows) for rows in itertools.combinations_with_replacement(pairs, differing)]


@pytest.mark.parametrize(("epsilon", "count", "delta"), [(0.1, 100, 1e-5), (1.0, 50, 1e-6)])
def test_a_pair_is_exceeded_more_often_than_its_delta_says_and_a_tail_is_not(epsilon, count, delta):
    spent = (
        qc.PrivacyLedger()
        .charge("ann", randomised(epsilon), answers=count)
        .spent("ann", delta=delta)
    )
    right = 1 / (1 + math.exp(-epsilon))

    def worst(loss):
        """Return the largest P(loss of rows that differ in m answers > loss)."""
        fewest = [math.floor((loss / epsilon + m) / 2 + 1e-6) for m in range(1, count + 1)]
        return max(binom.sf(k, m, right) for m, k in enumerate(fewest, start=1))

    assert worst(spent.total_epsilon) > 3 * delta
    assert worst(spent.total_tail) <= delta
    assert worst(spent.total_tail - epsilon / 2) > delta  # and no more than that is said


def test_rows_that_differ_in_fewer_answers_may_tell_more():
    distribution = randomised(0.1).loss(100).each
    all_of_them = binom.sf(math.floor((4.6 / 0.1 + 100) / 2 + 1e-6), 100, 1 / (1 + math.exp(-0.1)))
    assert all_of_them < 1e-5
    assert composed_tail([(distribution, 100)], 1e-5) == pytest.approx(4.7)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 3, nightly(5)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_every_tail_of_randomised_response_is_within_the_bound(labels, epsilon):
    mechanism = randomised(epsilon, labels)
    distributions = [
        distribution
        for m in (1, 2, 3, 4)
        for distribution in distributions_of_rows(mechanism.channel, m)
    ]
    for probability in (0.001, 0.01, 0.1, 0.3, 0.6):
        bound = mechanism.tail(probability, answers=4).total_epsilon
        worst = max(exceeded(distribution, bound) for distribution in distributions)
        assert worst <= probability
        tight = (
            bound == 0
            or max(exceeded(distribution, bound - epsilon / 2) for distribution in distributions)
            > probability
        )
        assert tight


def test_every_tail_of_a_table_with_many_distributions_is_within_the_bound():
    weights = np.array([[4, 2, 1, 1], [1, 4, 2, 1], [2, 2, 2, 2]], np.uint64) * 2**29
    channel = TableChannel(weights=weights)
    distribution = channel_distribution(channel.weights, channel.epsilon)
    assert not distribution.is_of_all_pairs
    for probability in (0.01, 0.1, 0.4):
        for count in (1, 2, 3):
            bound = composed_tail([(distribution, count)], probability)
            for differing in range(1, count + 1):
                for own in distributions_of_rows(channel, differing):
                    assert exceeded(own, bound) <= probability


def test_releases_of_several_kinds_are_bounded_by_their_curve():
    parts = [(randomised(0.5).loss().each, 6), (randomised(1.0, 3).loss().each, 4)]
    one, other = (
        distribution_of(distribution.losses, distribution.masses) for distribution, _ in parts
    )
    for probability in (1e-4, 1e-2, 0.2):
        bound = composed_tail(parts, probability)
        worst = max(
            exceeded(added(*[one] * m, *[other] * n), bound) for m in range(7) for n in range(5)
        )
        assert worst <= probability
        assert bound >= compose_losses(parts, probability)


def test_a_curve_costs_little_and_a_pair_more():
    distribution = randomised(0.1).loss(100).each
    by_curve = composed_tail([(evolve(distribution, is_of_all_pairs=False), 100)], 1e-5)
    assert 4.7 < by_curve == pytest.approx(4.85, abs=0.005)
    coin = pure_distribution(1.0, 1e-3)
    assert composed_tail([(coin, 1)], 1e-3) == math.inf
    assert composed_tail([(coin, 1)], 2e-3) <= 1.0 + math.log(2) + 1e-6


def test_nothing_is_lost_where_nothing_is_reported():
    assert composed_tail([], 1e-6) == 0.0
    assert composed_tail([(randomised(1.0).loss().each, 0)], 1e-6) == 0.0
    assert composed_tail([(randomised(1.0).loss().each, 3)], 0.0) == pytest.approx(3.0)
    assert composed_tail([(randomised(1.0).loss().each, 3)], 1.0) == 0.0


def test_an_infinite_loss_is_exceeded_by_no_tail_below_its_probability():
    distribution = LossDistribution(masses=[0.49, 0.5], losses=[-1.0, 1.0], lost=0.01, epsilon=1.0)
    assert tail_of_distribution(distribution, 0.02) == 1.0
    assert tail_of_distribution(distribution, 0.005) == math.inf


def test_one_of_several_answers_that_share_a_draw_has_the_tail_of_its_own_distribution():
    mechanism = TwoLayerRandomizedResponse(domain=qc.Ordinal([0, 1]), low=0.1, high=0.5)
    distribution = mechanism.loss(20).answer
    assert distribution.is_of_all_pairs
    for probability in (0.01, 0.2, 0.5):
        bound = mechanism.tail(probability, answers=20).epsilon
        assert (
            distribution.masses[distribution.losses > bound].sum() + distribution.lost
            <= probability
        )
        assert (
            distribution.masses[distribution.losses >= bound].sum() + distribution.lost
            > probability
        )


def test_whole_rows_that_share_a_draw_have_the_tails_of_their_own_distributions():
    n = 5
    mechanism = TwoLayerRandomizedResponse(domain=qc.Ordinal([0, 1]), low=0.25, high=0.5)
    flips = 0.25 + 0.25 * (np.arange(100_000) + 0.5) / 100_000
    rows = list(itertools.product((0, 1), repeat=n))
    chance = {c: ((1 - flips) ** c * flips ** (n - c)).mean() for c in range(n + 1)}
    start = (0,) * n
    for probability in (0.02, 0.1, 0.3):
        tail = mechanism.tail(probability, answers=n, linked=2)
        worst = {}
        for other in rows[1:]:
            of_one = [chance[row.count(0)] for row in rows]
            of_other = [chance[sum(map(eq, row, other))] for row in rows]
            own = distribution_of(np.log(np.divide(of_one, of_other)), of_one)
            for name, most in (("linked", 2), ("total", n)):
                if sum(map(ne, start, other)) <= most:
                    bound = getattr(tail, f"{name}_epsilon")
                    worst[name] = max(worst.get(name, 0.0), exceeded(own, bound))
        assert max(worst.values()) <= probability
    assert tail.total_epsilon < mechanism.guarantee(answers=n).total_epsilon


def test_own_distributions_of_rows_say_more_than_the_curve():
    low, high = two_layer_bounds(1.0, 100, labels=2)
    mechanism = TwoLayerRandomizedResponse(domain=qc.Ordinal([0, 1]), low=low, high=high)
    curve = composed_tail([(mechanism.loss(100).each, 1)], 0.01)
    assert mechanism.tail(0.01, answers=100).total_epsilon < curve - 1
