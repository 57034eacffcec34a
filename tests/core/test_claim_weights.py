import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core

BOTH = pytest.mark.parametrize("gaussian", [True, False])
WORKERS = 30


def claims_of(rng, sizes, *, spread=2.0):
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    rows = int(offsets[-1])
    values = rng.normal(0, spread, rows)
    values[1::5] = values[::5][: len(values[1::5])]
    codes = rng.integers(0, WORKERS, rows, dtype=np.uint32)
    return offsets, codes, values, rng.uniform(0.1, 2, len(sizes))


@pytest.mark.parametrize(
    "thresholds", [(0.0, 0.0, 0.0), (1.0, 2.0, 4.0), (0.5, 0.5, 0.5), (0.0, 1.0, np.inf)]
)
def test_every_bit_of_hampel(thresholds):
    rng = np.random.default_rng(1)
    numbers = [0.0, 5e-324, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 1e308, np.inf, np.nan]
    for residuals in (np.array(numbers), rng.uniform(0, 5, 300), np.zeros(0)):
        for name in ("hampel_psis", "hampel_losses"):
            assert_recorded_bits(name, residuals, thresholds, np.zeros(len(residuals)))


SIZES = [[], [0], [1], [2], [0, 3, 1, 2, 0, 40, 2, 7], [63, 64, 65, 66, 130]]


@BOTH
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("spread", [0.0, 2.0, 1e300])
def test_every_bit_of_tallies(gaussian, sizes, spread):
    rng = np.random.default_rng(len(sizes))
    offsets, codes, values, widths = claims_of(rng, sizes, spread=spread)
    weights = rng.random(WORKERS) * (rng.random(WORKERS) < 0.7)
    tally = rng.integers(-(2**63), 2**63, WORKERS)
    for first, end in ((0, len(sizes)), (len(sizes) // 3, len(sizes) // 2)):
        for known, unit in ((weights, 2.0**40), (0 * weights, 2.0**52), (weights, 2.0**63)):
            claims = (offsets, codes, values, widths)
            run = (gaussian, first, end, *claims, known, unit, tally)
            assert_recorded_bits("tally_distances", *run)


@BOTH
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("printed", [False, True])
def test_every_bit_of_local_weights(gaussian, sizes, printed):
    rng = np.random.default_rng(len(sizes))
    for spread in (0.0, 2.0, 1e300):
        offsets, _, values, widths = claims_of(rng, sizes, spread=spread)
        for quantiles in ((0.5, 0.75, 0.85), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 0.5, 1.0)):
            for most, tol in ((0, 0.0), (1, 0.0), (6, 0.0), (50, 1e-3)):
                run = (gaussian, len(sizes) // 3, len(sizes), offsets, values, widths, quantiles)
                given_arrays = (*run, most, tol, printed, np.full(len(values), 7.0))
                assert_recorded_bits("weigh_locally", *given_arrays)


@given(
    st.booleans(),
    st.lists(st.lists(st.floats(-1e9, 1e9), max_size=6), min_size=1, max_size=4),
    st.floats(1e-3, 1e6),
    st.booleans(),
)
def test_every_bit_of_any_claims(gaussian, tasks, bandwidth, printed):
    offsets = np.concatenate(([0], np.cumsum([len(task) for task in tasks])))
    values = np.array([claim for task in tasks for claim in task])
    widths = np.full(len(tasks), bandwidth)
    claims = (gaussian, 0, len(tasks), offsets, values, widths)
    settings = ((0.5, 0.75, 0.85), 20, 1e-6, printed)
    assert_recorded_bits("weigh_locally", *claims, *settings, np.zeros(len(values)))


def arguments_of(name):
    offsets, codes, values, widths = claims_of(np.random.default_rng(3), [3, 0, 9])
    if name == "tally_distances":
        tally = np.zeros(WORKERS, np.int64)
        return [True, 0, 3, offsets, codes, values, widths, np.ones(WORKERS), 2.0**30, tally]
    quantiles = (0.5, 0.75, 0.85)
    return [True, 0, 3, offsets, values, widths, quantiles, 5, 0.0, False, np.zeros(12)]


@pytest.mark.parametrize("name", ["tally_distances", "weigh_locally"])
def test_arrays_of_wrong_sizes_types_and_offsets_are_refused(name):
    kernel, arrays = getattr(_core, name), 0
    for place, argument in enumerate(arguments_of(name)):
        if not isinstance(argument, np.ndarray):
            continue
        arrays += 1
        for changed in (argument[:-1], np.append(argument, argument[-1]), argument[:0]):
            arguments = arguments_of(name)
            arguments[place] = changed
            with pytest.raises(ValueError, match=r"must|leave"):
                kernel(*arguments)
        for changed in (argument.astype(np.float32), np.repeat(argument, 2)[::2]):
            arguments[place] = changed
            with pytest.raises(TypeError):
                kernel(*arguments)
    assert arrays == (6 if name == "tally_distances" else 4)
    for task, offset in ((1, 13), (1, -1), (2, 2), (3, 13), (3, 2**62)):
        arguments = arguments_of(name)
        arguments[3][task] = offset
        with pytest.raises(ValueError, match="offsets fall or leave the rows, at or after task"):
            kernel(*arguments)
    for first, end in ((-1, 2), (2, 1), (0, 4), (4, 4)):
        arguments = arguments_of(name)
        arguments[1:3] = first, end
        with pytest.raises(ValueError, match="the run leaves the tasks"):
            kernel(*arguments)


@pytest.mark.parametrize("code", [WORKERS, 2**31, 2**32 - 1])
def test_unknown_workers_are_refused(code):
    arguments = arguments_of("tally_distances")
    arguments[4][5] = code
    with pytest.raises(ValueError, match="worker code is out of range, at or after task 2"):
        _core.tally_distances(*arguments)


@pytest.mark.parametrize("quantile", [-1e-9, 1.0000001, np.nan, np.inf, -np.inf])
def test_quantiles_out_of_range_are_refused(quantile):
    for place in range(3):
        quantiles = [0.5, 0.5, 0.5]
        quantiles[place] = quantile
        arguments = arguments_of("weigh_locally")
        arguments[6] = tuple(quantiles)
        with pytest.raises(ValueError, match="quantiles must be 0 to 1"):
            _core.weigh_locally(*arguments)


def test_hampel_refuses_other_lengths_and_types():
    for kernel in (_core.hampel_psis, _core.hampel_losses):
        with pytest.raises(ValueError, match="length"):
            kernel(np.ones(3), (1.0, 2.0, 3.0), np.ones(4))
        for residuals in (np.ones(3, np.float32), np.ones(6)[::2]):
            with pytest.raises(TypeError):
                kernel(residuals, (1.0, 2.0, 3.0), np.ones(3))
        with pytest.raises(TypeError):
            kernel(np.ones(3), (1.0, 2.0), np.ones(3))
