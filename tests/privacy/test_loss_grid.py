"""Composed losses against exact sums in many digits, and against dp-accounting."""

import json
import math
from decimal import Context, Decimal, localcontext
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels import TableChannel
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.privacy.loss import (
    LossDistribution,
    channel_distribution,
    laplace_distribution,
    pure_distribution,
)
from quietcrowd.privacy.loss_grid import (
    LossGrid,
    compose_losses,
    grid_step,
    sum_losses,
)

PEERS = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
TOTAL = 2**32

PEER = """
import json, math, sys
from dp_accounting.pld import privacy_loss_distribution as pld

found = []
for labels, epsilon, count, delta in json.loads(sys.argv[1]):
    noise = labels / (math.exp(epsilon) + labels - 1)
    one = pld.from_randomized_response(noise, labels, value_discretization_interval=1e-3)
    total = one
    for _ in range(count - 1):
        total = total.compose(one)
    found.append(total.get_epsilon_for_delta(delta))
print(json.dumps(found))
"""


def response(labels, epsilon):
    """Return the channel of randomised response."""
    other = math.ceil(TOTAL / (labels - 1 + math.exp(epsilon)))
    return TableChannel.randomized_response(labels, other)


def distribution_of(channel):
    return channel_distribution(channel.weights, channel.epsilon)


def exact_delta(channel, count, epsilon):
    """Return delta of `count` randomised responses from trinomial sums in 60 digits."""
    with localcontext(Context(prec=60)):
        keep, other = Decimal(int(channel.weights[0, 0])), Decimal(int(channel.weights[0, 1]))
        rest = TOTAL - keep - other
        factor, delta = Decimal(epsilon).exp(), Decimal(0)
        for agree in range(count + 1):
            for differ in range(count + 1 - agree):
                left = count - agree - differ
                if left and not rest:
                    continue
                ways = math.comb(count, agree) * math.comb(count - agree, differ)
                neither = rest**left if left else Decimal(1)
                first = keep**agree * other**differ if agree + differ else Decimal(1)
                second = keep**differ * other**agree if agree + differ else Decimal(1)
                delta += max(Decimal(0), first - factor * second) * ways * neither
        return delta / Decimal(TOTAL) ** count


def binomial_delta(channel, count, epsilon):
    """Return delta of `count` binary responses from binomial probabilities."""
    first = channel.weights[0, 0] / TOTAL
    one = math.log(first / (1 - first))
    least = max(0, math.ceil((epsilon / one + count) / 2))
    likely = count * first + 40 * math.sqrt(count * first * (1 - first)) + 40
    agree = np.arange(least, min(count, int(likely)) + 1)
    terms = binom.pmf(agree, count, first) * -np.expm1(epsilon - (2 * agree - count) * one)
    return float(terms.sum())


def binomial_epsilon(channel, count, delta):
    """Return the least epsilon of `count` binary responses at delta."""
    low, high = 0.0, count * channel.epsilon
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if binomial_delta(channel, count, middle) <= delta else (middle, high)
        )
    return high


def enumerated_delta(pairs, epsilon):
    """Return delta of the product of pairs of distributions, over all combinations of reports."""
    first, second = np.ones(1), np.ones(1)
    for one, other in pairs:
        first, second = np.outer(first, one).ravel(), np.outer(second, other).ravel()
    return np.maximum(first - math.exp(epsilon) * second, 0).sum()


@pytest.mark.parametrize(
    ("labels", "count", "printed"), [(2, 50, 47.65), (4, 50, 37.41), (4, 7, None), (64, 20, None)]
)
def test_randomised_response_against_exact_sums(labels, count, printed):
    channel = response(labels, 1.0)
    found = compose_losses([(distribution_of(channel), count)], 1e-6)
    assert exact_delta(channel, count, found) <= Decimal("1e-6")
    assert exact_delta(channel, count, found - 1e-6) > Decimal("1e-6")
    if printed:
        assert math.ceil(found * 100) / 100 == printed


@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.3])
def test_delta_and_epsilon_are_inverse_to_each_other(delta):
    channel = response(3, 0.7)
    losses = LossGrid.of_distribution(distribution_of(channel), channel.epsilon).repeated(12)
    epsilon = losses.epsilon(delta)
    assert losses.delta(epsilon) <= delta
    assert float(exact_delta(channel, 12, epsilon)) == pytest.approx(delta, rel=1e-5)


@pytest.mark.skipif(not PEERS.exists(), reason="dp-accounting is not installed: make bench does it")
def test_the_oracle_agrees(program):
    cases = [(2, 1.0, 50, 1e-6), (4, 1.0, 50, 1e-6), (3, 0.2, 30, 1e-4), (10, 2.0, 20, 1e-8)]
    words = (PEERS, "-c", PEER, json.dumps(cases))
    peer = json.loads(program(*words).finished(check=True).output)
    for (labels, epsilon, count, delta), theirs in zip(cases, peer, strict=True):
        ours = compose_losses([(distribution_of(response(labels, epsilon)), count)], delta)
        assert ours - 1e-4 <= theirs <= ours + count * 1e-3 + 1e-4


def test_a_grid_that_fits_badly_costs_little_and_never_gains():
    channel = response(4, 1.0)
    exact = compose_losses([(distribution_of(channel), 50)], 1e-6)
    for parts in (3.3, 20.7, 100.1):
        losses = LossGrid.of_distribution(
            distribution_of(channel), channel.epsilon / parts
        ).repeated(50)
        assert exact <= losses.epsilon(1e-6) <= exact + 3 / parts


def test_mechanisms_of_many_kinds_against_enumeration():
    two, three = response(2, 1.0), response(3, 0.3)
    noise = DiscreteLaplace(scale=4.0)
    parts = [
        (distribution_of(two), 3),
        (distribution_of(three), 2),
        (laplace_distribution(2, 4.0, noise.loss(2)), 1),
    ]
    places = np.arange(-200, 203)
    unit = math.tanh(0.125) * np.exp(-np.abs(places) / 4.0)
    moved = math.tanh(0.125) * np.exp(-np.abs(places - 2) / 4.0)
    pairs = [tuple(two.probabilities[:2])] * 3 + [tuple(three.probabilities[:2])] * 2
    pairs.append((unit, moved))
    for delta in (1e-3, 1e-2, 0.1):
        found = compose_losses(parts, delta)
        assert enumerated_delta(pairs, found) <= delta * (1 + 1e-12)
        assert enumerated_delta(pairs, found - 2e-3) > delta


def test_a_table_without_symmetry_covers_every_pair_of_every_answer():
    weights = np.array(
        [[2**31, 2**30, 2**30], [2**30, 2**30, 2**31], [3 * 2**29, 3 * 2**29, 2**30]], np.uint64
    )
    channel = TableChannel(weights=weights)
    rows = channel.probabilities
    pairs = [(rows[a], rows[b]) for a in range(3) for b in range(3) if a != b]
    found = [compose_losses([(distribution_of(channel), 3)], delta) for delta in (0.001, 0.01, 0.1)]
    for delta, epsilon in zip((0.001, 0.01, 0.1), found, strict=True):
        worst = max(enumerated_delta(three, epsilon) for three in product(pairs, repeat=3))
        assert 0.5 * delta <= worst <= delta
    assert distribution_of(channel).masses.min() >= 0
    assert distribution_of(channel).masses.sum() == pytest.approx(1)


def test_a_large_table_falls_back_on_its_loss():
    generator = np.random.default_rng(5)
    weights = generator.integers(2**24, 2**25, (64, 64)).astype(np.uint64)
    weights[:, 0] += np.uint64(TOTAL) - weights.sum(axis=1, dtype=np.uint64)
    channel = TableChannel(weights=weights)
    distribution = distribution_of(channel)
    assert distribution.losses.tolist() == pure_distribution(channel.epsilon).losses.tolist()


def test_laplace_noise_costs_less_than_its_pure_loss_and_covers_every_distance():
    distribution = laplace_distribution(64, 64.0, 1.0)
    assert compose_losses([(distribution, 10)], 0) == 10.0
    found = compose_losses([(distribution, 10)], 1e-6)
    assert found < compose_losses([(pure_distribution(1.0), 10)], 1e-6)
    places = np.arange(-3000, 3064)
    one = math.tanh(1 / 128) * np.exp(-np.abs(places) / 64.0)
    losses = LossGrid.of_distribution(distribution, grid_step(distribution, 1))
    for distance in (1, 32, 63, 64):
        other = math.tanh(1 / 128) * np.exp(-np.abs(places - distance) / 64.0)
        for epsilon in (0.0, 0.3, 0.9):
            exact = np.maximum(one - math.exp(epsilon) * other, 0).sum()
            assert exact <= losses.delta(epsilon) + 1e-15
            if distance == 64:
                assert losses.delta(epsilon) <= exact + 1e-5


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 6)), min_size=1, max_size=4),
    st.floats(1e-9, 0.5),
)
def test_composition_stays_between_zero_and_the_sum(parts, delta):
    distributions = [(pure_distribution(epsilon), times) for epsilon, times in parts]
    found = compose_losses(distributions, delta)
    assert 0 <= found <= sum_losses(parts)
    assert found >= compose_losses(distributions, min(1.0, 2 * delta)) - 1e-9


def test_what_is_lost_stays_lost():
    distribution = pure_distribution(0.5, delta=0.01)
    assert compose_losses([(distribution, 3)], 0.0) == math.inf
    assert compose_losses([(distribution, 3)], 0.029) == math.inf
    assert compose_losses([(distribution, 3)], 0.04) < 1.5
    assert compose_losses([(pure_distribution(math.inf), 1)], 0.5) == math.inf
    assert compose_losses([(pure_distribution(0.0), 9)], 1e-6) == 0.0
    assert compose_losses([(pure_distribution(0.0, delta=0.01), 1)], 0.02) == 0.0


def test_nothing_lost_where_reports_tell_nothing():
    channel = TableChannel.uninformative(5)
    assert compose_losses([(distribution_of(channel), 100)], 1e-9) == 0.0


def test_sums_are_exact_where_they_can_be():
    assert sum_losses([(1.0, 3), (0.5, 1)]) == 3.5
    assert sum_losses([(0.1, 3)]) >= 0.1 * 3
    assert sum_losses([(math.inf, 0), (1.0, 1)]) == 1.0
    assert sum_losses([(math.inf, 1)]) == math.inf


def test_messages():
    one = LossGrid.of_distribution(pure_distribution(1.0), 1.0)
    with pytest.raises(ParameterError, match=r"got steps 1\.0 and 0\.3"):
        one.compose(LossGrid.of_distribution(pure_distribution(1.0), 0.3))
    with pytest.raises(ParameterError, match="count must be a whole number, at least 1"):
        one.repeated(0)
    with pytest.raises(ParameterError, match="the privacy loss is infinite"):
        channel_distribution(np.array([[TOTAL, 0], [0, TOTAL]], np.uint64), math.inf)


def test_many_answers_cost_about_what_a_normal_loss_would():
    distribution = distribution_of(response(2, 0.01))
    found = compose_losses([(distribution, 10**5)], 1e-6)
    mean, deviation = 10**5 * 0.01 * math.tanh(0.005), 0.01 * math.sqrt(10**5)
    assert mean < found < mean + 6 * deviation


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 0.001])
def test_the_loss_of_ten_million_answers_is_hardly_above_the_exact_loss(epsilon):
    channel, count, delta = response(2, epsilon), 10**7, 1e-6
    found = compose_losses([(distribution_of(channel), count)], delta)
    exact = binomial_epsilon(channel, count, delta)
    mean = count * epsilon * math.tanh(epsilon / 2)
    assert exact <= found <= exact + 0.002 * (exact - mean)


@pytest.mark.slow
def test_ten_campaigns_of_ten_million_answers_are_composed():
    channels = [response(2, 0.1 * place) for place in range(1, 11)]
    found = compose_losses([(distribution_of(channel), 10**7) for channel in channels], 1e-6)
    mean = sum(10**7 * channel.epsilon * math.tanh(channel.epsilon / 2) for channel in channels)
    deviation = math.sqrt(
        sum(10**7 * (channel.epsilon / math.cosh(channel.epsilon / 2)) ** 2 for channel in channels)
    )
    # The sum is normal, but for next to nothing: 4.753 deviations are exceeded once in 10^6.
    assert mean + 4 * deviation <= found <= mean + 4.79 * deviation


def test_few_large_losses_beside_many_small_ones():
    large, small = response(2, 10.0), response(2, 0.001)
    found = compose_losses([(distribution_of(small), 10**7), (distribution_of(large), 1)], 1e-6)
    kept = large.weights[0, 0] / TOTAL

    def exact(epsilon):
        right = binomial_delta(small, 10**7, epsilon - large.epsilon)
        return kept * right + (1 - kept) * binomial_delta(small, 10**7, epsilon + large.epsilon)

    assert exact(found) <= 1e-6
    assert exact(found - 1e-3) > 1e-6


@given(st.integers(1, 400), st.floats(0.01, 3.0), st.floats(0.001, 2.0))
def test_a_coarser_grid_never_gains(count, loss, step):
    fine = LossGrid.of_distribution(pure_distribution(loss), step).repeated(count)
    coarse, moved = fine.coarsened(), fine.on_grid(0.7 * fine.step)
    for epsilon in (0.0, 0.3 * loss, 1.1 * loss, 0.5 * loss * count):
        exact = fine.delta(epsilon) * (1 - 1e-12)  # sums of other terms round otherwise
        assert coarse.delta(epsilon) >= exact
        assert moved.delta(epsilon) >= exact
    assert coarse.step == 2 * fine.step
    assert coarse.masses.sum() == pytest.approx(fine.masses.sum())
    assert coarse.epsilon(1e-6) <= fine.epsilon(1e-6) + 2 * fine.step


def test_distributions_on_halves_of_one_grid_are_added():
    coarse = LossGrid.of_distribution(pure_distribution(1.0), 1.0)
    fine = LossGrid.of_distribution(pure_distribution(1.0), 0.25)
    both = coarse.compose(fine)
    assert both.step == 1.0
    assert both.epsilon(1e-3) == pytest.approx(coarse.repeated(2).epsilon(1e-3))


def test_distributions_hold_upper_bounds_that_cannot_be_changed():
    distribution = LossDistribution.of_pair(
        np.array([0.75, 0.25]), np.array([0.25, 0.75]), math.log(3) + 1e-15
    )
    assert distribution.masses.sum() >= 1
    with pytest.raises(ValueError, match="read-only"):
        distribution.masses[0] = 0
