import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, signal, special

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.sampled_variance import (
    MAX_ANSWERS,
    VarianceLaw,
    claimed_epsilon,
    claimed_rate,
    gaussian_delta,
    log_normal_tail,
)

STEPS = 1000


def continuous(epsilon, distance):
    """Return the delta of Gaussian noise by the printed formula."""
    return special.ndtr(distance / 2 - epsilon / distance) - math.exp(epsilon) * special.ndtr(
        -distance / 2 - epsilon / distance
    )


def integral(epsilon, rate, least, count=1):
    """Return the mean over the variance, for a distance of 1."""

    def term(more):
        return (
            rate * math.exp(-rate * more) * continuous(epsilon, math.sqrt(count / (least + more)))
        )

    knots = np.geomspace(1e-3, 1e3, 13) / rate
    return sum(
        integrate.quad(term, low, high, epsabs=1e-12)[0]
        for low, high in zip([0.0, *knots], [*knots, np.inf], strict=True)
    )


def law_of(rate, least=0.0, steps=STEPS):
    """Return the law for a distance of 1 that is `steps` steps."""
    return VarianceLaw(steps=steps, rate=rate / steps**2, least=least * steps**2)


def mixture(law, reach, times=12):
    """Return the variances of a law, their probabilities and those of each place, exactly."""
    unit = 1 / (law.rate * law.mean)
    units = np.arange(1, times * law.mean + 1)
    chances = np.exp(-units / law.mean)
    variances = law.least + unit * units
    places = np.arange(-reach, reach + 1)
    laws = np.exp(-(places**2) / (2 * variances[:, np.newaxis]))
    return chances / chances.sum(), laws / laws.sum(axis=1, keepdims=True)


def shifted(table, steps):
    """Return laws of places that are `steps` further up, along the last axis."""
    moved = np.zeros_like(table)
    moved[..., steps:] = table[..., :-steps]
    return moved


def outside(one, other, epsilon):
    """Return the exact delta of two laws, along the last axis."""
    return np.maximum(one - math.exp(epsilon) * other, 0).sum(axis=-1)


@pytest.mark.parametrize("x", [-40.0, -3.0, 0.0, 1.0, 8.0, 35.99, 36.01, 50.0, 1e4])
def test_tails_of_the_normal_law(x):
    assert log_normal_tail(x) == pytest.approx(special.log_ndtr(-x), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 10.0])
@pytest.mark.parametrize("distance", [0.05, 1.0, 7.0])
def test_delta_of_gaussian_noise(epsilon, distance):
    wanted = continuous(epsilon, distance)
    assert gaussian_delta(epsilon, distance) == pytest.approx(wanted, abs=1e-14)
    assert gaussian_delta(epsilon, distance, 1.5) == pytest.approx(
        math.exp(1.5) * wanted, abs=1e-13
    )


def test_large_losses_do_not_overflow():
    assert gaussian_delta(5000.0, 100.0) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.187), (2.0, 0.111), (5.0, 0.048)])
def test_a_rate_for_which_one_answer_loses_1(epsilon, delta):
    law = law_of(0.5)
    assert law.one_answer_epsilon == pytest.approx(1.0, abs=1e-7)
    assert law.delta_at(epsilon) == pytest.approx(delta, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    ("rate", "least"), [(0.5, 0.0), (0.01, 0.0), (8.0, 0.0), (0.5, 0.3), (0.1, 5.0), (2.0, 8.0)]
)
@pytest.mark.parametrize("count", [1, 7])
def test_the_closed_form_is_the_integral(epsilon, rate, least, count):
    bound = law_of(rate, least).delta_at(epsilon, count)
    wanted = integral(epsilon, rate, least, count)
    assert wanted <= bound <= wanted + 6e-5 * max(rate, 0.1)


@given(st.floats(0.01, 20.0), st.floats(1e-6, 0.99))
def test_the_claim_holds_for_one_of_any_number_of_answers(epsilon, delta):
    rate = claimed_rate(epsilon, delta, STEPS)
    assert claimed_epsilon(rate, delta, STEPS) == pytest.approx(epsilon)
    pure = STEPS * math.sqrt(2 * rate)
    without_grid = -math.expm1((epsilon - math.hypot(epsilon, pure)) / 2)
    assert without_grid <= delta
    bound = VarianceLaw(steps=STEPS, rate=rate).delta_at(epsilon)
    assert without_grid <= bound <= without_grid + 2e-5 * pure**2 + 1e-5


def test_one_step_of_the_proof_fails():
    """At the least variance that the proof takes as safe, a Gaussian exceeds the claim."""
    for epsilon in (0.1, 1.0, 3.0):
        assert gaussian_delta(epsilon, math.sqrt(2 * epsilon)) > 0.1


@pytest.mark.parametrize("least", [0.0, 9.0])
@pytest.mark.parametrize(("steps", "scale"), [(8, 6.0), (3, 2.0), (20, 10.0)])
def test_the_pure_loss_of_one_answer_by_enumeration(steps, scale, least):
    law = VarianceLaw(steps=steps, rate=1 / (2 * scale**2), least=least, mean=256)
    reach = int(5 * scale) + steps
    chances, laws = mixture(law, reach=20 * int(scale))
    middle = 20 * int(scale)
    one = (chances @ laws)[middle - reach : middle + reach + 1]
    worst = max(
        np.abs(np.log(one[distance:] / one[:-distance])).max() for distance in range(1, steps + 1)
    )
    assert worst <= law.one_answer_epsilon
    assert worst >= steps / scale - 16 / (256 * math.sqrt(law.rate))
    tighter = VarianceLaw(steps=steps, rate=law.rate, least=least)
    assert tighter.one_answer_epsilon == pytest.approx(steps / scale, rel=1e-5)


@pytest.mark.parametrize("least", [0.0, 20.0])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_one_and_two_answers_by_enumeration(epsilon, least):
    """What is stated covers the exact loss, of those who know the variance and who do not."""
    law = VarianceLaw(steps=24, rate=1 / 800, least=least, mean=100)
    chances, laws = mixture(law, reach=260)
    known = chances @ outside(laws, shifted(laws, 24), epsilon)
    assert known <= law.delta_at(epsilon) <= known + 1e-2
    alone = chances @ laws
    assert outside(alone, shifted(alone, 24), epsilon) < known
    beside = laws[:, 100:421]  # another answer, in the same place; a hair is cut off
    pair = (chances * beside.T) @ laws
    of_two = outside(pair, shifted(pair, 24), epsilon).sum()
    assert outside(alone, shifted(alone, 24), epsilon) < of_two + 1e-6 < known
    sums = signal.fftconvolve(laws, laws, axes=1)
    row = chances @ outside(sums, shifted(sums, 48), epsilon)
    assert row <= law.delta_at(epsilon, count=2) <= row + 1e-2
    both = shifted(np.swapaxes(shifted(pair[:, 100:421], 24), 0, 1), 24).T
    assert outside(pair[:, 100:421], both, epsilon).sum() < row


def test_a_smaller_distance_loses_no_more():
    law = VarianceLaw(steps=24, rate=1 / 800, mean=24)
    chances, laws = mixture(law, reach=200)
    losses = [chances @ outside(laws, shifted(laws, d), 1.0) for d in range(1, 25)]
    assert np.all(np.diff(losses) > 0)


def test_the_loss_of_workers_by_simulation():
    """With the variance, the loss has the stated delta; without it, less and less less."""
    rng = np.random.default_rng(5)
    samples, epsilon = 10_000, 1.0
    law = law_of(0.5)
    variances = rng.standard_exponential(samples) / 0.5
    noise = rng.standard_normal((samples, 60)) * np.sqrt(variances)[:, np.newaxis]
    loss = (1 + 2 * noise[:, 0]) / (2 * variances)
    beyond = -np.expm1(np.minimum(epsilon - loss, 0))
    spread = beyond.std() / math.sqrt(samples)
    assert abs(beyond.mean() - law.delta_at(epsilon)) < 5 * spread
    nodes = np.geomspace(1e-4, 60.0, 200)
    weights = np.log(nodes) - 0.5 * nodes
    found = []
    for answers in (2, 10, 60):
        squares = (noise[:, 1:answers] ** 2).sum(axis=1)

        def log_law(first, squares=squares, answers=answers):
            exponents = -(first**2 + squares)[:, np.newaxis] / (2 * nodes)
            return special.logsumexp(exponents + weights - answers / 2 * np.log(nodes), axis=1)

        gained = log_law(noise[:, 0]) - log_law(noise[:, 0] + 1)
        found.append(-np.expm1(np.minimum(epsilon - gained, 0)).mean())
    assert 0.02 < found[0] < found[1] - 0.02 < found[2] - 0.02
    assert law.delta_at(epsilon) - 0.02 < found[2] < law.delta_at(epsilon) + 5 * spread


@given(st.floats(0.05, 5.0), st.floats(0.001, 0.9), st.integers(1, 1000))
def test_epsilon_at_is_the_inverse(epsilon, delta, count):
    law = VarianceLaw(steps=STEPS, rate=claimed_rate(epsilon, delta, STEPS))
    found = law.epsilon_at(delta, count)
    assert law.delta_at(found, count) <= delta
    if found:
        assert law.delta_at(found * (1 - 1e-3), count) > delta
    exponent = -math.log1p(-delta)
    assert found == pytest.approx(max(0.0, count * epsilon - exponent), rel=2e-3, abs=2e-3)


def test_the_row_at_the_delta_of_one_answer():
    law = law_of(0.1)
    delta = law.delta_at(1.0)
    more = -math.log1p(-delta)
    for count in (2, 5, 10, 1000):
        assert law.epsilon_at(delta, count) == pytest.approx(count + (count - 1) * more, rel=1e-4)


def test_no_epsilon_reaches_a_delta_below_the_rounding():
    assert law_of(0.5).epsilon_at(1e-13) == math.inf
    assert law_of(0.5).epsilon_at(1.0) == 0.0
    with pytest.raises(ParameterError, match="answers must be at most 10,000,000"):
        law_of(0.5).epsilon_at(0.1, MAX_ANSWERS + 1)


def test_more_noise_loses_less():
    losses = [law_of(rate, least).delta_at(1.0) for rate, least in ((1, 0), (0.5, 0), (0.5, 1))]
    assert losses[0] > losses[1] > losses[2]
    at_least = gaussian_delta(1.0, 1.0)
    assert losses[2] < at_least, "never more than with the least variance alone"


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_the_grid_can_lose_more_than_its_continuous_limit(epsilon):
    law = VarianceLaw(steps=1, rate=0.02, mean=400)
    chances, laws = mixture(law, reach=150)
    known = chances @ outside(laws, shifted(laws, 1), epsilon)
    limit = -math.expm1((epsilon - math.hypot(epsilon, math.sqrt(0.04))) / 2)
    assert limit < known <= law.delta_at(epsilon)


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize(
    ("steps", "rate", "least"),
    [(2, 0.5, 32.0), (2, 0.1, 1.0), (4, 0.1, 1.0), (8, 0.01, 0.0), (1000, 1e-6, 0.0)],
)
def test_delta_does_not_rise_with_epsilon(steps, rate, least, count):
    law = VarianceLaw(steps=steps, rate=rate, least=least)
    deltas = [law.delta_at(epsilon, count) for epsilon in [0.0, *np.geomspace(1e-3, 1e5, 400)]]
    assert np.diff(deltas).max() <= 1e-13


def test_the_least_epsilon_is_found_before_the_bound_of_the_grid_rises():
    law = VarianceLaw(steps=2, rate=0.5, least=32.0)
    delta = law.delta_at(16.0)
    assert delta < 0.26
    assert law.delta_at(law.epsilon_at(delta)) <= delta
