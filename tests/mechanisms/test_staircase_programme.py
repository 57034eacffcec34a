"""The best table against brute force, and its integers against the loss that was asked for."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.nightly import nightly

from quietcrowd.mechanisms.channels.base import TOTAL, other_weight_for
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.staircase_programme import MOST_REPORTS, best_staircase


def information(shares):
    """Return what columns are worth in nats about labels so frequent."""
    shares = np.asarray(shares)[:, np.newaxis]

    def worth(columns):
        return (shares * columns * np.log(columns / (shares * columns).sum(axis=0))).sum(axis=0)

    return worth


def chances(weights):
    return np.asarray(weights, np.float64) / TOTAL


def most_of(worth, answers, epsilon):
    """Return the worth of the best table, by another programme: of the columns as they are."""
    sets = [s for n in range(1, answers) for s in combinations(range(answers), n)]
    columns = np.full((answers, len(sets)), math.exp(-epsilon))
    for place, one in enumerate(sets):
        columns[list(one), place] = 1.0
    gains = worth(columns)
    found = linprog(-gains / gains.max(), A_eq=columns, b_eq=np.ones(answers), method="highs-ipm")
    return -found.fun * gains.max()


def random_tables(rng, count, answers, epsilon):
    """Return tables with as many reports as answers, and one more, that lose epsilon at most.

    Each is one without a bound, mixed with its mean until it loses epsilon.
    """
    for reports in (answers, answers + 1):
        distribution = rng.choice([0.1, 0.3, 1.0], size=(count, 1, 1))
        tables = (
            rng.standard_gamma(np.broadcast_to(distribution, (count, answers, reports))) + 1e-12
        )
        tables /= tables.sum(axis=2, keepdims=True)
        mean = tables.mean(axis=1, keepdims=True)
        low, high = np.zeros((count, 1, 1)), np.ones((count, 1, 1))  # how much of it is kept
        for _ in range(40):
            middle = (low + high) / 2
            mixed = middle * tables + (1 - middle) * mean
            lost = np.log(mixed.max(axis=1) / mixed.min(axis=1)).max(axis=1)
            within = (lost <= epsilon)[:, np.newaxis, np.newaxis]
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        yield from low * tables + (1 - low) * mean


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.5, 0.1, 0.7, 3.0])
def test_no_other_table_of_three_answers_keeps_more(epsilon):
    """Of 10,000 drawn ones the best comes near it, and none beyond."""
    rng = np.random.default_rng(int(10 * epsilon))
    worth = information([0.6, 0.3, 0.1])
    best = worth(chances(best_staircase(worth, 3, epsilon, apart=0.0))).sum()
    found = max(worth(table).sum() for table in random_tables(rng, 5_000, 3, epsilon))
    assert 0.8 * best < found <= best * (1 + 1e-6)


@given(
    st.integers(2, 6),
    st.floats(0.01, 16.0),
    st.lists(st.floats(0.01, 1.0), min_size=6, max_size=6),
)
def test_the_integers_keep_what_the_programme_says_and_lose_no_more(answers, epsilon, raw):
    shares = np.array(raw[:answers]) / sum(raw[:answers])
    worth = information(shares)
    weights = best_staircase(worth, answers, epsilon, apart=0.0)
    channel = TableChannel(weights=weights)  # rows sum to 2^32
    assert channel.epsilon <= epsilon
    assert channel.epsilon >= epsilon * (1 - 2e-4) - 1e-6
    kept = worth(channel.probabilities).sum()
    assert kept == pytest.approx(most_of(worth, answers, epsilon), rel=1e-4)


@pytest.mark.parametrize(
    ("answers", "epsilon"), [(2, 0.01), (2, 1.0), (2, 16.0), (3, 2.0), (5, 3.0), (12, 8.0)]
)
def test_of_two_or_of_even_answers_at_a_large_loss_it_is_randomised_response(answers, epsilon):
    weights = best_staircase(information(np.full(answers, 1 / answers)), answers, epsilon, apart=0)
    other = other_weight_for(answers, epsilon)
    plain = TableChannel.randomized_response(answers, other).weights
    assert np.array_equal(weights[:, weights.argmax(axis=1)], plain)


def test_two_uneven_answers_get_randomised_response_too():
    weights = best_staircase(information([0.95, 0.05]), 2, 1.0, apart=0.5)
    plain = TableChannel.randomized_response(2, other_weight_for(2, 1.0)).weights
    assert np.array_equal(weights[:, weights.argmax(axis=1)], plain)


@pytest.mark.parametrize(
    ("answers", "epsilon", "size"), [(5, 0.5, 2), (6, 1.0, 2), (8, 1.0, 3), (10, 0.5, 4)]
)
def test_even_answers_share_columns_as_in_subset_selection(answers, epsilon, size):
    """And it keeps what subset selection keeps: all sets of that size, one as likely as another."""
    worth = information(np.full(answers, 1 / answers))
    weights = best_staircase(worth, answers, epsilon, apart=0.5)
    assert ((weights > weights.min(axis=0)).sum(axis=0) == size).all()
    members = np.array([np.isin(np.arange(answers), s) for s in combinations(range(answers), size)])
    table = np.where(members.T, math.exp(epsilon), 1.0)
    table /= table.sum(axis=1, keepdims=True)
    assert worth(chances(weights)).sum() == pytest.approx(worth(table).sum(), rel=1e-6)


def apart_in(weights, epsilon):
    """Return by how much the rows of two answers differ, as a share of randomised response."""
    answers = len(weights)
    plain = TableChannel.randomized_response(answers, other_weight_for(answers, epsilon)).weights
    rows, others = np.sqrt(chances(weights)), np.sqrt(chances(plain))
    whole = 1 - others[0] @ others[1]
    return [(1 - rows[a] @ rows[b]) / whole for a, b in combinations(range(answers), 2)]


@pytest.mark.parametrize("apart", [0.3, 0.5, 1.0])
def test_every_two_answers_can_be_told_apart(apart):
    """Squared Hellinger distances: randomised response has the same one for every two answers."""
    worth = information([0.8, 0.1, 0.05, 0.05])
    shares = apart_in(best_staircase(worth, 4, 1.0, apart=apart), 1.0)
    assert min(shares) == pytest.approx(apart, rel=1e-4)
    assert min(apart_in(best_staircase(worth, 4, 1.0, apart=0.0), 1.0)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, nightly(1.0), nightly(2.0)])
def test_twelve_even_answers_fit_into_a_campaign_and_are_all_told_apart(epsilon):
    """The linear programme alone gives six columns at 0.1, and some answers the same rows."""
    weights = best_staircase(information(np.full(12, 1 / 12)), 12, epsilon, apart=0.5)
    assert weights.shape[1] <= MOST_REPORTS
    assert min(apart_in(weights, epsilon)) > 1.3


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-9])
def test_integers_hold_no_smaller_loss(epsilon):
    weights = best_staircase(information([0.2, 0.8, 1e-3]), 3, epsilon, apart=0.5)
    assert np.ptp(weights, axis=0).max() == 0
    assert (weights.sum(axis=1) == TOTAL).all()
