import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.synthesis.seed_weights import WORDS, floored_bounds, seed_edges, uniform_bounds


def weights_of(offsets, edges):
    edges = edges.astype(np.int64)
    return [np.diff(edges[start:end], prepend=0) for start, end in itertools.pairwise(offsets)]


@pytest.mark.parametrize("claims", [1, 2, 3, 7, 1000])
def test_equal_weights_are_as_equal_as_integers_can_be(claims):
    offsets = np.array([0, claims])
    [weights] = weights_of(offsets, seed_edges(offsets, np.full(claims, 1 / claims), 1.0))
    bounds = uniform_bounds(claims, claims)
    assert weights.sum() == WORDS
    assert weights.max() <= bounds.most * WORDS
    assert weights.max() <= bounds.ratio * weights.min()
    assert weights.max() - weights.min() <= 1


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
)
def test_learnt_weights_keep_their_public_bounds(raw, floor):
    raw = np.array(raw)
    weights = raw / raw.sum() if raw.sum() > 0 else np.full(len(raw), 1 / len(raw))
    offsets = np.array([0, 0, len(raw)])
    _, own = weights_of(offsets, seed_edges(offsets, weights, floor))
    bounds = floored_bounds(len(raw), len(raw), floor)
    assert own.sum() == WORDS
    assert own.max() <= bounds.most * WORDS
    assert bounds.most / bounds.ratio * WORDS <= own.min()
    wanted = floor / len(raw) + (1 - floor) * weights
    np.testing.assert_allclose(own / WORDS, wanted, atol=len(raw) * 2.0**-31)


def test_without_a_floor_a_claim_may_count_nothing():
    offsets = np.array([0, 3])
    [weights] = weights_of(offsets, seed_edges(offsets, np.array([0.0, 1.0, 0.0]), 0.0))
    assert weights.tolist() == [0, WORDS, 0]


def test_a_task_does_not_hear_of_the_others():
    """The rounding of one task's weights must not depend on another task's claims."""
    own = np.array([0.1, 0.2, 0.3, 0.4])
    edges = [
        seed_edges(np.array([0, 3, 7]), np.concatenate([other, own]), 0.5)[3:]
        for other in (np.array([1.0, 0.0, 0.0]), np.array([1 / 3, 1 / 7, 1 - 1 / 3 - 1 / 7]))
    ]
    np.testing.assert_array_equal(*edges)
