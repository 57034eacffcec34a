"""Largest 1-norms of sums with signs, against all signs and against singular values."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile
from quietcrowd.privacy.sketches import largest_signed_norm, spectral_norm_bound

TABLES = arrays(
    np.int64,
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    elements=st.integers(-(2**24), 2**24),
)


def enumerated(rows):
    """Return the largest 1-norm over all signs of the rows."""
    return max(
        int(np.abs(np.array(signs) @ rows).sum())
        for signs in itertools.product((-1, 1), repeat=len(rows))
    )


def profile(rank, tasks, kind):
    return TaskProfile(rank=rank, kind=kind, seed=0).matrix(pa.array(range(tasks)))


@given(TABLES)
def test_all_signs_are_tried(rows):
    exact = enumerated(rows)
    assert largest_signed_norm(rows) == exact
    assert spectral_norm_bound(rows) >= exact


@pytest.mark.parametrize("shape", [(40, 15), (15, 40), (3, 9000), (9000, 3), (1, 30)])
def test_blocks_of_signs_leave_none_out(shape):
    rows = np.random.default_rng(3).integers(-9, 10, shape)
    signs = np.ones(min(shape))
    wide = rows if rows.shape[1] == len(signs) else rows.T
    best = 0
    for place in range(2 ** (len(signs) - 1)):
        for bit in range(len(signs) - 1):
            signs[bit] = -1 if place >> bit & 1 else 1
        best = max(best, int(np.abs(wide @ signs).sum()))
    assert largest_signed_norm(rows) == best


def test_task_profiles_point_different_ways():
    assert round(largest_signed_norm(profile(12, 100, "gaussian")) / UNIT, 1) == 36.5
    assert round(largest_signed_norm(profile(12, 100, "rademacher")) / UNIT, 1) == 29.8
    assert largest_signed_norm(profile(20, 1000, "buckets")) == 1000 * UNIT


def test_too_many_signs_have_a_bound_from_the_largest_singular_value():
    rows = profile(20, 1100, "gaussian")
    bound = largest_signed_norm(rows)
    weights = [np.sqrt(np.linalg.norm(rows, axis=axis, keepdims=True)) for axis in (1, 0)]
    scaled = rows / weights[0] / weights[1]
    lengths = (weights[0] ** 2).sum() * (weights[1] ** 2).sum()
    exact = np.linalg.norm(scaled, 2) * np.sqrt(lengths)
    assert exact <= bound <= exact * (1 + 1e-7)
    # No signs reach it, and the best that a search finds are not far below.
    generator = np.random.default_rng(1)
    found = 0
    for _ in range(50):
        signs = generator.choice([-1, 1], 20)
        while np.abs(rows @ signs).sum() > found:
            found = np.abs(rows @ signs).sum()
            signs = np.sign(np.sign(rows @ signs) @ rows)
    assert 0.75 * bound < found <= bound


def test_columns_of_one_sign_are_added_up_apart():
    generator = np.random.default_rng(2)
    rows = np.concatenate(
        [generator.integers(90, 110, (60, 30)), generator.integers(-10, 11, (60, 30))], axis=1
    )
    apart = rows[:, :30].sum() + spectral_norm_bound(rows[:, 30:])
    assert largest_signed_norm(rows) == apart < spectral_norm_bound(rows)


def test_large_tables_fall_back_on_the_sum():
    rows = np.random.default_rng(5).integers(-9, 10, (1100, 1050))
    assert largest_signed_norm(rows) == np.abs(rows).sum()


def test_nothing_adds_up_to_nothing():
    assert largest_signed_norm(np.zeros((5, 3), np.int64)) == 0
    assert largest_signed_norm(np.zeros((0, 3), np.int64)) == 0
    assert spectral_norm_bound(np.zeros((5, 3), np.int64)) == 0


def test_sums_must_be_exact():
    with pytest.raises(ParameterError, match="must add up to less than 2"):
        largest_signed_norm(np.full((2, 1), 2**52))


def test_the_bound_is_never_below_the_singular_value_in_fractions():
    rows = np.array([[2**20, 1], [1, 2**20]])
    assert Fraction(spectral_norm_bound(rows)) >= 2 * (2**20 + 1)
