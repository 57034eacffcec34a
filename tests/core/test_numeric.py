import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits, assert_refuses_other_arrays, outside

from quietcrowd import _core

WEIGHT_UNIT, ERROR_UNIT, LOSS_UNIT = 2.0**46, 2.0**50, 2.0**40
LARGEST = np.finfo(float).max


def numbers_of(rng, tasks=60, workers=50, per=6, levels=0):
    """Return a partition, with empty tasks and known truths; with ties where there are levels."""
    sizes = rng.integers(0, 2 * per + 1, tasks)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows = int(offsets[-1])
    values = rng.integers(0, levels, rows) / levels - 0.5 if levels else rng.random(rows) - 0.5
    return (
        offsets,
        rng.integers(0, workers, rows, dtype=np.uint32),
        values,
        np.where(rng.random(tasks) < 0.1, rng.random(tasks) - 0.5, np.nan),
    )


def partitions(longest=12_000):
    """Return partitions of many shapes."""
    rng = np.random.default_rng(0)
    yield from (numbers_of(rng, per=per, levels=levels) for per in (1, 6, 40) for levels in (0, 4))
    yield numbers_of(rng, tasks=4, per=longest // 2)
    yield numbers_of(rng, tasks=700, per=4, levels=2)
    yield numbers_of(rng, tasks=0)
    yield numbers_of(rng, workers=1, per=3)


def extremes():
    """Return a partition of numbers that no method passes on."""
    numbers = np.array([0.0, -0.0, 5e-324, 2e-308, 1e-12, 0.5, 1e300, LARGEST, np.inf])
    rng = np.random.default_rng(1)
    partition = numbers_of(rng, tasks=200, per=5)
    offsets, codes, values, known = partition
    values[:] = rng.choice(np.concatenate((numbers, -numbers)), len(values))
    known[rng.random(len(known)) < 0.2] = 0.25
    return offsets, codes, values, known


def weights_of(rng, workers=50):
    return np.where(rng.random(workers) < 0.2, 1e-6, rng.random(workers))


def room_of(partition, *, last):
    return tuple(np.zeros(len(partition[0]) - 1 if last else 0) for _ in range(3))


def means(partition, *, last=True):
    weights = weights_of(np.random.default_rng(2))
    units, squared = (WEIGHT_UNIT, ERROR_UNIT), np.zeros(50, np.int64)
    return partition, weights, -0.3, 0.4, *units, squared, room_of(partition, last=last)


def medians(partition, *, last=True):
    return partition, ERROR_UNIT, np.zeros(50, np.int64), room_of(partition, last=last)


def least_losses(partition, *, last=True, absolute=False, power=1):
    weights = weights_of(np.random.default_rng(3))
    units, sums = (WEIGHT_UNIT, ERROR_UNIT, LOSS_UNIT), (np.zeros(50, np.int64) for _ in range(2))
    return partition, weights, absolute, power, *units, *sums, room_of(partition, last=last)


def test_every_bit_of_means():
    for partition in (*partitions(), extremes()):
        for last in (False, True):
            assert_recorded_bits("infer_means", *means(partition, last=last))


def test_every_bit_of_medians():
    for partition in (*partitions(), extremes()):
        for last in (False, True):
            assert_recorded_bits("infer_medians", *medians(partition, last=last))


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_every_bit_of_least_losses(absolute, power):
    for partition in (*partitions(), extremes()):
        for last in (False, True):
            given = least_losses(partition, last=last, absolute=absolute, power=power)
            assert_recorded_bits("infer_least_losses", *given)


def test_every_bit_of_sums():
    for offsets, _, values, _ in (*partitions(), extremes()):
        sums = np.zeros(len(offsets) - 1, np.int64)
        assert_recorded_bits("sum_per_task", offsets, values, 2.0**40, sums)


KERNELS = {"infer_means": means, "infer_medians": medians, "infer_least_losses": least_losses}


@pytest.mark.parametrize("name", KERNELS)
@outside(50)
def test_what_lies_outside_is_refused(name, place, value, message):
    given = KERNELS[name](numbers_of(np.random.default_rng(3)))
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        getattr(_core, name)(*given)


@pytest.mark.parametrize("name", KERNELS)
def test_other_sizes_and_types_are_refused(name):
    given = KERNELS[name](numbers_of(np.random.default_rng(4)))
    assert_refuses_other_arrays(name, given)


def test_what_cannot_be_divided_by_is_refused():
    partition = numbers_of(np.random.default_rng(6))
    given = means(partition)
    with pytest.raises(ValueError, match="weights are 0"):
        _core.infer_means(partition, np.zeros(50), *given[2:])
    for name, arguments in KERNELS.items():
        given = arguments(partition)
        place = next(i for i, unit in enumerate(given) if unit is ERROR_UNIT)
        with pytest.raises(ValueError, match="units"):
            getattr(_core, name)(*given[:place], 0.0, *given[place + 1 :])
    for power in (-1, 3):
        with pytest.raises(ValueError, match="power"):
            _core.infer_least_losses(*least_losses(partition, power=power))


def test_sums_of_what_does_not_fit_are_refused():
    offsets, values, sums = np.array([0, 3, 5]), np.zeros(5), np.zeros(2, np.int64)
    for broken in ([0, 6, 5], [-1, 3, 5], [0, 3, 6], [0, 3]):
        with pytest.raises(ValueError, match="offsets"):
            _core.sum_per_task(np.array(broken), values, 1.0, sums)
    _core.sum_per_task(offsets, values, 1.0, sums)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 32, 33, 64, 65, 100, 1000])
@pytest.mark.parametrize("levels", [3, 1000])
def test_medians_are_those_of_numpy(count, levels):
    values = np.random.default_rng(count).integers(0, levels, count) / levels - 0.5
    partition = np.array([0, count]), np.zeros(count, np.uint32), values, np.array([np.nan])
    truths, standard_errors, spreads = room = room_of(partition, last=True)
    _core.infer_medians(partition, 2.0**50, np.zeros(1, np.int64), room)
    truth = np.median(values) if count else 0.0
    assert truths[0] == truth
    assert np.isnan(standard_errors[0])
    assert spreads[0] == pytest.approx(np.sqrt(np.mean((values - truth) ** 2)) if count else 0.0)
