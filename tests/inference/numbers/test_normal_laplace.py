"""The normal-Laplace distribution against quadrature of its two densities, and its limits."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd._core import evaluate_normal_laplace
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
REACH = np.array([0.25, 0.5, 1, 2, 4, 6, 8, 12, 18, 26, 38])
RATIOS = np.geomspace(1e-3, 1e3, 13)


def moments(x, s):
    """Return t, E[G], E[G^2], log density and curvature at an error, in units of the scale."""
    rows = np.empty((5, 1))
    evaluate_normal_laplace(np.array([x]), np.array([s]), np.ones(1), rows)
    log_density, score, mean, second, curvature = rows[:, 0].tolist()
    return -score, mean, second, log_density, curvature


def panels(points, low, high):
    """Return nodes and weights of Gauss-Legendre between the points."""
    edges = np.unique(np.clip(points, low, high))
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def by_quadrature(x, s):
    """Return t, ratio, E[G], E[G^2], log density, E[L^2] at an error, from the product density."""
    mode = np.clip(x, -(s**2), s**2)
    steps = np.concatenate([-REACH, [0.0], REACH])
    slope = abs(1 - abs(x) / s**2) + 1 / s
    points = [center + steps * width for center in (x, mode, 0) for width in (1, s, 1 / slope)]
    around = 38 * min(s, 40.0)
    g, weights = panels(np.concatenate(points), mode - around, mode + around)
    exponents = -0.5 * (g / s) ** 2 - abs(x - g)
    top = exponents.max()
    weights = weights * np.exp(exponents - top)
    total = weights.sum()
    log_density = math.log(total) + top - math.log(2 * s * math.sqrt(2 * math.pi))
    log_normal = -0.5 * (x / s) ** 2 - math.log(s * math.sqrt(2 * math.pi))
    parts = (np.sign(x - g), g, g**2, (x - g) ** 2)
    t, mean, second, noise = ((weights * part).sum() / total for part in parts)
    return t, math.exp(log_normal - log_density), mean, second, log_density, noise


def errors_for(s):
    """Return errors up to 50 where the distribution changes its face, with either sign."""
    sizes = [0, 1e-4, 1e-2, 0.3, 1, 3, 10, 30, 50, s / 3, s, 4 * s, 9 * s, s**2, 0.99 * s**2]
    return [float(size) * (-1) ** place for place, size in enumerate(sizes) if size <= 50]


@pytest.mark.parametrize("s", RATIOS)
def test_moments_are_those_of_quadrature(s):
    for x in errors_for(s):
        t, ratio, mean, second, log_density, noise = by_quadrature(x, s)
        found = moments(x, s)
        assert found[0] == pytest.approx(t, abs=1e-12)
        assert found[1] == pytest.approx(mean, abs=1e-11)
        assert found[2] == pytest.approx(second, abs=1e-11 * max(1, second))
        assert found[3] == pytest.approx(log_density, abs=1e-12 * max(1, abs(log_density)))
        curvature = found[4]
        assert curvature + 1 - t**2 == pytest.approx(ratio, abs=1e-12, rel=1e-11)
        if s >= 1:
            spread = (noise - (x - mean) ** 2) / s**2
            assert curvature == pytest.approx((1 - spread) / s**2, abs=1e-11 / s**2)


@pytest.mark.parametrize("b", [1e-9, 0.7, 3e5])
def test_units_are_those_of_the_errors(b):
    for s in (0.02, 0.6, 5.0, 80.0):
        errors = np.array([-40.0, -3.0, 0.5, 20.0])
        distribution = np.array([moments(x, s) for x in errors])
        scaled = NormalLaplace(s * b, b)
        np.testing.assert_allclose(
            scaled.log_density(errors * b), distribution[:, 3] - np.log(b), rtol=1e-13
        )
        np.testing.assert_allclose(scaled.score(errors * b) * b, -distribution[:, 0], rtol=1e-12)
        np.testing.assert_allclose(
            scaled.posterior_mean(errors * b) / b, distribution[:, 1], rtol=1e-12
        )
        np.testing.assert_allclose(
            scaled.posterior_square(errors * b) / b**2, distribution[:, 2], rtol=1e-12
        )
        np.testing.assert_allclose(
            scaled.curvature(errors * b) * b**2, distribution[:, 4], rtol=1e-11
        )


@given(
    st.floats(-6, 6).map(lambda power: 10.0**power),
    st.floats(-12, 6).map(lambda power: 10.0**power) | st.floats(0, 1e6),
)
def test_the_distribution_keeps_its_bounds(s, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t, mean, second, log_density, curvature = found = moments(x, s)
    slack = 1 + 1e-12
    assert all(math.isfinite(value) for value in found)
    assert 0 <= t <= 1
    ratio, highest = curvature + 1 - t**2, moments(0.0, s)[4] + 1
    assert -1e-15 <= ratio <= slack * highest
    assert 0 <= mean <= slack * min(x, s**2)
    assert mean**2 / slack <= second <= slack * min(s**2 + s**4, s**2 + x**2)
    assert 0 <= curvature <= slack / s**2
    assert log_density <= moments(0.0, s)[3] + 1e-12
    assert log_density <= -math.log(2)
    assert log_density <= -math.log(s) - 0.9
    assert moments(-x, s) == (-t, -mean, second, log_density, curvature)


@given(st.floats(-6, 6).map(lambda power: 10.0**power), st.floats(0, 1))
def test_halves_meet_where_they_change_formulas(s, part):
    edge = s**2
    width = 1e-7 * part * s
    below, above = np.array(moments(edge - width, s)), np.array(moments(edge + width, s))
    scale = np.array([1, max(1, edge), max(1, edge**2), max(1, edge), max(1, below[4])])
    assert (abs(above - below) <= 1e-6 * scale).all()


def test_far_out_one_half_is_left():
    for s in (1e-6, 0.3, 20.0, 1e3):
        for beyond in (38 * s, 41 * s, 500 * s, 1e9 * s):
            x = s**2 + beyond
            t, mean, second, log_density, curvature = moments(x, s)
            assert t == 1
            assert curvature == pytest.approx(0, abs=1e-290)
            assert mean == s**2
            assert second == pytest.approx(s**2 + s**4, rel=1e-15)
            assert log_density == pytest.approx(s**2 / 2 - x - math.log(2), rel=1e-15)


def test_a_small_error_tells_little_even_with_a_large_sigma():
    for s in (1e3, 1e5, 1e6):
        distribution = NormalLaplace(s, 1.0)
        assert distribution.posterior_mean(1.0) == pytest.approx(1.0, abs=5 / s**2)
        assert distribution.posterior_square(1.0) == pytest.approx(3.0, abs=50 / s**2 + 1e-12)
        assert distribution.curvature(1.0) * s**2 == pytest.approx(1.0, abs=5 / s**2)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 2.0, 30.0])
def test_score_and_curvature_are_derivatives(sigma):
    b, step = 2.0, 1e-3 * sigma
    distribution = NormalLaplace(sigma, b)
    errors = np.array([-20.0, -3.0, -0.1, 0.02, 1.7, 12.0, 300.0])
    around = errors + step * np.arange(-2, 3)[:, None]
    rule = np.array([1, -8, 0, 8, -1]) / (12 * step)
    slopes = rule @ distribution.log_density(around)
    np.testing.assert_allclose(distribution.score(errors), slopes, atol=2e-8 / min(1, sigma))
    bends = -rule @ distribution.score(around)
    np.testing.assert_allclose(distribution.curvature(errors), bends, atol=1e-9 / min(1, sigma))


@pytest.mark.parametrize("s", [0.05, 0.5, 2.0, 30.0])
def test_the_density_spreads_as_heat_does(s):
    variances = s**2 * (1 + 1e-3 * np.arange(-2, 3))
    rule = np.array([1, -8, 0, 8, -1]) / (12e-3 * s**2)
    for x in (0.0, 0.1, -1.0, 5.0, -40.0, 200.0):
        slope = rule @ NormalLaplace(np.sqrt(variances), 1.0).log_density(x)
        t, *_, curvature = moments(x, s)
        expected = (t**2 - curvature) / 2
        assert slope == pytest.approx(expected, rel=1e-8, abs=1e-8 + 1e-12 / s**2)


@pytest.mark.parametrize("s", [1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
def test_fisher_information_is_the_mean_square_of_the_score(s):
    reach = np.concatenate([[0.0], REACH])
    edges = np.concatenate([reach, s * reach, s**2 + s * reach, s**2 - s * reach])
    errors, weights = panels(edges, 0.0, 38 + 38 * s)
    distribution = NormalLaplace(s, 1.0)
    density = 2 * weights * np.exp(distribution.log_density(errors))
    assert density.sum() == pytest.approx(1, abs=1e-12)
    information = (density * distribution.score(errors) ** 2).sum()
    assert distribution.fisher_information == pytest.approx(information, rel=1e-11)
    mean_curvature = (density * distribution.curvature(errors)).sum()
    assert distribution.fisher_information == pytest.approx(mean_curvature, rel=1e-11)


def test_fisher_information_has_its_limits():
    assert NormalLaplace(1e-6, 1.0).fisher_information == pytest.approx(
        1 - 2e-6 / math.sqrt(math.pi), rel=1e-11
    )
    for s in (1e3, 1e5, 1e6):
        limit, found = 1 / (s**2 + 2), NormalLaplace(s, 1.0).fisher_information
        assert limit * (1 - 1e-14) <= found <= limit * (1 + 5 / s**4 + 1e-14)
    ratios = np.geomspace(1e-6, 1e6, 400)
    gain = NormalLaplace(ratios, 1.0).fisher_information * (ratios**2 + 2)
    assert (np.diff(gain) <= 1e-14).all()
    assert gain[0] == pytest.approx(2, abs=1e-5)
    np.testing.assert_allclose(
        NormalLaplace(6.0, 2.0).fisher_information,
        NormalLaplace(3.0, 1.0).fisher_information / 4,
    )
    np.testing.assert_array_equal(
        NormalLaplace([2.0, 0.0], [0.0, 4.0]).fisher_information, [1 / 4, 1 / 16]
    )


def test_without_laplace_noise_the_distribution_is_normal():
    errors, sigma = np.array([-3.0, 0.0, 0.5, 40.0]), 2.0
    for scale in (0.0, 1e-9, 1e-80):
        distribution = NormalLaplace(sigma, scale)
        expected = -(errors**2) / 8 - math.log(sigma * math.sqrt(2 * math.pi))
        np.testing.assert_allclose(distribution.log_density(errors), expected, rtol=1e-12)
        np.testing.assert_allclose(distribution.score(errors), -errors / 4, rtol=1e-12)
        np.testing.assert_allclose(distribution.posterior_mean(errors), errors, rtol=1e-12)
        np.testing.assert_allclose(
            distribution.posterior_square(errors),
            errors**2,
            rtol=1e-12,
            atol=1e-17,
        )
        np.testing.assert_allclose(distribution.curvature(errors), 1 / 4, rtol=1e-12)


def test_without_a_normal_part_the_distribution_is_laplaces():
    errors, scale = np.array([-3.0, 0.5, 40.0]), 2.0
    for sigma in (0.0, 1e-20, 1e-80):
        distribution = NormalLaplace(sigma, scale)
        expected = -abs(errors) / scale - math.log(2 * scale)
        np.testing.assert_allclose(distribution.log_density(errors), expected, rtol=1e-14)
        np.testing.assert_array_equal(distribution.score(errors), -np.sign(errors) / scale)
        np.testing.assert_allclose(distribution.posterior_mean(errors), 0, atol=1e-39)
        np.testing.assert_allclose(distribution.posterior_square(errors), 0, atol=1e-39)
        np.testing.assert_array_equal(distribution.curvature(errors), 0)
    assert NormalLaplace(0.0, scale).log_density(0.0) == pytest.approx(-math.log(4))
    assert NormalLaplace(0.0, scale).score(0.0) == 0
    assert NormalLaplace(0.0, scale).curvature(0.0) == math.inf


def test_errors_that_are_no_numbers_or_infinite():
    for sigma, scale in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0)):
        distribution = NormalLaplace(sigma, scale)
        for function in (
            distribution.log_density,
            distribution.score,
            distribution.posterior_mean,
            distribution.posterior_square,
            distribution.curvature,
        ):
            assert math.isnan(function(math.nan))
        assert NormalLaplace(sigma, scale).log_density(-math.inf) == -math.inf
    assert moments(-math.inf, 2.0) == (-1.0, -4.0, 20.0, -math.inf, 0.0)
    assert NormalLaplace(2.0, 1.0).curvature(math.inf) == 0


def test_arguments_broadcast():
    table = NormalLaplace(np.array([[0.5], [2.0]]), 1.0).score(np.linspace(-2, 2, 5))
    assert table.shape == (2, 5)
    assert table[1, 4] == NormalLaplace(2.0, 1.0).score(2.0)
    assert isinstance(NormalLaplace(2, 1).score(2), np.float64)
    assert NormalLaplace(1.0, 1.0).log_density([]).shape == (0,)
    assert NormalLaplace(np.ones((3, 1)), np.ones(2)).fisher_information.shape == (3, 2)


@pytest.mark.parametrize(
    ("sigma", "scale", "message"),
    [
        (-1.0, 1.0, r"sigma must be a finite number, at least 0; got -1\.0\. Drop"),
        ([1.0, math.nan], 1.0, r"sigma .* got nan at 1\. Drop"),
        (1.0, [[1.0], [math.inf]], r"scale .* got inf at 1, 0\. Drop"),
        ("much", 1.0, r"sigma must be a number or an array of numbers; got 'much'"),
        (1.0, None, r"scale .* got nan|scale must be a number"),
        ([1.0, 0.0], 0.0, r"must not both be 0; both are 0\.0 at 1\. Without"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"must have compatible shapes; got .*\(2,\), \(3,\)"),
    ],
)
def test_parameters_that_break_their_rule(sigma, scale, message):
    with pytest.raises(ParameterError, match=message):
        NormalLaplace(sigma, scale)


def test_errors_must_fit_the_parameters():
    with pytest.raises(ParameterError, match=r"must have compatible shapes; got \(2,\), \(3,\)"):
        NormalLaplace([1.0, 2.0, 3.0], 1.0).score([1.0, 2.0])


def test_errors_must_be_numbers():
    with pytest.raises(ParameterError, match="error must be a number"):
        NormalLaplace(1.0, 1.0).score(["far"])
