import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, signal, special
from scipy.special import gammaln, kve
from scipy.stats import binomtest, norm
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.sampled_variance import (
    MAX_ANSWERS,
    VarianceLaw,
    claimed_epsilon,
    claimed_rate,
    gaussian_delta,
    log_normal_tail,
    variance_tail,
    variance_tail_epsilon,
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


@pytest.mark.slow
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


@pytest.mark.slow
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


FINE = 2**14
RATES = {"narrow": 0.02, "middle": 0.2, "wide": 2.0}
"""Half of the squared loss of one answer alone."""


def law_with(rate, least=0.0, steps=FINE):
    return law_of(rate, least, steps)


def known(rate, least, loss, differing):
    """Return the tail for who learns the variance, by quadrature over it; distance 1."""

    def given(amount):
        spread = math.sqrt(differing / (least + amount / rate))
        return math.exp(-amount) * norm.sf(loss / spread - spread / 2)

    return integrate.quad(given, 0, 1, limit=200)[0] + integrate.quad(given, 1, math.inf)[0]


@pytest.mark.slow
@pytest.mark.parametrize("differing", [1, 7])
@pytest.mark.parametrize("least", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_who_learns_the_variance_exceeds_a_loss_as_often_as_the_integral_says(
    rate, least, differing
):
    law = law_with(rate, least)
    pure = math.sqrt(2 * rate * differing)
    for share in (2.0, 5.0, 20.0):
        exact = known(rate, least, share * pure, differing)
        stated = variance_tail(law, share * pure, differing=differing, answers=50)
        assert exact <= stated <= exact * 1.001 + 1e-7


def simulated_losses(rate, answers, differing, draws, seed):
    """Return losses to who sees the reports alone, by the exact density; distance 1."""
    rng = np.random.default_rng(seed)
    variances = rng.exponential(1 / rate, draws)
    along = rng.normal(size=draws) * np.sqrt(variances)
    across = rng.chisquare(answers - 1, draws) * variances
    here = along**2 + across
    there = (along + math.sqrt(differing)) ** 2 + across
    order = abs(answers / 2 - 1)

    def log_density(squares):
        roots = np.sqrt(2 * rate * squares)
        with np.errstate(over="ignore"):
            bessel = np.log(kve(order, roots)) - roots
        near_zero = gammaln(max(order, 1)) - math.log(2) - order * np.log(roots / 2)
        bessel = np.where(np.isfinite(bessel), bessel, near_zero)
        return (1 - answers / 2) / 2 * np.log(squares) + bessel

    return log_density(here) - log_density(there)


@pytest.mark.nightly
@pytest.mark.parametrize("differing", ["one", "all"])
@pytest.mark.parametrize("answers", [2, 5, 50, 300])
@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_no_loss_is_exceeded_more_often_than_its_tail_says(rate, answers, differing):
    count = 1 if differing == "one" else answers
    losses = simulated_losses(rate, answers, count, draws=2_000_000, seed=7)
    for probability in (0.5, 0.2, 0.05, 0.01, 0.001):
        bound = variance_tail_epsilon(law_with(rate), probability, differing=count, answers=answers)
        hits = int((losses > bound).sum())
        # 120 tests of a fixed seed, each wrong less than once in 10^9
        assert binomtest(hits, len(losses), probability, alternative="greater").pvalue > 1e-9


@pytest.mark.parametrize("answers", [2, 3])
def test_small_losses_of_few_answers_are_likelier_where_the_variance_is_unknown(answers):
    rate, loss = 0.2, 0.3
    losses = simulated_losses(rate, answers, 1, draws=200_000, seed=3)
    share = (losses > loss).mean()
    assert share > known(rate, 0.0, loss, 1) + 0.05
    assert variance_tail(law_with(rate), loss, answers=answers) == pytest.approx(share, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "rate"), [nightly(4, 1 / 50), (12, 1 / 200), nightly(24, 1 / 800)]
)
def test_tails_on_coarse_grids_are_within_the_bound(steps, rate):
    law = VarianceLaw(steps=steps, rate=rate, mean=100)
    units = np.arange(1, 40 * law.mean + 1)
    chances = np.exp(-units / law.mean)
    variances = (units / (law.mean * rate))[:, np.newaxis]
    noise = np.arange(-3000, 3001)
    laws = np.exp(-(noise**2) / (2 * variances))
    masses = (chances / chances.sum())[:, np.newaxis] * laws / laws.sum(axis=1, keepdims=True)
    losses = (2 * steps * noise + steps**2) / (2 * variances)
    for loss in (0.3, 1.0, 3.0, 10.0):
        exact = masses[losses > loss].sum()
        assert exact <= variance_tail(law, loss, answers=400)


@pytest.mark.slow
@pytest.mark.parametrize("least", [0.0, 1.0, *map(nightly, [0.05, 16.0])])
@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_a_worker_with_one_answer_exceeds_no_loss_more_often(rate, least):
    """One report: its loss grows with its noise, so that the threshold is found by bisection."""
    law = law_with(rate, least / rate)
    amounts = np.geomspace(1e-12, 80, 6000)
    shares = amounts * np.exp(-amounts)
    spreads = np.sqrt((least + amounts) / rate)

    def log_density(noise):
        return math.log((shares * norm.pdf(noise / spreads) / spreads).sum())

    for probability in (0.51, 0.55, 0.6, 0.8):
        bound = variance_tail_epsilon(law, probability)
        low, high = -0.5, 100.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            exceeded = log_density(middle) - log_density(middle + 1) > bound
            low, high = (low, middle) if exceeded else (middle, high)
        exact = (shares * norm.sf(high / spreads)).sum() / shares.sum()
        assert exact <= probability + 1e-6


def test_the_bound_is_the_loss_that_the_tail_reaches():
    law = law_with(0.2)
    for probability in (0.5, 0.1, 1e-3, 1e-6):
        bound = variance_tail_epsilon(law, probability, answers=50)
        assert variance_tail(law, bound, answers=50) <= probability
        assert variance_tail(law, bound * (1 - 1e-6), answers=50) > probability
    assert variance_tail_epsilon(law, 1.0) == 0.0


def test_the_claimed_pair_is_exceeded_more_often_than_its_delta_says():
    mechanism = qc.SampledVarianceGaussian(
        domain=qc.Interval(low=0, high=10), epsilon=1.0, delta=0.1
    )
    guarantee = mechanism.guarantee(answers=50)
    assert variance_tail(mechanism.channel.law, 1.0, answers=50) == pytest.approx(0.165, abs=1e-3)
    assert guarantee.delta < 0.0917
    assert guarantee.tail.epsilon == pytest.approx(1.661, abs=1e-3)


def losses_of_real_reports(mechanism, workers, answers):
    """Return the losses of workers who answer 10 once and else 0, against 0 everywhere."""
    import pandas as pd

    rows = pd.DataFrame(
        {
            "task": np.tile(np.arange(answers), workers),
            "worker": np.repeat(np.arange(workers), answers),
            "label": np.tile([10.0] + [0.0] * (answers - 1), workers),
        }
    )
    table = mechanism.randomize(qc.Answers.from_frame(rows, mechanism.domain)).table
    sent = np.empty((workers, answers))
    sent[table.worker_codes, table.task_codes] = mechanism.report_domain.numbers(table.values)
    amounts = np.geomspace(1e-9, 60, 2000)
    variances = amounts / (mechanism.channel.law.rate / mechanism.grid.step**2)
    logs = np.log(amounts) - amounts - answers / 2 * np.log(variances)
    others = (sent[:, 1:] ** 2).sum(axis=1)

    def log_density(first):
        terms = logs - ((sent[:, 0] - first) ** 2 + others)[:, np.newaxis] / (2 * variances)
        top = terms.max(axis=1)
        return top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))

    return log_density(10.0) - log_density(0.0)


@pytest.mark.nightly
def test_what_consent_says_of_a_drawn_variance_holds_for_real_reports():
    mechanism = qc.SampledVarianceGaussian(
        domain=qc.Interval(low=0, high=10), epsilon=1.0, delta=0.1
    )
    tail = mechanism.guarantee(answers=50).tail
    losses = losses_of_real_reports(mechanism, workers=4_000, answers=50)
    beyond_pair, beyond_tail = int((losses > 1.0).sum()), int((losses > tail.epsilon).sum())
    # Real noise: each fails once in 10^7 runs where what is said holds.
    wrong = binomtest(beyond_pair, len(losses), 0.0917, alternative="greater").pvalue
    assert wrong < 1e-7, "the pair is no tail: this power is more than 1 - 10^-10"
    right = binomtest(beyond_tail, len(losses), tail.probability, alternative="greater").pvalue
    assert right > 1e-7


@pytest.mark.parametrize("loss", [12.0, 40.0])
def test_rare_losses_by_importance_sampling(loss):
    rate, draws = 0.02, 400_000
    rng = np.random.default_rng(11)
    amounts = rng.exponential(0.02, draws)  # small variances are drawn far more often
    weights = np.exp(-amounts) / (np.exp(-amounts / 0.02) / 0.02)
    spreads = np.sqrt(rate / amounts)
    values = weights * norm.sf(loss / spreads - spreads / 2)
    error = values.std() / math.sqrt(draws)
    stated = variance_tail(law_with(rate), loss, answers=20)
    assert stated < 0.01
    assert abs(values.mean() - stated) < 6 * error + 1e-6  # a fixed seed
