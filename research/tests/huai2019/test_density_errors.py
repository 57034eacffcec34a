"""Distances of densities against quadrature, and scores."""

import math

import numpy as np
import pytest
from tests.synthesis.densities import crowd, integral

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import EPANECHNIKOV, GAUSSIAN, KERNELS, KernelDensities
from quietcrowd.synthesis.weights import uniform_weights
from quietcrowd_research.huai2019.density_errors import (
    integrated_squared_errors,
    ise,
    sise,
    sise_printed,
    theorem_1_bound,
)

BOTH = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


@pytest.mark.nightly
@BOTH
def test_integrated_squared_errors_are_integrals(kernel):
    first = crowd(kernel, 0)
    second = crowd(kernel, 1, sizes=(5, 2, 0, 1))
    errors = integrated_squared_errors(first, second)
    assert np.isnan(errors).tolist() == [False, True, True, False]
    for task in (0, 3):
        bends = np.concatenate(
            [
                densities.points[densities.offsets[task] : densities.offsets[task + 1]] + far
                for densities in (first, second)
                for far in (-densities.bandwidths[task], 0, densities.bandwidths[task])
            ]
        )

        def square(x, task=task):
            return float(first.pdf(task, x) - second.pdf(task, x)) ** 2

        assert errors[task] == pytest.approx(integral(square, -15, 15, bends), rel=1e-9)
    assert integrated_squared_errors(second, first) == pytest.approx(errors, nan_ok=True)


@BOTH
def test_a_density_is_at_no_distance_from_itself(kernel):
    densities = crowd(kernel, sizes=(20, 3, 1))
    assert integrated_squared_errors(densities, densities) == pytest.approx(0, abs=1e-15)
    split = KernelDensities(
        offsets=2 * densities.offsets,
        points=np.repeat(densities.points, 2),
        weights=np.repeat(densities.weights / 2, 2),
        bandwidths=densities.bandwidths,
        kernel=kernel,
    )
    errors = integrated_squared_errors(densities, split)
    assert (errors >= 0).all()
    assert errors == pytest.approx(0, abs=1e-14)


@BOTH
def test_threads_change_no_bit(kernel):
    sizes = np.random.default_rng(5).integers(0, 30, 300)
    first, second = crowd(kernel, 0, sizes), crowd(kernel, 1, sizes[::-1])
    one = integrated_squared_errors(first, second, n_jobs=1)
    for n_jobs in (2, 3, 7):
        several = integrated_squared_errors(first, second, n_jobs=n_jobs)
        np.testing.assert_array_equal(one, several)


@BOTH
def test_a_shift_changes_no_error_and_a_scale_divides_it(kernel):
    first, second = crowd(kernel, 0), crowd(kernel, 1)
    errors = integrated_squared_errors(first, second)

    def moved(densities, scale, shift):
        return KernelDensities(
            offsets=densities.offsets,
            points=scale * densities.points + shift,
            weights=densities.weights,
            bandwidths=scale * densities.bandwidths,
            kernel=kernel,
        )

    after = integrated_squared_errors(moved(first, 8.0, 3.0), moved(second, 8.0, 3.0))
    assert after == pytest.approx(errors / 8, rel=1e-10, nan_ok=True)


def test_scores():
    errors = np.array([0.25, 0.0, 4.0])
    assert ise(errors) == 4.25
    assert sise(errors) == 2.5
    assert sise_printed(errors) == 16.0625
    for score in (ise, sise, sise_printed):
        with pytest.raises(ParameterError, match=r"2 of 4 tasks: 1 \(nan\), 3 \(-1.0\)"):
            score([1.0, math.nan, 2.0, -1.0])
        with pytest.raises(ParameterError, match="one number per task"):
            score(1.0)
        assert score([]) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 1.5])
@pytest.mark.parametrize("draws", [1, 30])
@BOTH
def test_theorem_1_bounds_the_mean_error_of_draws(kernel, bandwidth, draws):
    # The density 1 - |x| on -1..1 has the slope 1.
    rng = np.random.default_rng(11)
    grid = np.linspace(-9, 9, 3601)
    truth = np.maximum(1 - abs(grid), 0)
    errors = []
    for _ in range(60):
        made = KernelDensities(
            offsets=[0, draws],
            points=rng.triangular(-1, 0, 1, draws),
            weights=uniform_weights([0, draws]),
            bandwidths=[bandwidth],
            kernel=kernel,
        )
        errors.append(((made.pdf(0, grid) - truth) ** 2).sum() * (grid[1] - grid[0]))
    known = {"slope": 1.0, "bandwidth": bandwidth, "draws": draws, "kernel": kernel}
    assert np.mean(errors) < theorem_1_bound(**known, support=2.0) * (1 + 1e-6)
    assert theorem_1_bound(**known, support=2.0) <= theorem_1_bound(**known)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": -1.0}, "slope must be"),
        ({"bandwidth": 0.0}, "bandwidth must be finite and above 0; got 0.0"),
        ({"draws": 0}, "draws must be"),
        ({"support": -1.0}, "support must be"),
        ({"support": math.nan}, "support must be"),
        ({"kernel": "gaussian"}, "kernel must be one of"),
    ],
)
def test_theorem_1_refuses(change, message):
    known = {"slope": 1.0, "bandwidth": 0.1, "draws": 9, "kernel": GAUSSIAN}
    with pytest.raises(ParameterError, match=message):
        theorem_1_bound(**{**known, **change})


def test_densities_of_different_tasks_or_kernels_are_not_compared():
    one, other = crowd(GAUSSIAN), crowd(GAUSSIAN, sizes=(2, 2))
    with pytest.raises(ParameterError, match="4 tasks and second has 2"):
        integrated_squared_errors(one, other)
    with pytest.raises(ParameterError, match="'gaussian' and second has 'epanechnikov'"):
        integrated_squared_errors(one, crowd(EPANECHNIKOV))
    with pytest.raises(ParameterError, match="n_jobs"):
        integrated_squared_errors(one, one, n_jobs=0)
