"""Exponential, logarithm and rounding against NumPy's, and what the compiler makes of them."""

import platform

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from quietcrowd.inference import normal_laplace, vector_math


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


def test_exponentials_are_numpys():
    numbers = np.concatenate([np.linspace(0, 708, 100_003), np.geomspace(1e-300, 708, 100_003)])
    np.testing.assert_allclose(minus_exponentials(numbers), np.exp(-numbers), rtol=5e-16, atol=0)
    ends = minus_exponentials(np.array([0.0, 708.1, 1e300, np.inf, np.nan]))
    np.testing.assert_array_equal(ends, [1.0, 0.0, 0.0, 0.0, np.nan])


def test_logarithms_are_numpys():
    numbers = np.concatenate([np.geomspace(1e-300, 1e300, 100_003), np.linspace(0.3, 3, 100_003)])
    np.testing.assert_allclose(logarithms(numbers), np.log(numbers), rtol=4e-16, atol=2e-16)
    np.testing.assert_array_equal(logarithms(np.array([1.0])), [0.0])


def test_integers_are_the_nearest():
    sizes = np.concatenate([np.geomspace(1e-3, 2.0**51 - 1, 10_007), np.arange(0, 9, 0.5)])
    numbers = np.concatenate([sizes, -sizes])
    np.testing.assert_array_equal(integers(numbers), np.rint(numbers).astype(np.int64))
    largest = vector_math.LARGEST_UNIT
    np.testing.assert_array_equal(integers(np.array([largest, -largest])), [2**50, -(2**50)])


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks for registers of x86-64")
@pytest.mark.parametrize("loop", [minus_exponentials, logarithms, integers, slope, likelihood])
def test_loops_run_on_vector_registers(loop):
    numbers = np.ones(8)
    loop(*[numbers] * (3 if loop in (slope, likelihood) else 1))
    assembly = next(iter(loop.inspect_asm().values()))
    wide = llvm.get_host_cpu_features().get("avx2", False)
    packed = ("vmulpd", "vpaddq") if wide else ("mulpd", "paddq")
    assert any(f"\t{name}\t" in assembly for name in packed)
    if wide:
        assert "ymm" in assembly
