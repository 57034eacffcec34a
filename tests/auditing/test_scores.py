"""Scores that are learnt: each sees what it is for, and bears what is missing or odd."""

import numpy as np
import pytest

from quietcrowd.auditing.bounds import Statistic, compare, proven_epsilon
from quietcrowd.auditing.scores import (
    learn_histogram,
    learn_projection,
    match_statistic,
    pair_statistics,
    partner_statistics,
    report_statistics,
    strongest_pair,
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


def test_equal_distributions_prove_nothing():
    assert best(report_statistics(laplace(1, 3), laplace(2, 3)))[0] == 0


def test_a_spread_is_seen():
    assert best(report_statistics(laplace(1), laplace(2) / 4))[0] > 1


def test_numbers_that_never_occur_are_seen():
    one, other = laplace(1), laplace(2)
    odd = one + (one % 2 == 0)
    epsilon, name = best(report_statistics(odd, other))
    assert (epsilon > 3, name) == (True, "the last bits of a report")
    one, other = laplace(1, count=60_000), laplace(2, count=60_000)
    epsilon, name = best(report_statistics(one + (one % 128 == 0), other))
    assert (epsilon > 1.5, name) == (True, "the powers of two in a report")


def test_a_single_value_that_occurs_too_often_is_seen():
    one = laplace(1)
    one[some(0.05)] = 7.0
    epsilon, name = best(report_statistics(one, laplace(2)))
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
    epsilon, found = best(pair_statistics(one, other))
    assert epsilon > 5
    assert found in (name, "two reports together")


def test_what_is_missing_has_a_bin_of_its_own():
    one, other = laplace(1), laplace(2)
    one[some(0.2)] = np.nan
    assert best(report_statistics(one, other))[0] > 3
    other[some(0.2, seed=8)] = np.nan
    assert best(report_statistics(one, other))[0] == 0


def test_values_that_were_not_seen_have_a_score():
    score = learn_histogram(np.arange(10.0)[:, np.newaxis], np.arange(5.0)[:, np.newaxis])
    odd = np.array([[-np.inf], [-1.0], [0.5], [11.0], [np.inf], [np.nan]])
    assert np.isfinite(score(odd)).all()


def test_numbers_of_all_sizes_are_borne():
    """Warnings are errors."""
    rows = [[0.0, np.inf], [1e308, -np.inf], [-1e308, 0.1], [np.nan, 2.0**60], [np.inf, np.nan]]
    one = np.array(rows * 8)
    assert best(report_statistics(one, one[::-1]))[0] == 0


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


def joined_tasks(rows, first, second, seed):
    """Return reports on eight tasks, of which two have the same noise; the first cell differs."""
    noise = laplace(seed, 8)
    noise[:, second] = noise[:, first]
    return noise + np.array([rows, *[0.0] * 7])


def test_two_numbers_that_go_together_are_found():
    one, other = (joined_tasks(start, 0, 6, seed) for start, seed in ((0.0, 1), (100.0, 2)))
    assert strongest_pair([one, other], 1) == (0, 6)
    epsilon, name = best(partner_statistics(one, other, 1))
    assert epsilon > 5
    assert name in ("the difference of two reports", "two reports together")
    assert best(report_statistics(one[:, :3], other[:, :3]))[0] < 1


def test_the_first_of_two_numbers_is_one_that_differs():
    one = joined_tasks(0.0, 4, 6, 1)
    assert strongest_pair([one], 8) in ((4, 6), (6, 4))
    assert strongest_pair([one], 1)[0] == 0
    assert strongest_pair([-one * np.arange(1, 9)], 8) in ((4, 6), (6, 4))


def test_numbers_that_never_vary_go_with_none():
    """Warnings are errors."""
    one = laplace(1, 3, count=50)
    one[:, 1] = 7.0
    one[3] = np.nan
    assert strongest_pair([one], 3) in ((0, 2), (2, 0))
    assert strongest_pair([np.zeros((5, 2))], 1) == (0, 1)


def test_partners_are_sought_without_the_samples_that_prove():
    """What is equal among these alone must not be chosen for it: else the bound would not hold."""
    sides = [laplace(seed, 40, count=800) for seed in (1, 2)]
    for side in sides:
        proof = np.arange(800) % 4 != 0
        side[proof, 7] = side[proof, 0]
    statistic = partner_statistics(*sides, 1)[1]
    pair = strongest_pair([side[::8] for side in sides], 1)
    scores = statistic.learn(*(side[::8] for side in sides))(sides[0])
    differences = [side[:, [pair[0]]] - side[:, [pair[1]]] for side in sides]
    expected = learn_histogram(*(each[::8] for each in differences))(differences[0])
    np.testing.assert_array_equal(scores, expected)


def test_rows_that_are_sent_as_they_are_are_counted():
    plain = np.array([5.0, 1.0, 1.0, 1.0]), np.array([9.0, 1.0, 1.0, 1.0])
    rng = np.random.default_rng(1)
    one, other = (rng.integers(0, 10, (COUNT, 4)).astype(float) for _ in range(2))
    quiet = match_statistic(one, other, plain)
    assert best([quiet])[0] == 0
    one[some(0.1)], other[some(0.1)] = plain
    statistic = match_statistic(one, other, plain)
    assert best([statistic])[0] > 2
    assert statistic.one[some(0.1)].tolist()[0] == [1.0, 7.0]


def test_what_is_missing_matches_nothing():
    plain = np.array([np.nan, 1.0]), np.array([2.0, 1.0])
    statistic = match_statistic(np.array([[np.nan, 1.2]] * 8), np.array([[2.0, 9.0]] * 8), plain)
    assert statistic.one[0].tolist() == [0.0, 2.0]
    assert statistic.other[0].tolist() == [-1.0, 1.0]
