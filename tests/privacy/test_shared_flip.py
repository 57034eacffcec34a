"""Exact losses against brute force over the very grid of weights that is drawn from."""

import itertools
import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from scipy import integrate

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy import shared_flip
from quietcrowd.privacy.shared_flip import cell_epsilon, row_epsilon


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


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("answers", [1, 2, 3, 6])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 0.538), (0.1, 0.4), (0.25, 0.25), (0.6, 0.9)])
def test_brute_force_on_a_coarse_grid(labels, answers, bounds):
    total = 2**12
    low, high = (int(bound * total) // (labels - 1) for bound in bounds)
    exact = likelihoods(answers, labels, low, high, total)
    cell = max(abs(log(one / other)) for one, other in itertools.pairwise(exact))
    row = log(max(exact) / min(exact))
    options = {"labels": labels, "low": low, "high": high, "total": total}
    assert cell <= cell_epsilon(answers, **options) <= cell + 1e-9
    assert row <= row_epsilon(answers, **options) <= row + 1e-2


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("answers", [1, 2, 4, 6])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.538), (0.1, 0.4), (0.05, 1.0)])
def test_brute_force_over_all_rows_of_reports_and_the_continuous_law(labels, answers, low, high):
    """Every pair of answers to one task, every row of reports, no formula but the definition."""

    def probability(agreements):
        def law(flip):
            kept = (1 - flip) ** agreements
            return kept * (flip / (labels - 1)) ** (answers - agreements) / (high - low)

        return integrate.quad(law, low, high, epsabs=0, epsrel=1e-13)[0]

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


@pytest.mark.slow
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
        flips = [Decimal(others * weight) for weight in range(low, high + 1)]
        keeps = [total - flip for flip in flips]

        def log_odds(one, other):
            powers = [x ** (answers - 1) if answers > 1 else Decimal(1) for x in one]
            right = sum(p * x for p, x in zip(powers, one, strict=True))
            wrong = sum(p * x for p, x in zip(powers, other, strict=True))
            return (right / wrong).ln() if right and wrong else Decimal(0)

        kept = log_odds(keeps, flips) + Decimal(others).ln()
        return max(Decimal(0), kept, log_odds(flips, keeps) - Decimal(others).ln())


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


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("answers", [1, 2, 3, 20, 60])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.01, 0.5), (0.5, 0.99)])
def test_the_formula_for_long_ranges_encloses_the_sum(monkeypatch, labels, answers, bounds):
    monkeypatch.setattr(shared_flip, "_FEW", 1)
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
