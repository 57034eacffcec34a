import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from quietcrowd.inference.lanes import add_lanes


def adder(lanes):
    """Return a compiled function that adds so many numbers."""

    @numba.njit
    def add(target, place, source, start):
        add_lanes(target, place, source, start, lanes)

    return add


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 7, 8, 9, 16, 21])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_so_many_numbers_are_added_and_no_other(lanes, kind):
    rng = np.random.default_rng(lanes)
    target = rng.integers(-(2**40), 2**40, 30)
    source = rng.integers(-(2**31), 2**31, 30).astype(kind)
    expected = target.copy()
    expected[5 : 5 + lanes] += source[3 : 3 + lanes]
    adder(lanes)(target, np.uint64(5), source, np.uint64(3))
    assert target.tolist() == expected.tolist()


def test_the_number_of_lanes_is_a_constant():
    @numba.njit
    def add(target, lanes):
        add_lanes(target, 0, target, 0, lanes)

    with pytest.raises(TypingError, match="number of lanes must be a constant"):
        add(np.zeros(4, np.int64), 2)
