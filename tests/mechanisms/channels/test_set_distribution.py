"""The distribution of a set of labels, against all sets written out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution, best_members
from quietcrowd.mechanisms.randomness import words_in_turn
from quietcrowd.report_domains import sets_with

LAW = SetDistribution(labels=5, members=2, inside=7, outside=3)


def chances(distribution):
    """Return the chance of each set given each answer, shape (answers, sets), as fractions."""
    held = sets_with(np.arange(distribution.count), distribution.labels, distribution.members).T
    weights = np.where(held, distribution.inside, distribution.outside)
    return [[Fraction(int(w), int(row.sum())) for w in row] for row in weights], held


def test_all_of_it_follows_from_the_weights_of_all_sets():
    rows, held = chances(LAW)
    assert LAW.held == sum(chance for chance, h in zip(rows[0], held[0], strict=True) if h)
    assert LAW.held_other == sum(chance for chance, h in zip(rows[0], held[1], strict=True) if h)
    parted = [
        sum(c for c, one, other in zip(row, held[0], held[1], strict=True) if one and not other)
        for row in rows[:2]
    ]
    assert LAW.parted == tuple(parted)
    assert LAW.ratio == max(one / other for one, other in zip(*rows[:2], strict=True))
    logs = LAW.log_likelihood(np.arange(LAW.count), np.arange(5)[:, np.newaxis])
    assert np.exp(logs) == pytest.approx(np.array(rows, np.float64))


@given(st.integers(2, 64), st.floats(0.0, 16.0))
def test_the_loss_is_at_most_what_was_asked_for_and_near_it(labels, epsilon):
    distribution = SetDistribution.of_epsilon(labels, best_members(labels, epsilon), epsilon)
    assert epsilon - 0.01 <= distribution.epsilon <= epsilon
    assert distribution.total <= 2**32


@given(st.integers(2, 40), st.floats(0.0, 8.0))
def test_the_best_size_has_the_least_error_of_all(labels, epsilon):
    best = best_members(labels, epsilon)
    assert 1 <= best < labels
    assert best - 1 <= max(1, labels / (1 + math.exp(epsilon))) <= best + 1


def test_epsilon_0_tells_nothing():
    distribution = SetDistribution.of_epsilon(6, 3, 0.0)
    assert distribution.epsilon == 0.0
    assert distribution.held == Fraction(1, 2)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_the_distribution_of_the_loss_gives_the_delta_of_all_sets(epsilon):
    rows, _ = chances(LAW)
    exact = sum(
        max(0.0, float(one) - math.exp(epsilon) * float(other))
        for one, other in zip(*rows[:2], strict=True)
    )
    loss = LAW.loss_distribution()
    found = loss.masses @ np.maximum(0.0, -np.expm1(epsilon - loss.losses))
    assert found == pytest.approx(exact, abs=1e-12)
    assert found >= exact


class Counted:
    """Words that are counted."""

    def __init__(self, seed):
        self.rng, self.drawn = np.random.default_rng(seed), 0

    def __call__(self, count):
        self.drawn += count
        return self.rng.integers(0, 2**32, size=count, dtype=np.uint32)


def test_how_many_words_are_drawn_depends_on_no_answer():
    drawn = []
    for answer in range(5):
        words = Counted(1)
        LAW.sample(np.full(1000, answer), words)
        drawn.append(words.drawn)
    assert drawn == [2 * (1 + LAW.members) * 1000] * 5


def test_all_choices_give_all_sets_as_often_as_their_weights_say():
    """Every value of every uniform draw, once: 29 for the answer, 4 and 3 for two members."""
    distribution = SetDistribution(labels=5, members=2, inside=7, outside=5)
    limits = [distribution.total, 4, 3]
    combinations = np.stack(np.meshgrid(*map(np.arange, limits), indexing="ij"), -1).reshape(-1, 3)
    words = np.zeros((3, len(combinations), 2), np.uint32)  # a number below 2^32: the low word
    words[:, :, 0] = combinations.T
    for answer in range(5):
        reports = distribution.sample(
            np.full(len(combinations), answer), words_in_turn(words.reshape(-1))
        )
        counts = np.bincount(reports, minlength=distribution.count)
        held = sets_with(np.arange(distribution.count), 5, 2)[:, answer]
        share = Fraction(
            len(combinations) * distribution.labels, distribution.count * distribution.total
        )
        assert counts.tolist() == [
            share * (distribution.inside if h else distribution.outside) for h in held
        ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"members": 5}, "fewer than 5 members"),
        ({"members": 0}, "at least 1"),
        ({"labels": 64, "members": 32}, "more than 2\\^53 sets"),
        ({"inside": 2}, "at least the outside weight"),
        ({"inside": 2**32}, "at most 2\\^32"),
    ],
)
def test_what_is_no_distribution(changed, message):
    with pytest.raises(ParameterError, match=message):
        SetDistribution(**{"labels": 5, "members": 2, "inside": 7, "outside": 3, **changed})
