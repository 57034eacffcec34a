"""Scores that are learnt: each sees what it is for, and bears what is missing or odd."""

import numpy as np
import pytest

from quietcrowd.privacy.distinguishing import Statistic, compare, proven_epsilon
from quietcrowd.privacy.learnt_scores import (
    learn_histogram,
    learn_projection,
    look_closely,
    look_together,
)

COUNT = 8000


def best(statistics):
    """Return what is proven, and the name of what proves it."""
    epsilon, number = proven_epsilon(compare(statistics), 0.999)
    return epsilon, statistics[number].name


def laplace(seed, columns=1, count=COUNT):
    rng = np.random.default_rng(seed)
    return np.rint(rng.laplace(scale=300.0, size=(count, columns)))


def some(share, seed=9):
    return np.random.default_rng(seed).random(COUNT) < share


def test_equal_laws_prove_nothing():
    assert best(look_closely(laplace(1, 3), laplace(2, 3)))[0] == 0


def test_a_spread_is_seen():
    assert best(look_closely(laplace(1), laplace(2) / 4))[0] > 1


def test_numbers_that_never_occur_are_seen():
    one, other = laplace(1), laplace(2)
    odd = one + (one % 2 == 0)
    epsilon, name = best(look_closely(odd, other))
    assert (epsilon > 3, name) == (True, "the last bits of a report")
    one, other = laplace(1, count=60_000), laplace(2, count=60_000)
    epsilon, name = best(look_closely(one + (one % 128 == 0), other))
    assert (epsilon > 1.5, name) == (True, "the powers of two in a report")


def test_a_single_value_that_occurs_too_often_is_seen():
    one = laplace(1)
    one[some(0.05)] = 7.0
    epsilon, name = best(look_closely(one, laplace(2)))
    assert epsilon > 1.5
    assert name == "how often each report occurs"


@pytest.mark.parametrize(
    ("sign", "name"), [(1, "the difference of two reports"), (-1, "the sum of two reports")]
)
def test_noise_that_serves_twice_is_seen(sign, name):
    one, other = (
        np.concatenate([start + noise, sign * noise], axis=1)
        for start, noise in ((0, laplace(1)), (100, laplace(2)))
    )
    epsilon, found = best(look_together(one, other))
    assert epsilon > 5
    assert found in (name, "two reports together")


def test_what_is_missing_has_a_bin_of_its_own():
    one, other = laplace(1), laplace(2)
    one[some(0.2)] = np.nan
    assert best(look_closely(one, other))[0] > 3
    other[some(0.2, seed=8)] = np.nan
    assert best(look_closely(one, other))[0] == 0


def test_values_that_were_not_seen_have_a_score():
    score = learn_histogram(np.arange(10.0)[:, np.newaxis], np.arange(5.0)[:, np.newaxis])
    odd = np.array([[-np.inf], [-1.0], [0.5], [11.0], [np.inf], [np.nan]])
    assert np.isfinite(score(odd)).all()


def test_numbers_of_all_sizes_are_borne():
    """Warnings are errors."""
    rows = [[0.0, np.inf], [1e308, -np.inf], [-1e308, 0.1], [np.nan, 2.0**60], [np.inf, np.nan]]
    one = np.array(rows * 8)
    assert best(look_closely(one, one[::-1]))[0] == 0


def test_a_projection_is_learnt():
    rng = np.random.default_rng(4)
    one, other = (rng.normal(size=(4000, 3)) for _ in range(2))
    one[:, 1] += 3
    one[0] = np.nan

    def proven(left, right):
        return best([Statistic(name="scores", one=left, other=right, learn=learn_projection)])[0]

    assert proven(one, other) > 3
    assert proven(other[:2000], other[2000:]) == 0
    assert learn_projection(one[:1], other)(other).tolist() == [0.0] * len(other)
