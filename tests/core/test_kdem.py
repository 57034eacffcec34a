import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import median_abs_deviation
from tests.core.kernels import assert_recorded_bits, assert_refuses_other_arrays, outside
from tests.core.test_numeric import extremes, numbers_of, partitions, room_of, weights_of

from quietcrowd import _core

UNITS = 2.0**46, 2.0**50, 2.0**49


def arguments_of(partition, *, last=True, at_mode=True, weights=None):
    weights = weights_of(np.random.default_rng(2)) if weights is None else weights
    sums = (np.zeros(len(weights), np.int64) for _ in range(2))
    return partition, weights, at_mode, *UNITS, *sums, room_of(partition, last=last)


@pytest.mark.parametrize(("last", "at_mode"), [(False, True), (True, False), (True, True)])
def test_every_bit(last, at_mode):
    for partition in partitions(longest=300):
        assert_recorded_bits(
            "infer_densities", *arguments_of(partition, last=last, at_mode=at_mode)
        )


@pytest.mark.parametrize("at_mode", [False, True])
def test_every_bit_of_extreme_numbers(at_mode):
    assert_recorded_bits("infer_densities", *arguments_of(extremes(), at_mode=at_mode))


claims = st.lists(st.floats(-0.5, 0.5) | st.integers(-2, 2).map(lambda n: n / 4), max_size=8)
weights = st.lists(st.sampled_from([1e-6, 0.25, 0.5, 1.0]), min_size=8, max_size=8)


@given(claims, weights, st.none() | st.floats(-0.5, 0.5), st.booleans())
def test_every_bit_of_a_task(values, weights, known, at_mode):
    partition = (
        np.array([0, len(values)]),
        np.arange(len(values), dtype=np.uint32),
        np.array(values, float),
        np.array([np.nan if known is None else known]),
    )
    arguments = arguments_of(partition, at_mode=at_mode, weights=np.array(weights))
    assert_recorded_bits("infer_densities", *arguments)


@outside(50)
def test_what_lies_outside_is_refused(place, value, message):
    given = arguments_of(numbers_of(np.random.default_rng(3)))
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_densities(*given)


def test_other_sizes_and_types_are_refused():
    given = arguments_of(numbers_of(np.random.default_rng(4)))
    assert_refuses_other_arrays("infer_densities", given)


def test_weights_of_which_all_are_0_are_refused():
    given = arguments_of(numbers_of(np.random.default_rng(6)), at_mode=False)
    with pytest.raises(ValueError, match="weights are 0"):
        _core.infer_densities(given[0], np.zeros(50), *given[2:])


def found_in(values, weights, known=np.nan, *, at_mode=True):
    """Return the truth of one task, and what each worker's claim costs."""
    count = len(values)
    partition = (
        np.array([0, count]),
        np.arange(count, dtype=np.uint32),
        np.array(values, float),
        np.array([known]),
    )
    squared, losses = np.zeros(count, np.int64), np.zeros(count, np.int64)
    room = tuple(np.zeros(1) for _ in range(3))
    units = 2.0**50, 2.0**50, 2.0**50
    _core.infer_densities(
        partition, np.array(weights, float), at_mode, *units, squared, losses, room
    )
    return room[0][0], losses / 2.0**50 * count


SCALE = 1 / 8


def mode_of(points, shares, bandwidth):
    """Find the mode of a density: other claims, of no weight, make the bandwidth."""
    far, width = -2.0, len(points)
    others = [far - bandwidth] * (width + 1) + [far] + [far + bandwidth]
    claims = np.concatenate((others, points)) * SCALE
    mode, _ = found_in(claims, np.concatenate((np.zeros(len(others)), shares)))
    return mode / SCALE


def test_of_equally_dense_claims_the_smallest_leads():
    points = [0.0, 1.0, 2.0]
    for less, leads in ((0.0, 0), (1e-14, 0), (0.4 * 0.999e-9, 0), (0.4 * 1.001e-9, 2), (1e-6, 2)):
        assert mode_of(points, [0.4 - less, 0.2, 0.4], 0.1) == pytest.approx(leads, abs=1e-6)
    assert mode_of(points, [0.4, 0.2, 0.4], 0.1) >= 0.0
    assert mode_of(points, [0.3, 0.2, 0.4], 0.1) <= 2.0


def test_the_valley_between_two_claims_is_no_mode():
    points, shares = [0.0, 1.0], [0.5, 0.5]
    assert mode_of(points, shares, 0.25) == pytest.approx(4e-4, rel=0.2)
    assert mode_of(points, shares, 0.5) == pytest.approx(0.5, abs=1e-9)
    assert mode_of(points, shares, 0.49) == pytest.approx(0.3304116, abs=1e-6)  # a shallow valley


def test_a_lower_mode_near_the_neighbour_is_passed_by():
    points = np.array([0.0, 1.0, 2.0, 4.0]) / 12
    shares = np.array([0.21931517, 0.32596149, 0.32787579, 0.12684755])
    bandwidth = 0.0298007
    mode = mode_of(points, shares, bandwidth)
    density = np.exp(-(((mode - points) / bandwidth) ** 2) / 2) @ shares
    assert density > 0.33692 + 1e-5 > np.exp(-(((2 / 12 - points) / bandwidth) ** 2) / 2) @ shares


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12, unique=True),
    st.lists(st.floats(0.01, 1), min_size=12, max_size=12),
    st.floats(1e-3, 1),
)
def test_a_climb_ends_on_a_mode(claims, weights, bandwidth):
    points = np.sort(claims)
    shares = np.array(weights[: len(points)]) / sum(weights[: len(points)])

    def density(place):
        return np.exp(-(((place[:, None] - points) / bandwidth) ** 2) / 2) @ shares

    mode = mode_of(points, shares, bandwidth)
    around = density(mode + bandwidth * np.array([-1e-3, 0.0, 1e-3]))
    assert around[1] >= density(points).max() * (1 - 1.001e-9)
    assert around[1] >= around.max() - 1e-9
    assert points[0] - 1e-12 <= mode <= points[-1] + 1e-12


def test_claims_that_all_count_as_equal_have_a_weighted_median():
    points = np.array([0.0, 1.0, 5.0]) * 2.0**-43
    for weights, median in (([1, 1, 1], 1.0), ([1, 1, 3], 5.0), ([1, 1, 2], 3.0)):
        assert found_in(points, np.array(weights) / 4)[0] == median * 2.0**-43
    assert found_in(points[:1], [0.7])[0] == 0.0


@pytest.mark.parametrize("count", [1, 2, 3, 10, 32, 33, 100])
@pytest.mark.parametrize("levels", [3, 1000])
def test_the_bandwidth_is_the_median_absolute_deviation(count, levels):
    values = np.random.default_rng(count).integers(0, levels, count) / levels - 0.5
    known = 0.123
    numbers = np.append(values, known)
    bandwidth = max(median_abs_deviation(numbers), 1e-10 * numbers.std())
    expected = 2 - 2 * np.exp(-(((values - known) / bandwidth) ** 2) / 2)
    truth, losses = found_in(values, np.ones(count), known)
    assert truth == known
    assert losses == pytest.approx(expected, abs=1e-12)


def test_a_task_without_claims():
    assert found_in([], [])[0] == 0.0
    assert found_in([], [], 0.25)[0] == 0.25
