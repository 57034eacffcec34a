import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums


@given(st.lists(st.floats(-1e6, 1e6), max_size=50), st.randoms(use_true_random=False))
def test_exact_sum_does_not_depend_on_the_order(numbers, random):
    shuffled = list(numbers)
    random.shuffle(shuffled)
    total = integer_sums.exact_sum(np.array(numbers, float), len(numbers))
    assert total == integer_sums.exact_sum(np.array(shuffled, float), len(numbers))
    assert math.isclose(total, math.fsum(numbers), rel_tol=0, abs_tol=1e-6)


@pytest.mark.parametrize("largest", [2.0**-90, 0.75, 1.0, 3.0, 2.0**40])
@pytest.mark.parametrize("terms", [3, 1000])
def test_exact_sum_rounds_to_the_nearest_multiple_of_one_step(largest, terms):
    """The largest number and how many there can be fix the step: all sums fit into 2^62 of it."""
    step = math.ldexp(1.0, math.frexp(largest)[1] + terms.bit_length() - 62)
    sums = [
        integer_sums.exact_sum(np.array([largest, -largest, part * step]), terms)
        for part in (0.4, 0.6, 1.0, 7.3)
    ]
    assert sums == [0.0, step, step, 7 * step]


@pytest.mark.parametrize("number", [0.0, 1.0, 1e-310, 1e300])
def test_exact_sum_holds_as_many_as_it_is_told_of(number):
    numbers = np.full(1000, number)
    assert integer_sums.exact_sum(numbers, 1000) == pytest.approx(1000 * number, rel=1e-12)
    assert integer_sums.exact_sum(numbers[:0], 0) == 0.0


def test_shares_are_those_of_tied_labels():
    shares = integer_sums.from_shares(integer_sums.shares(4))
    assert shares.tolist() == pytest.approx([0, 1, 1 / 2, 1 / 3, 1 / 4], abs=1e-9)
    assert integer_sums.shares(3).tolist() == [0, 2**30, 2**29, 2**30 // 3]


def test_weights_are_rounded_to_2_to_the_minus_32():
    fixed = integer_sums.to_fixed(np.array([1.0, -0.5, 2**-33 * 1.5]))
    assert fixed.tolist() == [2**32, -(2**31), 1]
    assert fixed.dtype == np.int64


def test_room_is_checked_before_a_sum_overflows():
    integer_sums.check_overflow(2**26, 7.0)
    with pytest.raises(ParameterError, match="a task may have at most"):
        integer_sums.check_overflow(2**29, 7.0)
    integer_sums.check_overflow(2**31 - 1, 1.0)
    with pytest.raises(ParameterError, match="at most 2,147,483,648 answers; one has 2,147,483,6"):
        integer_sums.check_overflow(2**31, 1.0)


@given(st.floats(0, 1e15))
def test_sums_up_to_the_largest_fit_in_units(largest):
    unit = integer_sums.unit_for(largest)
    assert math.frexp(unit)[0] == 0.5
    assert unit <= 2**44
    assert largest * unit <= 2**61
    assert unit == 2**44 or largest * unit > 2**60
