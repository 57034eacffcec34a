from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits, outside
from tests.core.test_numeric import numbers_of, partitions

from quietcrowd import _core
from quietcrowd.inference.numbers.moon import LARGEST_SCORE


class Given(NamedTuple):
    """The arguments of `infer_by_mixture`."""

    partition: tuple
    sigmas: np.ndarray
    weights: np.ndarray
    scale: float
    prior_mean: float
    prior_precision: float
    low: float
    high: float
    rest: float
    weight_unit: float
    error_unit: float
    square_unit: float
    evidence_unit: float
    truth_unit: float
    squared: np.ndarray
    sums: np.ndarray
    evidence: np.ndarray
    truth_sums: np.ndarray
    estimates: tuple


def given_of(partition, *, workers=50, scale=0.1, last=True, seed=2, **changes):
    rng = np.random.default_rng(seed)
    tasks = len(partition[0]) - 1
    ordinary = Given(
        partition=partition,
        sigmas=np.maximum(10.0 ** rng.uniform(-4, 3, workers), 1e-3),
        weights=np.where(rng.random(workers) < 0.2, 1e-6, rng.random(workers)),
        scale=scale,
        prior_mean=0.05,
        prior_precision=6.0,
        low=-0.4,
        high=0.45,
        rest=1e-3 if last else 1e-1,
        weight_unit=2.0**46,
        error_unit=2.0**48,
        square_unit=2.0**40,
        evidence_unit=2.0**50 / (2.0 / scale + 64.0),
        truth_unit=2.0**50,
        squared=np.zeros(workers, np.int64),
        sums=np.zeros((workers, 2), np.int64),
        evidence=np.zeros(1, np.int64),
        truth_sums=np.zeros(3, np.int64),
        estimates=tuple(np.zeros(tasks if last else 0) for _ in range(3)),
    )
    return ordinary._replace(**changes)


def assert_same(arguments):
    assert_recorded_bits("infer_by_mixture", *arguments)


def test_every_bit_of_truths_and_tallies():
    for partition in partitions():
        workers = 1 if partition[1].max(initial=0) == 0 else 50
        for changes in ({}, {"prior_precision": 0.0, "last": False}):
            assert_same(given_of(partition, workers=workers, **changes))


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e12])
def test_every_bit_with_any_noise(scale):
    partition = numbers_of(np.random.default_rng(3), tasks=300)
    for precision in (0.0, 1e-3, 1e9):
        assert_same(given_of(partition, scale=scale, prior_precision=precision))
    assert_same(given_of(partition, scale=scale, last=False, squared=np.zeros(0, np.int64)))


def test_every_bit_of_equal_answers_and_narrow_bounds():
    partition = numbers_of(np.random.default_rng(4), levels=1)
    for low, high in ((-0.5, 0.5), (-0.5, -0.5), (0.1, 0.2), (-np.inf, np.inf)):
        assert_same(given_of(partition, low=low, high=high))
        assert_same(given_of(partition, low=low, high=high, prior_precision=0.0, rest=0.0))


def test_every_bit_of_numbers_out_of_range():
    rng = np.random.default_rng(5)
    numbers = np.array([0.0, 5e-324, 2e-308, 1e-12, 0.5, 1e6, 1e150, 1e300])
    for _ in range(5):
        partition = numbers_of(rng, per=5)
        partition[2][:] = rng.choice(np.concatenate((numbers, -numbers)), len(partition[2]))
        assert_same(given_of(partition))
        assert_same(given_of(partition, low=-np.inf, high=np.inf, prior_precision=0.0))


@pytest.mark.slow
@given(st.data())
def test_every_bit_of_any_crowd(data):
    sizes = data.draw(st.lists(st.integers(0, 19), max_size=5))
    numbers, rows = st.floats(-0.5, 0.5), sum(sizes)
    workers = data.draw(st.integers(1, 9))

    def draw(of, count):
        return data.draw(st.lists(of, min_size=count, max_size=count))

    partition = (
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        np.array(draw(st.integers(0, workers - 1), rows), np.uint32),
        np.array(draw(numbers, rows), float),
        np.array(draw(numbers | st.just(np.nan), len(sizes)), float),
    )
    changes = {
        "scale": data.draw(st.floats(1e-9, 1e9)),
        "sigmas": np.array(draw(st.floats(1e-3, 1e9), workers)),
        "weights": np.array(draw(st.floats(1e-12, 1.0), workers)),
        "prior_precision": data.draw(st.floats(0, 1e12)),
        "last": data.draw(st.booleans()),
    }
    assert_same(given_of(partition, workers=workers, **changes))


def test_a_score_is_cut():
    partition = np.array([0, 1]), np.zeros(1, np.uint32), np.array([0.5]), np.array([-0.5])
    given = given_of(partition, workers=1, scale=1e-3, sigmas=np.full(1, 300.0))
    _core.infer_by_mixture(*given)
    assert 0 < given.sums[0, 1] / given.square_unit < LARGEST_SCORE**2
    given = given_of(partition, workers=1, scale=1e-3, sigmas=np.full(1, 100.0))
    _core.infer_by_mixture(*given)
    assert given.sums[0, 1] / given.square_unit == LARGEST_SCORE**2


@outside(50)
def test_what_lies_outside_is_refused(place, value, message):
    given = given_of(numbers_of(np.random.default_rng(6)))
    given.partition[place][len(given.partition[place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_by_mixture(*given)


@pytest.mark.parametrize("name", ["sigmas", "weights", "squared", "sums", "evidence", "truth_sums"])
def test_sizes_and_types_that_do_not_fit_are_refused(name):
    given = given_of(numbers_of(np.random.default_rng(7)))
    right = getattr(given, name)
    for wrong in (right[1:].copy(), np.concatenate((right, right))):
        with pytest.raises(ValueError, match=r"must|out of range"):
            _core.infer_by_mixture(*given._replace(**{name: wrong}))
    with pytest.raises(TypeError):
        _core.infer_by_mixture(*given._replace(**{name: right.astype(np.float32)}))


@pytest.mark.parametrize("name", ["partition", "estimates"])
def test_partitions_and_estimates_that_do_not_fit_are_refused(name):
    given = given_of(numbers_of(np.random.default_rng(8)))
    parts = getattr(given, name)
    for place, part in enumerate(parts):
        for wrong, error in ((part[:-1].copy(), ValueError), (part.astype(np.float32), TypeError)):
            changed = (*parts[:place], wrong, *parts[place + 1 :])
            with pytest.raises(error):
                _core.infer_by_mixture(*given._replace(**{name: changed}))


def test_sums_are_pairs():
    given = given_of(numbers_of(np.random.default_rng(9)))
    with pytest.raises(ValueError, match="pairs"):
        _core.infer_by_mixture(*given._replace(sums=np.zeros((50, 3), np.int64)))
