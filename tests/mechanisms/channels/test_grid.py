import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.grid import Grid, bounded_domain


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.lists(st.floats(0, 1), min_size=1))
def test_rounding_stays_on_the_grid_and_near_the_number(low, width, shares):
    domain = Interval(low=low, high=low + width)
    if domain.width <= 0 or domain.width < 1e-9 * abs(low):
        return
    grid = Grid.over(domain)
    numbers = np.clip(low + np.array(shares) * domain.width, domain.low, domain.high)
    places = grid.places(numbers)
    assert places.min() >= 0
    assert places.max() <= grid.steps
    assert np.abs(grid.low + grid.step * places - numbers).max() <= grid.step
    assert grid.steps % 2 == 0
    assert 1024 <= grid.steps <= 2050


def test_whole_levels_lie_on_the_grid():
    grid = Grid.over(Ordinal(range(10)))
    assert (grid.step, grid.steps, grid.width) == (2**-7, 1152, 9.0)
    assert [grid.number(place) for place in grid.places(np.arange(10.0))] == list(range(10))


def test_what_lies_outside_is_clipped():
    grid = Grid.over(Interval(low=0, high=1), step=0.25)
    assert grid.places(np.array([-5.0, 0.3, 7.0])).tolist() == [0, 1, 4]
    assert (grid.place(99.0), grid.nearest(99.0)) == (4, 396)
    with pytest.raises(ParameterError, match="too far from the domain"):
        grid.nearest(1e300)


def test_reports_take_64_bits_where_noise_may_need_them():
    grid = Grid.over(Interval(low=0, high=1))
    assert grid.lattice(1000.0).bits == 32
    assert grid.lattice(2.0**26).bits == 64


@pytest.mark.parametrize("step", [0.3, 0.0, -0.5, float("nan"), float("inf"), 16.0, 2.0**-40])
def test_a_step_is_a_power_of_two_that_suits_the_width(step):
    with pytest.raises(ParameterError, match="step must be"):
        Grid.over(Interval(low=0, high=10), step=step)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Ordinal([3]), "at least two numbers"),
        (Categorical([0, 1]), "must be Ordinal or Interval"),
        (Interval(low=-1.7e308, high=1.7e308), "a finite width"),
        ("0..9", "must be Ordinal or Interval"),
    ],
)
def test_domains_without_a_width(domain, message):
    with pytest.raises(ParameterError, match=message):
        bounded_domain(None, None, domain)
