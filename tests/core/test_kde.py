import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core

BOTH = pytest.mark.parametrize("gaussian", [True, False])
EXTREME = [0.0, -0.0, 5e-324, 1e-300, -1e-160, 0.7, 1.0, -2.0, 9.0, 1e160, -1.7e308, np.inf]
WIDTHS = [5e-324, 2.3e-308, 1e-160, 0.3, 1.0, 2.0, 1e160, 1.7e308]


def each(*numbers):
    return [array.flatten() for array in np.meshgrid(*numbers)]


def between(rng, count):
    return [rng.normal(0, 3, count), rng.uniform(0.01, 2, count), rng.uniform(0.01, 2, count)]


def densities_of(rng, sizes, *, spread=2.0):
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    rows = int(offsets[-1])
    weights = rng.random(rows)
    points = rng.normal(0, spread, rows)
    points[1::7] = points[::7][: len(points[1::7])]
    return offsets, points, weights, rng.uniform(0.1, 2, len(sizes))


@BOTH
@pytest.mark.parametrize(
    ("name", "widths"),
    [("kernel_densities", 1), ("feature_inners", 1), ("kernel_overlaps", 2)],
)
def test_every_bit_of_kernels(gaussian, name, widths):
    for given_numbers in (
        each(EXTREME, *[WIDTHS] * widths),
        between(np.random.default_rng(1), 5_000)[: 1 + widths],
        [np.zeros(0)] * (1 + widths),
    ):
        room = np.zeros(len(given_numbers[0]))
        assert_recorded_bits(name, gaussian, *given_numbers, room)


@BOTH
@pytest.mark.parametrize("sizes", [[], [0], [1], [0, 3, 1, 0, 2, 40, 0], [63, 64, 65, 66, 200]])
@pytest.mark.parametrize("spread", [0.0, 2.0, 1e300])
def test_every_bit_of_distances_and_errors(gaussian, sizes, spread):
    rng = np.random.default_rng(len(sizes))
    densities = densities_of(rng, sizes, spread=spread)
    others = densities_of(rng, sizes[::-1], spread=spread)
    rows = np.zeros(len(densities[1]))
    assert_recorded_bits("claim_distances", gaussian, densities, rows)
    errors = np.full(len(sizes), 7.0)
    for first, end in ((0, len(sizes)), (len(sizes) // 3, len(sizes) // 2)):
        given_arrays = (gaussian, first, end, densities, others, errors)
        assert_recorded_bits("squared_errors", *given_arrays)


FLOATS = st.floats(-1e12, 1e12)


@given(
    st.booleans(),
    st.lists(st.lists(FLOATS, max_size=5), min_size=1, max_size=3),
    st.floats(1e-12, 1e12),
    st.randoms(),
)
def test_every_bit_of_any_claims(gaussian, tasks, bandwidth, random):
    offsets = np.concatenate(([0], np.cumsum([len(task) for task in tasks])))
    points = np.array([claim for task in tasks for claim in task])
    weights = np.array([random.random() for _ in points])
    densities = (offsets, points, weights, np.full(len(tasks), bandwidth))
    others = (offsets, points[::-1].copy(), weights, np.full(len(tasks), 1.0))
    assert_recorded_bits("claim_distances", gaussian, densities, np.zeros(len(points)))
    run = (gaussian, 0, len(tasks), densities, others, np.zeros(len(tasks)))
    assert_recorded_bits("squared_errors", *run)


@pytest.mark.parametrize("name", ["kernel_densities", "feature_inners", "kernel_overlaps"])
def test_kernels_refuse_arrays_of_other_lengths_and_types(name):
    count = 4 if name == "kernel_overlaps" else 3
    for place in range(count):
        arrays = [np.ones(5) for _ in range(count)]
        arrays[place] = np.ones(4)
        with pytest.raises(ValueError, match="length"):
            getattr(_core, name)(True, *arrays)
        for wrong in (np.ones(5, np.float32), np.ones(10)[::2], np.ones((5, 1))):
            arrays[place] = wrong
            with pytest.raises(TypeError):
                getattr(_core, name)(True, *arrays)


def arguments_of(name):
    rng = np.random.default_rng(4)
    densities, others = (densities_of(rng, [3, 0, 4]) for _ in range(2))
    if name == "claim_distances":
        return [False, densities, np.zeros(7)]
    return [False, 0, 3, densities, others, np.zeros(3)]


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("claim_distances", 1, "must|leave"),
        ("squared_errors", 3, "must|leave"),
        ("squared_errors", 4, "must|leave"),
    ],
)
def test_densities_of_wrong_sizes_or_offsets_are_refused(name, place, message):
    kernel = getattr(_core, name)
    for part in range(4):
        for change in (lambda a: a[:-1], lambda a: np.append(a, a[-1]), lambda a: a[:0]):
            arguments = arguments_of(name)
            changed = list(arguments[place])
            changed[part] = change(changed[part])
            arguments[place] = tuple(changed)
            with pytest.raises(ValueError, match=message):
                kernel(*arguments)
        arguments = arguments_of(name)
        changed = list(arguments[place])
        changed[part] = changed[part].astype(np.float32)
        arguments[place] = tuple(changed)
        with pytest.raises(TypeError):
            kernel(*arguments)
    for task, offset in ((1, 9), (1, -1), (2, 2), (3, 8), (3, 2**62)):
        arguments = arguments_of(name)
        arguments[place][0][task] = offset
        with pytest.raises(ValueError, match="offsets fall or leave the rows, at or after task"):
            kernel(*arguments)


def test_results_of_wrong_sizes_and_runs_are_refused():
    arguments = arguments_of("claim_distances")
    with pytest.raises(ValueError, match="distances must be one per row"):
        _core.claim_distances(*arguments[:2], np.zeros(6))
    arguments = arguments_of("squared_errors")
    with pytest.raises(ValueError, match="of the same tasks"):
        _core.squared_errors(*arguments[:5], np.zeros(2))
    for first, end in ((-1, 2), (2, 1), (0, 4), (4, 4)):
        with pytest.raises(ValueError, match="the run leaves the tasks"):
            _core.squared_errors(False, first, end, *arguments[3:])
