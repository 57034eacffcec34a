import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import gammaln, kve
from scipy.stats import binomtest, norm

import quietcrowd as qc
from quietcrowd.privacy.sampled_variance import VarianceLaw
from quietcrowd.privacy.sampled_variance_tail import variance_tail, variance_tail_epsilon

FINE = 2**14
RATES = {"narrow": 0.02, "middle": 0.2, "wide": 2.0}
"""Half of the squared loss of one answer alone."""


def law_with(rate, least=0.0, steps=FINE):
    return VarianceLaw(steps=steps, rate=rate / steps**2, least=least * steps**2)


def known(rate, least, loss, differing):
    """Return the tail for who learns the variance, by quadrature over it; distance 1."""

    def given(amount):
        spread = math.sqrt(differing / (least + amount / rate))
        return math.exp(-amount) * norm.sf(loss / spread - spread / 2)

    return integrate.quad(given, 0, 1, limit=200)[0] + integrate.quad(given, 1, math.inf)[0]


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
@pytest.mark.parametrize(("steps", "rate"), [(4, 1 / 50), (12, 1 / 200), (24, 1 / 800)])
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
@pytest.mark.parametrize("least", [0.0, 0.05, 1.0, 16.0])
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
