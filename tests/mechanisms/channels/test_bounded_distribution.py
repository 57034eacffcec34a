"""The weights of bounded reports, beside the whole table on small grids."""

from fractions import Fraction

import numpy as np
import pytest
from tests.nightly import by_day

from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.privacy.rounding import log_ratio_up

SHARES = {"duchi": Fraction(0), "piecewise": Fraction(1), "hybrid": Fraction(2, 5)}
EPSILONS = (0.01, 0.7, 1.0, 3.0, 8.0, 16.0)
STEPS = (2, 10, 64)

CASES = {
    f"{name}-{epsilon:g}-{steps}": (share, epsilon, steps)
    for name, share in SHARES.items()
    for epsilon in EPSILONS
    for steps in STEPS
}


def distribution_of(share, epsilon, steps, width=2.0):
    grid = Grid.over(Interval(low=-1.0, high=width - 1.0), 2.0 ** -(steps.bit_length() + 4))
    return BoundedDistribution.for_loss(
        Grid(low=-1.0, step=grid.step, steps=steps, high=grid.step * steps - 1.0), epsilon, share
    )


def table_of(distribution):
    """Return all weights, shape (answers, reports)."""
    return distribution.weights(
        np.arange(distribution.reports), np.arange(distribution.steps + 1)[:, np.newaxis]
    )


BY_DAY = [name for name in CASES if name.endswith(("-1-10", "-8-10"))]
every_distribution = pytest.mark.parametrize("case", by_day(BY_DAY, CASES))


@every_distribution
def test_weights_are_of_one_sum_and_lose_what_is_stated(case):
    share, epsilon, steps = CASES[case]
    distribution = distribution_of(share, epsilon, steps)
    table = table_of(distribution)
    assert (table > 0).all()
    assert (table.sum(axis=1) == TOTAL).all()
    worst = max(
        Fraction(int(high), int(low))
        for high, low in zip(table.max(axis=0), table.min(axis=0), strict=True)
    )
    assert distribution.epsilon == log_ratio_up(worst) <= epsilon
    assert distribution.epsilon > epsilon - 0.002 * max(1.0, np.exp(epsilon - 10.0) * steps / 30.0)
    assert (table == table[::-1, ::-1]).all(), "both ends of the grid are alike"


@pytest.mark.grid
@every_distribution
def test_reports_are_unbiased_for_the_rounded_answer(case):
    """Exactly, in fractions; the two floats of the numbers add what their rounding does."""
    distribution = distribution_of(*CASES[case])
    numbers = [
        distribution.origin + distribution.step * place for place in range(distribution.reports)
    ]
    table = table_of(distribution).tolist()
    stored = [
        Fraction(number)
        for number in distribution.numbers.numbers(np.arange(distribution.reports)).tolist()
    ]
    most = max(abs(number) for number in numbers)
    for answer, row in enumerate(table):
        expected = Fraction(distribution.grid.low) + Fraction(distribution.grid.step) * answer
        assert sum(w * n for w, n in zip(row, numbers, strict=True)) == TOTAL * expected
        bias = sum(w * n for w, n in zip(row, stored, strict=True)) / TOTAL - expected
        assert abs(bias) <= most * Fraction(3, 2**53)
        square = sum(w * n * n for w, n in zip(row, numbers, strict=True)) / TOTAL
        assert distribution.variance(answer) == float(square - expected**2)
    assert distribution.most_variance == max(
        distribution.variance(answer) for answer in range(CASES[case][2] + 1)
    )


@every_distribution
def test_each_word_is_drawn_as_the_report_that_its_weight_says(case):
    """Between two neighbouring edges of words a report is the same: its words are counted."""
    share, epsilon, steps = CASES[case]
    distribution = distribution_of(share, epsilon, steps)
    for answer in {0, 1, steps // 2, steps}:
        edges = [distribution.base * place for place in range(distribution.reports + 1)]
        start = edges[-1]
        edges += [start + distribution.lift * place for place in range(distribution.window + 1)]
        edges += [
            distribution.windows + distribution.least + distribution.slope * (steps - answer),
            TOTAL,
        ]
        edges = np.unique(np.array(edges, np.int64))
        edges = edges[edges >= 0]
        first, last = edges[:-1], edges[1:] - 1
        given = np.full(len(first), answer)
        drawn = [distribution.drawn(given, words.astype(np.uint32)) for words in (first, last)]
        np.testing.assert_array_equal(*drawn)
        counts = np.bincount(drawn[0], weights=last - first + 1, minlength=distribution.reports)
        assert counts.tolist() == table_of(distribution)[answer].tolist()


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_no_two_answers_are_told_apart_more_than_the_distribution_of_the_loss_says(name, epsilon):
    distribution = distribution_of(SHARES[name], epsilon, 12)
    table = table_of(distribution) / TOTAL
    masses, losses = distribution.loss.masses, distribution.loss.losses
    for at in np.linspace(-epsilon, epsilon, 21):
        stated = np.maximum(0.0, masses * -np.expm1(at - losses)).sum()
        found = [
            np.maximum(0.0, one - np.exp(at) * other).sum() for one in table for other in table
        ]
        assert max(found) <= stated + 1e-12
        if name != "hybrid":
            assert stated <= max(found) + 1e-9, "no more is stated than two answers lose"


def test_the_largest_variances_are_those_of_the_papers():
    """Wang et al. (ICDE 2019), Table I and Lemma 1, on [-1, 1]; steps of 1/512 add little."""
    grid = Grid.over(Interval(low=-1, high=1))
    for epsilon in (0.5, 1.0, 2.0, 3.0, 5.0):
        half, whole = np.expm1(epsilon / 2), np.expm1(epsilon)
        duchi = ((whole + 2) / whole) ** 2
        window = 1 / half + (half + 4) / (3 * half**2)
        share = Fraction(-np.expm1(-epsilon / 2))
        mixed = -np.expm1(-epsilon / 2) * (half + 4) / (3 * half**2)
        mixed += np.exp(-epsilon / 2) * duchi
        for part, formula in ((Fraction(0), duchi), (Fraction(1), window), (share, mixed)):
            found = BoundedDistribution.for_loss(grid, epsilon, part).most_variance
            assert found == pytest.approx(formula, rel=2e-3)


def test_the_largest_variances_as_they_are_quoted():
    grid = Grid.over(Interval(low=-1, high=1))
    found = [
        [
            round(BoundedDistribution.for_loss(grid, epsilon, share).most_variance, 2)
            for epsilon in (1.0, 2.0, 3.0)
        ]
        for share in (Fraction(0), Fraction(1))
    ]
    assert found == [[4.68, 1.72, 1.22], [5.22, 1.23, 0.49]]


def test_what_no_weights_can_hold_is_refused():
    domain = Interval(low=0, high=1)
    with pytest.raises(ParameterError, match=r"makes 131,072 steps.*Use a larger step"):
        BoundedDistribution.for_loss(Grid.over(domain, 2.0**-17), 1.0, Fraction(1))
    for share in (0, 1, Fraction(1, 2)):
        with pytest.raises(ParameterError, match="too small for 1,024 grid steps"):
            BoundedDistribution.for_loss(Grid.over(domain), 1e-8, Fraction(share))
