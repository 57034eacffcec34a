import math
from itertools import product

import numpy as np
import pytest

from quietcrowd.inference.further_report import FurtherLabel, FurtherNumber, FurtherSet
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution

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


ANSWERS = np.array(
    [[0.7, 0.1, 0.1, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.6, 0.2], [0.0, 0.1, 0.1, 0.8]]
)


def set_table(distribution):
    """Return the probability of every set given each truth, shape (labels, sets)."""
    ranks = np.arange(distribution.count)
    sets = np.exp(
        [
            distribution.log_likelihood(ranks, np.full(distribution.count, a))
            for a in range(distribution.labels)
        ]
    )
    return ANSWERS @ sets


@pytest.mark.parametrize("members", [1, 2, 3])
def test_errors_after_sets_are_near_those_of_a_table_of_all_sets(members):
    distribution = SetDistribution.of_epsilon(4, members, 2.0)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    further = FurtherSet(answers=ANSWERS, distribution=distribution, slope=1.0)
    found = further.errors(prior[np.newaxis], SIZES[:4])[0]
    for size, value in zip(SIZES[1:4], found[1:], strict=True):
        assert value == pytest.approx(true_error(set_table(distribution), prior, size), abs=0.04)


def test_drawn_sets_have_the_likelihoods_of_the_distribution():
    """Of 2 of 4 labels: six sets; each share of 60,000 is within 7 standard errors (< 1e-10)."""
    distribution = SetDistribution.of_epsilon(4, 2, 1.5)
    further = FurtherSet(answers=ANSWERS, distribution=distribution, slope=1.0)
    table = set_table(distribution)
    drawn = further._drawn(1, 60_000, np.random.default_rng(5))
    logs = np.log(table).T
    logs -= logs[:, :1]
    told = drawn - drawn[:, :1]
    which = np.abs(told[:, np.newaxis] - logs).sum(axis=2).argmin(axis=1)
    assert np.abs(told - logs[which]).max() < 1e-9
    shares = np.bincount(which, minlength=distribution.count) / len(which)
    errors = np.sqrt(table[1] * (1 - table[1]) / len(which))
    assert (np.abs(shares - table[1]) < 7 * errors).all()


def test_sets_of_one_tell_what_a_table_tells():
    """A set of one label is randomised response."""
    distribution = SetDistribution.of_epsilon(4, 1, 1.0)
    table = set_table(distribution)
    prior = np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    by_set = FurtherSet(answers=ANSWERS, distribution=distribution, slope=1.0).errors(prior, SIZES)
    by_table = FurtherLabel(table=table).errors(prior, SIZES)
    assert by_set == pytest.approx(by_table, abs=0.05)
