"""Sets and their numbers: each set has one, and each number is that of one set."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.set_ranks import MOST_SETS, ranks_of, sets_of, sets_with


@pytest.mark.parametrize(("labels", "members"), [(2, 1), (5, 2), (5, 4), (9, 3)])
def test_all_sets_are_counted_from_0_each_once(labels, members):
    listed = np.array(sorted(combinations(range(labels), members), key=lambda one: one[::-1]))
    ranks = ranks_of(listed, labels)
    assert ranks.tolist() == list(range(math.comb(labels, members)))
    assert np.array_equal(sets_of(ranks, labels, members), listed)


@given(st.data())
def test_large_numbers_come_back_exactly(data):
    labels, members = data.draw(st.sampled_from([(64, 17), (300, 8), (4096, 4), (54, 26)]))
    count = math.comb(labels, members)
    assert count <= MOST_SETS
    ranks = np.array([0, data.draw(st.integers(0, count - 1)), count - 1])
    sets = sets_of(ranks, labels, members)
    assert (np.diff(sets, axis=1) > 0).all()
    assert sets.min() >= 0
    assert sets.max() < labels
    assert np.array_equal(ranks_of(sets, labels), ranks)


def test_which_labels_a_set_holds():
    held = sets_with(np.array([0, 5]), 4, 2)
    assert held.tolist() == [[True, True, False, False], [False, False, True, True]]
