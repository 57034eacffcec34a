"""Tables of integer weights: loss and delta over all pairs of rows."""

import math

import numpy as np
import pytest

from quietcrowd.privacy.finite_table import table_delta, table_epsilon, worst_rows

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
