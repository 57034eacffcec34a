"""Tables of integer weights: loss and delta over all pairs of rows."""

import math

import numpy as np
import pytest

from quietcrowd.auditing.channels.table import table_delta, table_epsilon, worst_rows

WEIGHTS = np.array([[4, 2, 2], [1, 5, 2], [2, 4, 2]], np.uint64)


def test_the_loss_is_the_largest_ratio_in_a_column():
    assert table_epsilon(WEIGHTS) == pytest.approx(math.log(4))
    assert table_epsilon(np.array([[1, 1], [1, 1]])) == 0.0
    assert table_epsilon(np.array([[2, 0], [1, 1]])) == math.inf


def test_the_loss_tells_neighbouring_integers_apart():
    fair = table_epsilon(np.array([[3 * 2**30, 2**30], [2**30, 3 * 2**30]]))
    more = table_epsilon(np.array([[3 * 2**30 + 1, 2**30 - 1], [2**30 - 1, 3 * 2**30 + 1]]))
    assert fair < more < fair + 1e-8


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_delta_is_the_largest_over_all_pairs(epsilon):
    chances = WEIGHTS / 8
    worst = max(
        sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, other, strict=True))
        for one in chances
        for other in chances
    )
    assert table_delta(WEIGHTS, epsilon) == pytest.approx(worst)


def test_the_worst_rows():
    assert worst_rows(WEIGHTS, 3) == (0, 1)
    assert worst_rows(WEIGHTS[1:], 2) == (1, 0)
    assert worst_rows(np.ones((3, 3)), 3) == (0, 1)
    assert worst_rows(WEIGHTS, 1) == (0, 0)


def tables_alike():
    """Return a table whose pairs of rows are all alike, and the same with its columns moved."""
    alike = np.full((7, 7), 3, np.uint64)
    np.fill_diagonal(alike, 14)
    return alike, alike[:, [1, 0, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_pairs_that_are_alike_need_no_second_look(epsilon):
    """Moved columns hide from the short cut that all pairs are alike: both ways must agree."""
    short, long = (table_delta(table, epsilon) for table in tables_alike())
    assert short == long == pytest.approx(max(0.0, (14 - math.exp(epsilon) * 3) / 32))


@pytest.mark.parametrize("place", [(0, 0), (3, 3), (5, 2)])
def test_one_odd_weight_is_not_overlooked(place):
    table, _ = tables_alike()
    table[place] += 1
    table[place[0], 6] -= 1
    worst = max(
        float(np.maximum(one / 32 - math.exp(0.5) * other / 32, 0).sum())
        for one in table.astype(float)
        for other in table.astype(float)
    )
    assert table_delta(table, 0.5) == pytest.approx(worst)


def test_a_thousand_labels_whose_pairs_are_alike_compare_two_rows(monkeypatch):
    """Of two rows of a thousand columns 61 deltas are 244 thousand terms; of all, 61 billion."""
    table = np.full((1000, 1000), 1, np.uint64)
    np.fill_diagonal(table, 1001)
    counted = []
    honest = np.maximum

    def counting(*arguments, **options):
        counted.append(np.size(arguments[0]))
        return honest(*arguments, **options)

    monkeypatch.setattr(np, "maximum", counting)
    assert table_delta(table, 0.5) == pytest.approx((1001 - math.exp(0.5)) / 2000)
    assert sum(counted) <= 4_000
