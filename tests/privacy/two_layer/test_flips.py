"""Exact losses against brute force over the very grid of weights that is drawn from."""

import itertools
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betainc
from tests.nightly import nightly

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.privacy.loss_grid import LossGrid, compose_losses
from quietcrowd.privacy.two_layer import flips
from quietcrowd.privacy.two_layer.flips import (
    cell_delta,
    cell_distribution,
    cell_epsilon,
    row_epsilon,
)


def likelihoods(answers, labels, low, high, total):
    """Return the probability of a row of reports by its number of agreements, exactly."""
    weights = range(low, high + 1)
    return [
        sum(
            Fraction(total - (labels - 1) * weight, total) ** agreements
            * Fraction(weight, total) ** (answers - agreements)
            for weight in weights
        )
        / len(weights)
        for agreements in range(answers + 1)
    ]


def log(ratio):
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 4])
@pytest.mark.parametrize("answers", [3, 1, 2, nightly(6)])
@pytest.mark.parametrize("bounds", [(0.1, 0.4), (0.0, 1.0), (0.0, 0.538), (0.25, 0.25), (0.6, 0.9)])
def test_brute_force_on_a_coarse_grid(labels, answers, bounds):
    total = 2**12
    low, high = (int(bound * total) // (labels - 1) for bound in bounds)
    exact = likelihoods(answers, labels, low, high, total)
    cell = max(abs(log(one / other)) for one, other in itertools.pairwise(exact))
    row = log(max(exact) / min(exact))
    options = {"labels": labels, "low": low, "high": high, "total": total}
    assert cell <= cell_epsilon(answers, **options) <= cell + 1e-9
    assert row <= row_epsilon(answers, **options) <= row + 1e-2


@pytest.mark.grid
@pytest.mark.parametrize("labels", [3, 2, 4])
@pytest.mark.parametrize("answers", [4, 1, 2, 6])
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.4), (0.0, 0.538), (0.05, 1.0)])
def test_brute_force_over_all_rows_of_reports_and_the_continuous_distribution(
    labels, answers, low, high
):
    """Every pair of answers to one task, every row of reports, no formula but the definition."""

    def probability(agreements):
        def distribution(flip):
            kept = (1 - flip) ** agreements
            return kept * (flip / (labels - 1)) ** (answers - agreements) / (high - low)

        return integrate.quad(distribution, low, high, epsabs=0, epsrel=1e-13)[0]

    by_agreements = [probability(agreements) for agreements in range(answers + 1)]
    truth = (0,) * answers
    other = (1, *truth[1:])
    worst = 0.0
    for reports in itertools.product(range(labels), repeat=answers):
        one = by_agreements[sum(r == a for r, a in zip(reports, truth, strict=True))]
        two = by_agreements[sum(r == a for r, a in zip(reports, other, strict=True))]
        worst = max(worst, abs(math.log(one / two)))
    total = 2**32
    first, last = (round(bound * total / (labels - 1)) for bound in (low, high))
    last = min(last, total // (labels - 1))
    exact = cell_epsilon(answers, labels=labels, low=first, high=last)
    assert exact == pytest.approx(worst, abs=1e-8)


@pytest.mark.nightly
def test_many_answers_against_exact_sums():
    total, answers = 2**14, 60
    exact = likelihoods(answers, 2, 0, 8_812, total)
    cell = max(abs(log(one / other)) for one, other in itertools.pairwise(exact))
    row = log(max(exact) / min(exact))
    options = {"labels": 2, "low": 0, "high": 8_812, "total": total}
    assert cell <= cell_epsilon(answers, **options) <= cell + 1e-9
    assert row <= row_epsilon(answers, **options) <= row + 1e-2


def exact_cell(answers, labels, low, high, total):
    """Return the loss from sums in 90 digits, term by term."""
    with localcontext(Context(prec=90, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        others = labels - 1
        flipped = [Decimal(others * weight) for weight in range(low, high + 1)]
        keeps = [total - flip for flip in flipped]

        def log_odds(one, other):
            powers = [x ** (answers - 1) if answers > 1 else Decimal(1) for x in one]
            right = sum(p * x for p, x in zip(powers, one, strict=True))
            wrong = sum(p * x for p, x in zip(powers, other, strict=True))
            return (right / wrong).ln() if right and wrong else Decimal(0)

        kept = log_odds(keeps, flipped) + Decimal(others).ln()
        return max(Decimal(0), kept, log_odds(flipped, keeps) - Decimal(others).ln())


@pytest.mark.parametrize(
    ("answers", "labels", "low", "high"),
    [
        (2_946, 2, 3_572, 8_228),
        (3_755, 2, 1_937, 1_937),
        (277, 64, 2**32 // 63 - 3, 2**32 // 63),
        (5_000, 64, 2**32 // 63 - 5, 2**32 // 63),
        (10**7, 2, 0, 5_000),
        (10**6, 4_096, 100, 105),
        (10**7, 64, 2**25, 2**25),
    ],
)
def test_extremes_against_sums_in_90_digits(answers, labels, low, high):
    exact = exact_cell(answers, labels, low, high, 2**32)
    found = cell_epsilon(answers, labels=labels, low=low, high=high)
    assert exact <= Decimal(found) <= exact + Decimal("1e-9")
    assert row_epsilon(answers, labels=labels, low=low, high=high) >= found


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 5])
@pytest.mark.parametrize("answers", [1, 2, 3, nightly(20), nightly(60)])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.01, 0.5), (0.5, 0.99)])
def test_the_formula_for_long_ranges_encloses_the_sum(monkeypatch, labels, answers, bounds):
    monkeypatch.setattr(flips, "_FEW", 1)
    total = 2**12
    low, high = (int(bound * total) // (labels - 1) for bound in bounds)
    exact = exact_cell(answers, labels, low, high, total)
    found = Decimal(cell_epsilon(answers, labels=labels, low=low, high=high, total=total))
    assert exact <= found <= exact + Decimal("1e-9")
    by_agreements = likelihoods(answers, labels, low, high, total)
    row = log(max(by_agreements) / min(by_agreements))
    bound = row_epsilon(answers, labels=labels, low=low, high=high, total=total)
    slack = 4 * (answers * (labels - 1) / total + 1 / (high - low))
    assert row <= bound <= row + slack


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 64, 1_000])
def test_the_largest_number_of_answers_has_a_finite_loss(labels):
    free = {"labels": labels, "low": 0, "high": 2**32 // (labels - 1)}
    expected = math.log((labels - 1) * 10**7)
    assert cell_epsilon(10**7, **free) == pytest.approx(expected, rel=0.1)
    assert row_epsilon(10**7, **free) >= cell_epsilon(10**7, **free)


def test_losses_grow_without_bound_from_low_0_and_not_from_above():
    free = {"labels": 2, "low": 0, "high": 2**31}
    held = {"labels": 2, "low": 2**30, "high": 2**31}
    assert cell_epsilon(10_000, **free) == pytest.approx(math.log(10_000), abs=1e-2)
    assert cell_epsilon(10_000, **held) < math.log(3) < cell_epsilon(10_000, **held) + 1e-3


def test_a_known_answer_is_an_infinite_loss():
    assert cell_epsilon(3, labels=2, low=0, high=0) == math.inf
    assert row_epsilon(3, labels=2, low=0, high=0) == math.inf


def test_too_many_answers_are_refused():
    with pytest.raises(ParameterError, match="at most 10,000,000"):
        cell_epsilon(10**7 + 1, labels=2, low=0, high=5)


def enumerated_delta(chances, labels, epsilon):
    """Return delta of two rows of answers that differ in one, from all rows of reports."""
    answers = len(chances) - 1
    truth, other = (0,) * answers, (1,) + (0,) * (answers - 1)
    delta = 0.0
    for reports in itertools.product(range(labels), repeat=answers):
        one, two = (
            chances[sum(r == a for r, a in zip(reports, row, strict=True))]
            for row in (truth, other)
        )
        delta += max(0.0, float(one) - math.exp(epsilon) * float(two))
    return delta


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 4])
@pytest.mark.parametrize("answers", [3, 1, 2, nightly(6)])
@pytest.mark.parametrize("bounds", [(0.1, 0.4), (0.0, 1.0), (0.0, 0.538), (0.25, 0.25), (0.6, 0.9)])
def test_deltas_by_brute_force_on_a_coarse_grid(labels, answers, bounds):
    total = 2**10
    low, high = (int(bound * total) // (labels - 1) for bound in bounds)
    chances = likelihoods(answers, labels, low, high, total)
    options = {"labels": labels, "low": low, "high": high, "total": total}
    for epsilon in (0.0, 0.3, 1.0, 1.7):
        exact = enumerated_delta(chances, labels, epsilon)
        found = cell_delta(epsilon, answers, **options)
        assert exact - 1e-15 <= found <= exact + 1e-9
    assert cell_delta(cell_epsilon(answers, **options), answers, **options) == 0.0


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 4])
@pytest.mark.parametrize("answers", [4, 1, 2, 6])
@pytest.mark.parametrize(("low", "high"), [(0.1, 0.4), (0.0, 0.538), (0.05, 1.0), (0.3, 0.3005)])
def test_deltas_by_brute_force_over_all_rows_of_reports_and_the_continuous_distribution(
    labels, answers, low, high
):
    first, last = (
        min(round(bound * TOTAL / (labels - 1)), TOTAL // (labels - 1)) for bound in (low, high)
    )

    def probability(agreements):
        def distribution(flip):
            kept = (1 - flip) ** agreements
            return kept * (flip / (labels - 1)) ** (answers - agreements) / (high - low)

        return integrate.quad(distribution, low, high, epsabs=0, epsrel=1e-13)[0]

    chances = [probability(agreements) for agreements in range(answers + 1)]
    for epsilon in (0.0, 0.5, 1.5):
        exact = enumerated_delta(chances, labels, epsilon)
        found = cell_delta(epsilon, answers, labels=labels, low=first, high=last)
        assert found == pytest.approx(exact, abs=2e-8)


@pytest.mark.grid
@pytest.mark.parametrize("bounds", [(300, 2048), (0, 2000), (0, 4096), (1000, 1003)])
@pytest.mark.parametrize("answers", [5, 1, 2, 40])
@pytest.mark.parametrize("narrow", [0.0, 1.0])
def test_the_integral_is_the_sum_over_the_grid(monkeypatch, bounds, answers, narrow):
    options = {"labels": 2, "low": bounds[0], "high": bounds[1], "total": 2**12}
    exact = [cell_delta(epsilon, answers, **options) for epsilon in (0.0, 0.7)]
    flips._joint.cache_clear()
    monkeypatch.setattr(flips, "_FEW_OF_DELTA", 1)
    monkeypatch.setattr(flips, "_NARROW", narrow)
    found = [cell_delta(epsilon, answers, **options) for epsilon in (0.0, 0.7)]
    flips._joint.cache_clear()
    error = 4 * (answers / 2**12) ** 2 / 6 + 1e-9
    for one, other in zip(exact, found, strict=True):
        assert one - 1e-12 <= other <= one + error


def test_half_of_the_claim_is_missed():
    """A claimed 0 holds but for nearly one half, a claimed 1 but for nearly one quarter."""
    found = {}
    for claimed in (1.0, 0.0):
        high = round(TOTAL * 2 / (1 + math.exp(claimed)))
        found[claimed] = [
            round(cell_delta(claimed, n, labels=2, low=0, high=high), 3) for n in (2, 5, 26, 277)
        ]
    assert found == {1.0: [0.09, 0.151, 0.225, 0.248], 0.0: [0.333, 0.4, 0.481, 0.498]}


@pytest.mark.parametrize("answers", [1, 5, 277])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_distribution_of_the_loss_gives_the_same_deltas(answers, labels):
    options = {"labels": labels, "low": 10**7, "high": 10**9}
    distribution = cell_distribution(answers, **options)
    losses = LossGrid.of_distribution(distribution, distribution.epsilon / 4096)
    for epsilon in (0.0, 0.5, 2.0, 0.99 * distribution.epsilon):
        delta = cell_delta(epsilon, answers, **options)
        assert delta - 1e-8 <= losses.delta(epsilon) <= delta + 1e-5
    assert compose_losses([(distribution, 2)], 0.0) == 2 * cell_epsilon(answers, **options)


@pytest.mark.parametrize("answers", [2134, 100_000])
def test_deltas_of_many_answers(answers):
    high = round(TOTAL * 2 / (1 + math.e))
    deltas = [cell_delta(e, answers, labels=2, low=0, high=high) for e in (1.0, 3.0, 6.0)]
    assert np.all(np.diff(deltas) < 0)
    assert deltas[0] == pytest.approx(0.25, abs=1e-3)


def test_parameters_of_a_delta_are_checked():
    options = {"labels": 2, "low": 0, "high": 5}
    with pytest.raises(ParameterError, match="answers must be a whole number"):
        cell_delta(1.0, 0, **options)
    with pytest.raises(ParameterError, match="epsilon must be a finite number, at least 0"):
        cell_delta(-1.0, 1, **options)


def test_nothing_is_left_out_where_agreements_are_certain_or_impossible():
    answers, low, high = 20_000, 2**29, 2**31
    kept, start, end = np.arange(answers), (low + 0.5) / TOTAL, (high - 0.5) / TOTAL
    width = answers * (answers + 1) * (end - start)
    beta = betainc(answers - kept, kept + 2, [[start], [end]])
    agrees = (kept + 1) / width * (beta[1] - beta[0])
    beta = betainc(answers - kept + 1, kept + 1, [[start], [end]])
    differs = (answers - kept) / width * (beta[1] - beta[0])
    for epsilon in (0.0, 0.5, 1.0, 1.5):
        one = np.maximum(agrees - math.exp(epsilon) * differs, 0).sum()
        other = np.maximum(differs - math.exp(epsilon) * agrees, 0).sum()
        found = cell_delta(epsilon, answers, labels=2, low=low, high=high)
        assert found == pytest.approx(one + other, abs=1e-9)


@pytest.mark.slow
def test_a_million_answers_are_reckoned():
    distribution = cell_distribution(10**6, labels=2, low=0, high=2_310_189_219)
    assert distribution.masses.sum() == pytest.approx(1)
