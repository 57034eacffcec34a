import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.kernels import integer_sums


@given(st.lists(st.floats(-1e6, 1e6), max_size=50), st.randoms(use_true_random=False))
def test_exact_sum_does_not_depend_on_the_order(numbers, random):
    shuffled = list(numbers)
    random.shuffle(shuffled)
    total = integer_sums.exact_sum(np.array(numbers, float), len(numbers))
    assert total == integer_sums.exact_sum(np.array(shuffled, float), len(numbers))
    assert math.isclose(total, math.fsum(numbers), rel_tol=0, abs_tol=1e-6)


def test_shares_are_those_of_tied_labels():
    shares = integer_sums.from_shares(integer_sums.shares(4))
    assert shares.tolist() == pytest.approx([0, 1, 1 / 2, 1 / 3, 1 / 4], abs=1e-9)


def test_weights_are_rounded_to_2_to_the_minus_32():
    assert integer_sums.to_fixed(np.array([1.0, -0.5, 2**-33 * 1.5])).tolist() == [
        2**32,
        -(2**31),
        1,
    ]


def test_room_is_checked_before_a_sum_overflows():
    integer_sums.check_room(2**26, 7.0)
    with pytest.raises(ParameterError, match="a task may have at most"):
        integer_sums.check_room(2**29, 7.0)


@given(st.floats(0, 1e15))
def test_sums_up_to_the_largest_fit_in_units(largest):
    unit = integer_sums.unit_for(largest)
    assert math.frexp(unit)[0] == 0.5
    assert unit <= 2**44
    assert largest * unit <= 2**62
    assert unit == 2**44 or largest * unit > 2**60
