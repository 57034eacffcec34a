"""Kernel densities against quadrature and dense matrices."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import median_abs_deviation
from tests.synthesis.densities import crowd, integral, reach

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import (
    EPANECHNIKOV,
    GAUSSIAN,
    KERNELS,
    KernelDensities,
    distances,
    mad,
    silverman,
)
from quietcrowd.synthesis.weights import uniform_weights

BOTH = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


@BOTH
@pytest.mark.parametrize("bandwidth", [0.2, 3.0])
def test_a_kernel_is_a_density_and_as_wide_as_it_says(kernel, bandwidth):
    far = reach(kernel, bandwidth)
    assert integral(lambda x: float(kernel.density(x, bandwidth)), -far, far, [0]) == pytest.approx(
        1, abs=1e-12
    )
    mean = integral(lambda x: abs(x) * float(kernel.density(x, bandwidth)), -far, far, [0])
    assert mean == pytest.approx(kernel.mean_distance * bandwidth, abs=1e-12)
    assert kernel.density(min(kernel.reach, 99) * bandwidth, bandwidth) == 0


@BOTH
@pytest.mark.parametrize("difference", [0.0, 0.3, -0.9, 1.4, 2.5, 4.0])
@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.5, 1.2), (2.0, 0.1)])
def test_inner_is_the_integral_of_the_product(kernel, difference, first, second):
    def product(x):
        return float(kernel.density(x, first) * kernel.density(x - difference, second))

    ends = [-reach(kernel, first), reach(kernel, first)]
    bends = [difference - reach(kernel, second), difference, difference + reach(kernel, second), 0]
    found = kernel.inner(difference, first, second)
    assert found == pytest.approx(integral(product, *ends, bends), abs=1e-11)
    assert found == pytest.approx(kernel.inner(-difference, second, first), abs=1e-15)


def test_feature_inner():
    differences = np.linspace(-3, 3, 61)
    same = EPANECHNIKOV.inner(differences, 1.3, 1.3)
    assert EPANECHNIKOV.feature_inner(differences, 1.3) == pytest.approx(same, abs=1e-14)
    peak = GAUSSIAN.density(differences, 1.3)
    assert GAUSSIAN.feature_inner(differences, 1.3) == pytest.approx(peak, abs=1e-15)


@BOTH
def test_gram_matrices_are_positive_semidefinite(kernel):
    points = np.random.default_rng(1).normal(0, 3, 60)
    gram = kernel.feature_inner(points[:, None] - points, 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-13


def test_the_epanechnikov_density_is_not_positive_definite():
    points = np.linspace(0, 3, 30)
    gram = EPANECHNIKOV.density(points[:, None] - points, 1.0)
    assert np.linalg.eigvalsh(gram).min() < -0.1


def test_shapes_broadcast():
    assert GAUSSIAN.density(0.0, 1.0).shape == ()
    assert GAUSSIAN.density(np.zeros((2, 3)), np.ones(3)).shape == (2, 3)
    assert GAUSSIAN.inner(np.zeros((2, 1)), np.ones(3), 2.0).shape == (2, 3)
    assert EPANECHNIKOV.feature_inner([], 1.0).shape == (0,)
    assert GAUSSIAN.density([0.0], 1.0).shape == (1,)


@BOTH
def test_pdf_integrates_to_one_and_is_a_mean_of_kernels(kernel):
    densities = crowd(kernel)
    x = np.array([[-1.0, 0.0], [0.4, 2.0]])
    rows = slice(4, 11)
    expected = sum(
        weight * kernel.density(x - point, densities.bandwidths[3])
        for point, weight in zip(densities.points[rows], densities.weights[rows], strict=True)
    )
    assert densities.pdf(3, x) == pytest.approx(expected, abs=1e-15)
    grid = np.linspace(-30, 30, 60_001)
    assert densities.pdf(3, grid).sum() * 1e-3 == pytest.approx(1, abs=1e-5)


@BOTH
def test_distances_are_those_of_gram_matrices(kernel):
    densities = crowd(kernel, sizes=(9, 0, 1, 40, 2))
    arrays = (densities.offsets, densities.points, densities.weights, densities.bandwidths)
    found = distances(*arrays, kernel)
    for task in range(densities.tasks):
        rows = slice(densities.offsets[task], densities.offsets[task + 1])
        points, weights = densities.points[rows], densities.weights[rows]
        gram = kernel.feature_inner(points[:, None] - points, densities.bandwidths[task])
        expected = np.diag(gram) - 2 * gram @ weights + weights @ gram @ weights
        assert found[rows] == pytest.approx(expected, abs=1e-14)


def test_close_claims_keep_the_digits_of_their_distances():
    apart = 1e-7
    found = distances([0, 2], [0.0, apart], [0.5, 0.5], [1.0], GAUSSIAN)
    assert found == pytest.approx(GAUSSIAN.density(0, 1) * apart**2 / 4, rel=1e-9)
    far = distances([0, 2], [-1e308, 1e308], [0.5, 0.5], [1e-300], GAUSSIAN)
    assert far == pytest.approx(GAUSSIAN.density(0, 1e-300) / 2)


GOOD = {
    "offsets": [0, 2, 2, 3],
    "points": [0.0, 1.0, 2.0],
    "weights": [0.5, 0.5, 1.0],
    "bandwidths": [1.0, 1.0, 2.0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 2, 1, 3]}, "task 1 begins at 2 and ends at 1"),
        ({"offsets": [1, 2, 2, 3]}, "offsets must be whole numbers"),
        ({"offsets": [0.0, 2.0, 2.0, 3.0]}, "offsets must be whole numbers"),
        ({"offsets": []}, "offsets must be whole numbers"),
        ({"points": [0.0, 1.0]}, "points must be 3 numbers, one per row; got shape"),
        ({"points": [0.0, 1.0, math.nan]}, "row 2, of task 2, is nan"),
        ({"points": ["a", "b", "c"]}, "points must be 3 numbers"),
        ({"weights": [0.5, 0.6, 1.0]}, "weights must sum to 1 over each task; those of task 0"),
        ({"weights": [1.5, -0.5, 1.0]}, "weights must be finite and at least 0; row 1, of task 0"),
        ({"bandwidths": [1.0, 0.0, 1.0]}, "that of task 1 is 0.0"),
        ({"bandwidths": [1.0, 1.0, math.inf]}, "that of task 2 is inf"),
        ({"bandwidths": [1.0]}, "bandwidths must be 3 numbers, one per task"),
        ({"kernel": "gaussian"}, r"one of Kernel\(name='gaussian'\), .*; got 'gaussian'"),
    ],
)
def test_densities_refuse(change, message):
    with pytest.raises(ParameterError, match=message):
        KernelDensities(**{**GOOD, **change})


def test_pdf_and_kernels_refuse():
    with pytest.raises(ParameterError, match="kernel must be one of"):
        distances([0, 1], [0.0], [1.0], [1.0], "gaussian")
    densities = KernelDensities(**GOOD)
    assert densities.tasks == 3
    with pytest.raises(ParameterError, match="task 1 has no points"):
        densities.pdf(1, [0.0])
    for task in (-1, 3, 1.0):
        with pytest.raises(ParameterError, match="task_index"):
            densities.pdf(task, [0.0])
    for wrong in (0.0, -1.0, math.nan, [1.0, math.inf]):
        with pytest.raises(ParameterError, match="a bandwidth must be finite and above 0"):
            GAUSSIAN.density(0.0, wrong)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
    st.floats(1e-3, 1e6),
    st.sampled_from(list(KERNELS.values())),
)
def test_distances_are_small_numbers_for_any_claims(claims, bandwidth, kernel):
    offsets = [0, len(claims)]
    found = distances(offsets, claims, uniform_weights(offsets), [bandwidth], kernel)
    assert (found >= 0).all()
    assert (found <= 2 * kernel.feature_inner(0.0, bandwidth) * (1 + 1e-12)).all()


@given(st.lists(st.integers(-2, 5), max_size=6), st.lists(st.floats(), max_size=5))
def test_any_arrays_are_densities_or_refused(offsets, points):
    try:
        densities = KernelDensities(
            offsets=offsets,
            points=points,
            weights=np.ones(len(points)),
            bandwidths=np.ones(max(len(offsets) - 1, 0)),
        )
    except ParameterError:
        return
    assert densities.offsets[-1] == len(points)
    assert (np.diff(densities.offsets) <= 1).all()


SIZES = (7, 0, 1, 20, 2, 8)
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
VALUES = np.random.default_rng(0).normal(5, 2, OFFSETS[-1])
TASKS = [VALUES[start:end] for start, end in pairwise(OFFSETS)]


def test_silverman():
    expected = []
    for claims in TASKS:
        spread = 0.0
        if len(claims) > 1:
            low, high = np.quantile(claims, [0.25, 0.75])
            spread = min(claims.std(ddof=1), (high - low) / 1.34)
        expected.append(max(1.06 * spread * max(len(claims), 1) ** -0.2, 0.01))
    assert silverman(OFFSETS, VALUES, value_range=10.0) == pytest.approx(expected, rel=1e-12)


def test_mad():
    expected = [
        max(median_abs_deviation(claims), 0.01) if len(claims) else 0.01 for claims in TASKS
    ]
    assert mad(OFFSETS, VALUES, value_range=10.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", [silverman, mad])
def test_edges(rule):
    assert rule([0], [], value_range=2.0).tolist() == []
    assert rule([0, 0, 0], [], value_range=2.0).tolist() == [0.002, 0.002]
    assert rule([0, 3], [4.0, 4.0, 4.0], value_range=2.0).tolist() == [0.002]
    for wrong in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="value_range"):
            rule(OFFSETS, VALUES, value_range=wrong)
    with pytest.raises(ParameterError, match="row 1, of task 0, is nan"):
        rule([0, 2], [0.0, np.nan], value_range=1.0)


@pytest.mark.parametrize("rule", [silverman, mad])
def test_docstrings_say_that_they_leak(rule):
    assert "leak claims and void the guarantee" in " ".join(rule.__doc__.split())
