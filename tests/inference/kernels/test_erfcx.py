"""The scaled complementary error function against SciPy's, and its continued fraction."""

import math

import numba
import numpy as np
import pytest
from scipy import special

from quietcrowd.inference.kernels.erfcx import erfcx, fraction_tails

POINTS = np.concatenate(
    [np.linspace(0.0, 12.0, 20_011), np.geomspace(1e-12, 1e12, 20_011), [1e100, 1e150]]
)


@numba.njit
def erfcx_at(points):
    values = np.empty_like(points)
    for place in range(len(points)):
        values[place] = erfcx(points[place])
    return values


@numba.njit
def tails_at(points):
    values = np.empty((2, len(points)))
    for place in range(len(points)):
        values[0, place], values[1, -1 - place] = fraction_tails(points[place], points[-1 - place])
    return values


def test_erfcx_is_scipys():
    np.testing.assert_allclose(erfcx_at(POINTS), special.erfcx(POINTS), rtol=5e-15, atol=0)


def test_ends():
    assert erfcx(0.0) == pytest.approx(1.0, abs=1e-15)
    assert erfcx(math.inf) == 0.0
    assert math.isnan(erfcx(math.nan))
    assert all(math.isnan(tail) for tail in fraction_tails(math.nan, math.nan))


def test_values_out_of_range_do_no_harm():
    outside = -np.concatenate([np.linspace(0.0, 12.0, 1001), np.geomspace(1e-300, 1e300, 1001)])
    assert erfcx_at(outside).shape == outside.shape


def test_tails_are_those_of_the_fraction():
    points = POINTS[(POINTS >= 0.5) & (POINTS < 1e100)]
    expected = np.zeros_like(points)
    for term in range(4000, 1, -1):
        expected = term / 2 / (points + expected)
    tails = tails_at(points)
    np.testing.assert_allclose(tails[0], expected, rtol=1e-14)
    np.testing.assert_array_equal(tails[0], tails[1])


def test_tails_near_0_are_those_of_scipys_erfcx():
    points = POINTS[POINTS < 0.5]
    above = 1 / (math.sqrt(math.pi) * special.erfcx(points)) - points
    np.testing.assert_allclose(tails_at(points)[0], 0.5 / above - points, rtol=1e-14)
