"""Special functions and rounding against NumPy's, and what the compiler makes of them."""

import math
import platform

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from scipy import special
from tests.nightly import nightly

from quietcrowd.inference.kernels import normal_laplace, vector_math
from quietcrowd.inference.kernels.vector_math import add_vector, fraction_tails


@numba.njit(error_model="numpy")
def minus_exponentials(numbers):
    values = np.empty_like(numbers)
    for place in range(len(numbers)):
        values[place] = vector_math.exp_minus(numbers[place])
    return values


@numba.njit(error_model="numpy")
def logarithms(numbers):
    values = np.empty_like(numbers)
    for place in range(len(numbers)):
        values[place] = vector_math.log(numbers[place])
    return values


@numba.njit(error_model="numpy")
def integers(numbers):
    values = np.empty(len(numbers), np.int64)
    for place in range(len(numbers)):
        values[place] = vector_math.to_integer(numbers[place])
    return values


@numba.njit(error_model="numpy")
def slope(errors, sigmas, inverses):
    total = np.int64(0)
    for place in range(len(errors)):
        t, curvature = normal_laplace.bend(errors[place], sigmas[place], inverses[place])
        total += vector_math.to_integer((t + curvature) * 2.0**30)
    return total


@numba.njit(error_model="numpy")
def likelihood(errors, sigmas, inverses):
    total = np.int64(0)
    for place in range(len(errors)):
        law = normal_laplace.moments(errors[place], sigmas[place], inverses[place])
        total += vector_math.to_integer((law[3] + law[4]) * 2.0**30)
    return total


@pytest.mark.slow
def test_exponentials_are_numpys():
    numbers = np.concatenate([np.linspace(0, 708, 100_003), np.geomspace(1e-300, 708, 100_003)])
    np.testing.assert_allclose(minus_exponentials(numbers), np.exp(-numbers), rtol=5e-16, atol=0)
    ends = minus_exponentials(np.array([0.0, 708.1, 1e300, np.inf, np.nan]))
    np.testing.assert_array_equal(ends, [1.0, 0.0, 0.0, 0.0, np.nan])


@pytest.mark.slow
def test_logarithms_are_numpys():
    numbers = np.concatenate([np.geomspace(1e-300, 1e300, 100_003), np.linspace(0.3, 3, 100_003)])
    np.testing.assert_allclose(logarithms(numbers), np.log(numbers), rtol=4e-16, atol=2e-16)
    np.testing.assert_array_equal(logarithms(np.array([1.0])), [0.0])


@pytest.mark.slow
def test_integers_are_the_nearest():
    sizes = np.concatenate([np.geomspace(1e-3, 2.0**51 - 1, 10_007), np.arange(0, 9, 0.5)])
    numbers = np.concatenate([sizes, -sizes])
    np.testing.assert_array_equal(integers(numbers), np.rint(numbers).astype(np.int64))
    largest = vector_math.LARGEST_UNIT
    np.testing.assert_array_equal(integers(np.array([largest, -largest])), [2**50, -(2**50)])


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks for registers of x86-64")
@pytest.mark.parametrize(
    "loop", [minus_exponentials, logarithms, integers, likelihood, nightly(slope)]
)
def test_loops_run_on_vector_registers(loop):
    numbers = np.ones(8)
    loop(*[numbers] * (3 if loop in (slope, likelihood) else 1))
    assembly = next(iter(loop.inspect_asm().values()))
    wide = llvm.get_host_cpu_features().get("avx2", False)
    packed = ("vmulpd", "vpaddq") if wide else ("mulpd", "paddq")
    assert any(f"\t{name}\t" in assembly for name in packed)
    if wide:
        assert "ymm" in assembly


POINTS = np.concatenate(
    [np.linspace(0.0, 12.0, 20_011), np.geomspace(1e-12, 1e12, 20_011), [1e100, 1e150]]
)


@numba.njit(error_model="numpy")
def tails_at(points):
    values = np.empty((2, len(points)))
    for place in range(len(points)):
        values[0, place], values[1, -1 - place] = fraction_tails(points[place], points[-1 - place])
    return values


def test_tails_of_nan_are_nan():
    assert all(math.isnan(tail) for tail in fraction_tails(math.nan, math.nan))


@pytest.mark.slow
def test_tails_out_of_range_do_no_harm():
    outside = -np.concatenate([np.linspace(0.0, 12.0, 1001), np.geomspace(1e-300, 1e300, 1001)])
    assert tails_at(outside).shape == (2, len(outside))


@pytest.mark.slow
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


def adder(length):
    """Return a compiled function that adds so many numbers."""

    @numba.njit
    def add(target, place, source, start):
        add_vector(target, place, source, start, length)

    return add


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, *map(nightly, (2, 3, 4)), 7, 8, *map(nightly, (9, 16)), 21])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_so_many_numbers_are_added_and_no_other(length, kind):
    rng = np.random.default_rng(length)
    target = rng.integers(-(2**40), 2**40, 30)
    source = rng.integers(-(2**31), 2**31, 30).astype(kind)
    expected = target.copy()
    expected[5 : 5 + length] += source[3 : 3 + length]
    adder(length)(target, np.uint64(5), source, np.uint64(3))
    assert target.tolist() == expected.tolist()


def test_the_length_of_vectors_is_a_constant():
    @numba.njit
    def add(target, length):
        add_vector(target, 0, target, 0, length)

    with pytest.raises(TypingError, match="length must be a constant"):
        add(np.zeros(4, np.int64), 2)
