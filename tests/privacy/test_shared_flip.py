"""Exact losses against brute force over the very grid of weights that is drawn from."""

import itertools
import math
from fractions import Fraction

import pytest
from scipy import integrate

from quietcrowd.exceptions import ParameterError
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
    assert cell <= cell_epsilon(answers, **options) <= cell + 1e-4
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


def test_many_answers_against_exact_sums():
    total, answers = 2**14, 60
    exact = likelihoods(answers, 2, 0, 8_812, total)
    cell = max(abs(log(one / other)) for one, other in itertools.pairwise(exact))
    row = log(max(exact) / min(exact))
    options = {"labels": 2, "low": 0, "high": 8_812, "total": total}
    assert cell <= cell_epsilon(answers, **options) <= cell + 1e-3
    assert row <= row_epsilon(answers, **options) <= row + 1e-2


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
