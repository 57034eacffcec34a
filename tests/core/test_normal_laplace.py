import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core


def assert_same_distribution(errors, sigmas, scales):
    given = [np.ascontiguousarray(array, np.float64) for array in (errors, sigmas, scales)]
    values = np.zeros((5, len(given[0])))
    assert_recorded_bits("evaluate_normal_laplace", *given, values)
    information = np.zeros(len(given[0]))
    assert_recorded_bits("evaluate_information", *given[1:], information)


def test_every_bit():
    rng = np.random.default_rng(0)
    sigmas, scales = 10.0 ** rng.uniform(-6, 6, (2, 5_000))
    errors = rng.choice([-1, 1], 5_000) * 10.0 ** rng.uniform(-12, 8, 5_000)
    assert_same_distribution(errors, sigmas, scales)
    assert_same_distribution(sigmas**2 / scales, sigmas, scales)


def test_every_bit_of_extremes():
    errors = [-np.inf, -1e300, -1.0, -5e-324, -0.0, 0.0, 1e-300, 1.0, 1e150, np.inf, np.nan]
    sizes = [0.0, 1e-250, 1e-51, 1e-49, 1.0, 1e49, 1e51, 1e250]
    pairs = [(s, b) for s in sizes for b in sizes if s or b]
    errors, pairs = np.meshgrid(errors, np.arange(len(pairs))), np.array(pairs)
    assert_same_distribution(errors[0].ravel(), *pairs[errors[1].ravel()].T)
    assert_same_distribution([], [], [])


@given(st.lists(st.tuples(st.floats(), st.floats(0, 1e60), st.floats(1e-60, 1e60)), max_size=9))
def test_every_bit_of_any_numbers(rows):
    assert_same_distribution(*np.array(rows).reshape(-1, 3).T)


@pytest.mark.parametrize("place", range(4))
def test_sizes_and_types_that_do_not_fit_are_refused(place):
    given = [np.ones(3), np.ones(3), np.ones(3), np.ones((5, 3))]
    for wrong in (given[place][..., 1:], given[place][..., 1:].repeat(2, axis=-1)):
        changed = [*given[:place], np.ascontiguousarray(wrong), *given[place + 1 :]]
        with pytest.raises(ValueError, match="must"):
            _core.evaluate_normal_laplace(*changed)
    changed = [*given[:place], given[place].astype(np.float32), *given[place + 1 :]]
    with pytest.raises(TypeError):
        _core.evaluate_normal_laplace(*changed)


def test_five_rows_are_needed():
    with pytest.raises(ValueError, match="5 rows"):
        _core.evaluate_normal_laplace(np.ones(3), np.ones(3), np.ones(3), np.ones((4, 3)))


@pytest.mark.parametrize("place", range(3))
def test_information_needs_arrays_of_one_size_and_type(place):
    given = [np.ones(3) for _ in range(3)]
    with pytest.raises(ValueError, match="as many"):
        _core.evaluate_information(*given[:place], np.ones(2), *given[place + 1 :])
    with pytest.raises(TypeError):
        _core.evaluate_information(*given[:place], np.ones(3, int), *given[place + 1 :])
