import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.discrete_laplace import BLOCK, DiscreteLaplace

FALSE_ALARM = 1e-8


@given(st.integers(1, 2**24), st.floats(1e-3, 10.0))
def test_the_loss_is_at_most_epsilon_and_hardly_less(distance, epsilon):
    if not distance / epsilon >= 1:
        return
    noise = DiscreteLaplace.for_loss(distance, epsilon)
    assert Fraction(distance) <= Fraction(noise.scale) * Fraction(epsilon)
    assert epsilon * (1 - 1e-14) <= noise.loss(distance) <= epsilon


@pytest.mark.parametrize("scale", [1.0, 7.5, 1000.0])
def test_the_variance_is_that_of_the_law(scale):
    z = np.arange(-60 * int(scale), 60 * int(scale) + 1)
    law = np.exp(-np.abs(z) / scale)
    assert DiscreteLaplace(scale=scale).variance == pytest.approx(
        (law * z**2.0).sum() / law.sum(), rel=1e-9
    )


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("scale", [1.0, 3.7, 40.0])
def test_draws_follow_the_law(scale, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    drawn = DiscreteLaplace(scale=scale).sample(40_000, rng)
    assert drawn.dtype == np.int64
    edge = int(4 * scale)
    ratio = math.exp(-1 / scale)
    inner = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-edge, edge + 1.0))
    tail = ratio ** (edge + 1) / (1 + ratio)
    counts = np.bincount(np.clip(drawn, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    expected = np.concatenate([[tail], inner, [tail]]) * len(drawn)
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_many_draws_come_in_blocks_and_none_in_none():
    noise = DiscreteLaplace(scale=5.0)
    assert len(noise.sample(0, None)) == 0
    drawn = noise.sample(2 * BLOCK + 3, np.random.default_rng(0))
    assert len(drawn) == 2 * BLOCK + 3
    assert len(np.unique(drawn[:100])) > 5
    assert not np.array_equal(drawn[:BLOCK], drawn[BLOCK : 2 * BLOCK])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_noise_is_finite(epsilon):
    with pytest.raises(ParameterError, match="at 0 the noise would be infinite"):
        DiscreteLaplace.for_loss(10, epsilon)


@pytest.mark.parametrize(("distance", "epsilon"), [(10, 11.0), (2**40, 1e-9)])
def test_noise_fits_the_grid(distance, epsilon):
    with pytest.raises(ParameterError, match="steps of the grid"):
        DiscreteLaplace.for_loss(distance, epsilon)
