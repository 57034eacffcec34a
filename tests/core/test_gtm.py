import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits, assert_refuses_other_arrays, outside
from tests.core.test_numeric import extremes, numbers_of, partitions, room_of, weights_of

from quietcrowd import _core

PRIOR, CUT, UNITS = (0.25, 1.5), 10.0, (2.0**40, 2.0**36, 2.0**50)


def arguments_of(partition, *, last=True, cut=CUT):
    weights = weights_of(np.random.default_rng(2))
    squared, kept, errors = (np.zeros(50, np.int64) for _ in range(3))
    evidence = np.zeros(1, np.int64)
    sums = squared, kept, evidence, errors
    return partition, weights, 3.0, *PRIOR, cut, *UNITS, *sums, room_of(partition, last=last)


@pytest.mark.parametrize("cut", [CUT, 0.7, 1e-300])
def test_every_bit(cut):
    for partition in partitions():
        for last in (False, True):
            assert_recorded_bits("infer_gaussian", *arguments_of(partition, cut=cut, last=last))


def test_every_bit_of_extreme_numbers():
    assert_recorded_bits("infer_gaussian", *arguments_of(extremes()))


@outside(50)
def test_what_lies_outside_is_refused(place, value, message):
    given = arguments_of(numbers_of(np.random.default_rng(3)))
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_gaussian(*given)


def test_other_sizes_and_types_are_refused():
    given = arguments_of(numbers_of(np.random.default_rng(4)))
    assert_refuses_other_arrays("infer_gaussian", given)


@pytest.mark.parametrize("place", [6, 8])
def test_units_of_0_are_refused(place):
    given = arguments_of(numbers_of(np.random.default_rng(6)))
    with pytest.raises(ValueError, match="units"):
        _core.infer_gaussian(*given[:place], 0.0, *given[place + 1 :])


def test_a_truth_without_any_precision_is_refused():
    partition, weights, unit, mean, _, *rest = arguments_of(numbers_of(np.random.default_rng(6)))
    with pytest.raises(ValueError, match="precision 0, of task"):
        _core.infer_gaussian(partition, weights * 0.0, unit, mean, 0.0, *rest)
