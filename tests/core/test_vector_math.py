"""Special functions and rounding, against NumPy's and those on record."""

import math
import platform
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import special
from tests.core.kernels import assert_recorded_bits
from tests.programs import finished

from quietcrowd import _core
from quietcrowd.inference.numbers.model import LARGEST_UNIT

SIZES = np.concatenate([np.geomspace(1e-300, 1e300, 10_007), np.linspace(0, 750, 10_007)])
EXTREME = [0.0, 5e-324, 2.0**-1022, 708.0, np.nextafter(708, 709), 2.0**1023, np.inf, np.nan]
POINTS = np.concatenate(
    [np.linspace(0.0, 12.0, 20_011), np.geomspace(1e-12, 1e12, 20_011), [1e100, 1e150]]
)


def filled(name, numbers, dtype=np.float64):
    values = np.empty(len(numbers), dtype)
    getattr(_core, name)(np.asarray(numbers), values)
    return values


def tails_of(points, others):
    tails, other_tails = np.empty((2, len(points)))
    _core.fill_fraction_tails(points, others, tails, other_tails)
    return tails, other_tails


def test_exponentials_are_numpys():
    numbers = np.concatenate([np.linspace(0, 708, 100_003), np.geomspace(1e-300, 708, 100_003)])
    found = filled("fill_exp_minus", numbers)
    np.testing.assert_allclose(found, np.exp(-numbers), rtol=5e-16, atol=0)
    ends = filled("fill_exp_minus", [0.0, 708.1, 1e300, np.inf, np.nan])
    np.testing.assert_array_equal(ends, [1.0, 0.0, 0.0, 0.0, np.nan])


def test_logarithms_are_numpys():
    numbers = np.concatenate([np.geomspace(1e-300, 1e300, 100_003), np.linspace(0.3, 3, 100_003)])
    found = filled("fill_log", numbers)
    np.testing.assert_allclose(found, np.log(numbers), rtol=4e-16, atol=2e-16)
    np.testing.assert_array_equal(filled("fill_log", [1.0]), [0.0])


def functions_of(numbers):
    values = np.empty((5, len(numbers)))
    _core.fill_functions(np.asarray(numbers, float), values)
    return values


def test_functions_of_any_number_are_numpys():
    numbers = np.concatenate(
        [np.linspace(-707, 709.7, 100_003), np.geomspace(1e-300, 700, 100_003)]
    )
    found = functions_of(numbers)
    np.testing.assert_allclose(found[0], np.exp(numbers), rtol=6e-16, atol=0)
    sizes = np.geomspace(5e-324, 1.79e308, 100_003)
    np.testing.assert_allclose(functions_of(sizes)[1], np.log(sizes), rtol=4e-16, atol=4e-16)
    positive = numbers[numbers > 0]
    less, small = functions_of(positive), positive[positive < 4]
    np.testing.assert_allclose(less[2], -np.expm1(-positive), rtol=8e-16, atol=0)
    np.testing.assert_allclose(
        functions_of(small)[3], 2 * np.sin(small / 2) ** 2, rtol=1e-15, atol=1e-300
    )
    np.testing.assert_allclose(functions_of(sizes)[4], np.hypot(sizes, 1), rtol=4e-16, atol=0)


def test_functions_at_the_ends_of_their_ranges():
    exp, log, less, _, length = functions_of([-np.inf, -1000, 0, 710, np.inf, np.nan])
    np.testing.assert_array_equal(exp, [0, 0, 1, np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(log[[1, 2, 4, 5]], [np.nan, -np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(less[2:], [0, 1, 1, np.nan])
    np.testing.assert_array_equal(length[[0, 2, 4]], [np.inf, 1, np.inf])


def test_integers_are_the_nearest():
    sizes = np.concatenate([np.geomspace(1e-3, 2.0**51 - 1, 10_007), np.arange(0, 9, 0.5)])
    numbers = np.concatenate([sizes, -sizes])
    found = filled("fill_integers", numbers, np.int64)
    np.testing.assert_array_equal(found, np.rint(numbers).astype(np.int64))
    found = filled("fill_integers", [LARGEST_UNIT, -LARGEST_UNIT], np.int64)
    np.testing.assert_array_equal(found, [2**50, -(2**50)])


def test_tails_of_nan_are_nan():
    nothing = np.full(1, np.nan)
    assert all(math.isnan(tail[0]) for tail in tails_of(nothing, nothing))


def test_tails_out_of_range_do_no_harm():
    outside = -np.concatenate([np.linspace(0.0, 12.0, 1001), np.geomspace(1e-300, 1e300, 1001)])
    assert len(tails_of(outside, outside[::-1].copy())[0]) == len(outside)


def test_tails_are_those_of_the_fraction():
    points = POINTS[(POINTS >= 0.5) & (POINTS < 1e100)]
    expected = np.zeros_like(points)
    for term in range(4000, 1, -1):
        expected = term / 2 / (points + expected)
    tails, other_tails = tails_of(points, points[::-1].copy())
    np.testing.assert_allclose(tails, expected, rtol=1e-14)
    np.testing.assert_array_equal(tails, other_tails[::-1])


def test_tails_near_0_are_those_of_scipys_erfcx():
    points = POINTS[POINTS < 0.5]
    above = 1 / (math.sqrt(math.pi) * special.erfcx(points)) - points
    tails, _ = tails_of(points, points)
    np.testing.assert_allclose(tails, 0.5 / above - points, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "numbers", "dtype"),
    [
        ("fill_exp_minus", np.concatenate([SIZES, EXTREME]), np.float64),
        ("fill_log", SIZES[SIZES > 0], np.float64),
        ("fill_integers", np.linspace(-(2.0**51), 2.0**51, 20_011), np.int64),
    ],
)
def test_every_bit_of_functions_of_a_number(name, numbers, dtype):
    for count in (0, 1, 7, len(numbers)):
        given = numbers[:count], np.zeros(count, dtype)
        assert_recorded_bits(name, *given)


def test_every_bit_of_tails():
    given = POINTS, np.random.default_rng(0).permutation(POINTS), *np.zeros((2, len(POINTS)))
    assert_recorded_bits("fill_fraction_tails", *given)


@pytest.mark.parametrize("name", ["fill_exp_minus", "fill_log", "fill_integers"])
def test_sizes_and_types_that_do_not_fit_are_refused(name):
    dtype = np.int64 if name == "fill_integers" else np.float64
    with pytest.raises(ValueError, match="as many"):
        getattr(_core, name)(np.ones(3), np.empty(2, dtype))
    with pytest.raises(TypeError):
        getattr(_core, name)(np.ones(3), np.empty(3, np.float32))


def test_tails_that_are_not_as_many_are_refused():
    for place in range(4):
        given = [np.ones(3) for _ in range(4)]
        given[place] = np.ones(2)
        with pytest.raises(ValueError, match="as many"):
            _core.fill_fraction_tails(*given)


ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("c++")


def is_gcc():
    """Return whether there is GCC, which says what it does to loops."""
    if COMPILER is None or platform.machine() != "x86_64":
        return False
    return "Free Software Foundation" in finished(COMPILER, "--version", check=True).output


@pytest.mark.slow
@pytest.mark.skipif(not is_gcc(), reason="asks GCC about instructions of x86-64")
@pytest.mark.parametrize(("kernel", "loops"), [("vector_math", 4), ("moon", 6)])
def test_loops_run_on_vector_registers(kernel, loops, tmp_path):
    (options,) = re.findall(r"set\(exact (-O3 [^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
    command = [COMPILER, "-std=c++17", *options.split(), "-march=x86-64-v3", "-fopt-info-vec"]
    command += ["-c", f"core/kernels/{kernel}.cpp", "-o", str(tmp_path / "object.o")]
    told = finished(*command, cwd=ROOT, check=True).errors
    message = rf"{kernel}\.cpp:.* loop vectorized using 32 byte vectors"
    assert len(re.findall(message, told)) >= loops
