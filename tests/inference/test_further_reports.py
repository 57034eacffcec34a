import math
from itertools import product

import numpy as np
import pytest

from quietcrowd.inference.further_reports import FurtherLabel, FurtherNumber

SIZES = np.array([0, 1, 2, 4, 8])
TABLE = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]])


def true_error(table, prior, size):
    """Return the error of the best label after so many reports, by enumeration."""
    right = 0.0
    for reports in product(range(table.shape[1]), repeat=size):
        right += (prior * np.prod([table[:, one] for one in reports], axis=0)).max()
    return 1 - right


@pytest.mark.parametrize(
    "prior", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1), (0.05, 0.9, 0.05)], ids=["even", "a", "b"]
)
def test_errors_of_labels_are_near_those_of_enumeration(prior):
    found = FurtherLabel(table=TABLE).errors(np.array([prior]), SIZES)[0]
    assert found[0] == pytest.approx(1 - max(prior))
    for size, value in zip(SIZES[1:], found[1:], strict=True):
        assert value == pytest.approx(true_error(TABLE, np.array(prior), size), abs=0.03)


def test_errors_do_not_rise_and_tasks_do_not_touch_each_other():
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet(np.ones(3), 50)
    together = FurtherLabel(table=TABLE).errors(posterior, SIZES)
    assert (np.diff(together, axis=1) <= 0).all()
    alone = FurtherLabel(table=TABLE).errors(posterior[7:8], SIZES)
    assert alone[0] == pytest.approx(together[7], abs=1e-12)


def test_reports_that_tell_nothing_are_worth_nothing():
    table = np.full((2, 2), 0.5)
    found = FurtherLabel(table=table).errors(np.array([[0.5, 0.5], [0.8, 0.2]]), SIZES)
    assert found == pytest.approx(np.array([[0.5] * 5, [0.2] * 5]), abs=1e-12)


def test_one_sure_label_is_left_alone():
    found = FurtherLabel(table=TABLE).errors(np.array([[1.0, 0.0, 0.0]]), SIZES)
    assert found == pytest.approx(np.zeros((1, 5)), abs=1e-12)


def test_precisions_of_numbers_add_up():
    found = FurtherNumber(precision=0.25).errors(np.array([2.0, 1.0]), SIZES)
    assert found[0] == pytest.approx(math.sqrt(2 / math.pi) / np.sqrt(0.25 + 0.25 * SIZES))
    assert found[1, 0] == pytest.approx(math.sqrt(2 / math.pi))
