from fractions import Fraction

import numpy as np
import pytest
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features
from scipy import stats
from tests.nightly import nightly

from quietcrowd.mechanisms import discrete_gaussian
from quietcrowd.mechanisms.discrete_gaussian import BLOCK, DrawnGaussian, gaussian_noise
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.exact_coins import decaying
from quietcrowd.mechanisms.randomness import system_words, words_in_turn
from quietcrowd.privacy.sampled_variance import MEAN

FALSE_ALARM = 1e-8


@pytest.mark.parametrize("seed", [None, 3])
def test_variances_are_exponential_beyond_the_least(seed):
    rng = None if seed is None else np.random.default_rng(seed)
    law = DrawnGaussian(unit=100.0 / MEAN, least=MEAN // 2)
    assert (law.rate, law.least_variance) == pytest.approx((0.01, 50.0))
    assert law.scale == pytest.approx(np.sqrt(50.0))
    variances = law.draw(5_000, rng) ** 2 - 50.0
    assert variances.min() > 0
    assert stats.kstest(variances, stats.expon(scale=100.0).cdf).pvalue > FALSE_ALARM


def test_exact_variances_are_whole_numbers_of_units_rounded_up(monkeypatch):
    law = DrawnGaussian(unit=0.75, least=2)
    monkeypatch.setattr(discrete_gaussian, "_geometric", lambda count, _: np.arange(1, count + 1))
    deviations = law.draw(1000, None)
    units = deviations**2 / 0.75 - 2
    assert units == pytest.approx(np.arange(1, 1001), rel=1e-12)
    for k, deviation in enumerate(deviations, start=1):
        numerator, denominator = deviation.as_integer_ratio()
        assert 4 * numerator**2 >= 3 * (k + 2) * denominator**2


def test_zeros_and_what_is_too_large_are_drawn_again(monkeypatch):
    given = iter([[0, 5, -(2**49) - 1, -7], [2**49, 0], [1]])
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda *_: np.array(next(given)))
    assert discrete_gaussian._geometric(4, system_words).tolist() == [2**49, 5, 1, 7]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deviation", "seed"), [(0.6, None), (1.7, None), (40.0, None), (1.7, 1), (40.0, 1)]
)
def test_noise_follows_the_discrete_gaussian(deviation, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    count = 10_000
    drawn = DrawnGaussian(unit=1.0).sample(np.array([deviation]), np.zeros(count, np.int32), rng)
    assert drawn.dtype == np.int64
    edge = max(1, int(2.5 * deviation))
    places = np.arange(-20 * edge, 20 * edge + 1)
    law = np.exp(-(places**2) / (2 * deviation**2))
    if seed is not None:  # a simulation rounds a Gaussian
        law = np.diff(stats.norm.cdf(np.append(places, places[-1] + 1) - 0.5, scale=deviation))
    ends = np.clip(places, -edge, edge) + edge
    expected = np.bincount(ends, weights=law / law.sum()) * count
    counts = np.bincount(np.clip(drawn, -edge, edge) + edge, minlength=2 * edge + 1)
    assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("seed", [None, 1])
def test_every_number_has_the_deviation_of_its_worker(seed):
    rng = None if seed is None else np.random.default_rng(seed)
    deviations = np.array([1e-3, 1e6, 1.0, 1e12])  # the third has no number
    codes = np.tile(np.array([3, 0, 1, 0, 3, 1, 1], np.int32), 10)
    noise = np.abs(DrawnGaussian(unit=1.0).sample(deviations, codes, rng))
    assert (noise[codes == 0] == 0).all()
    assert (noise[codes == 1] < 1e8).all()
    # One is below a hundredth of its deviation with a chance of 0.008, half of 20 of 10^-15.
    assert np.median(noise[codes == 1]) > 1e4
    assert np.median(noise[codes == 3]) > 1e10


def test_many_draws_come_in_blocks_and_none_in_none():
    noise = DrawnGaussian(unit=1.0)
    none = np.zeros(0, np.int32)
    assert len(noise.sample(np.ones(2), none, None)) == 0
    assert len(noise.draw(0, None)) == 0
    drawn = noise.sample(np.array([5.0]), np.zeros(BLOCK + 3, np.int32), np.random.default_rng(0))
    assert len(drawn) == BLOCK + 3
    assert drawn[-3:].any()
    assert drawn.std() == pytest.approx(5.0, rel=0.05)


def words_of(*values):
    return words_in_turn(np.array(values, np.uint32))


def test_words_are_laplace_noise_that_is_kept_or_not():
    """At a deviation of 3.5: Laplace noise of scale 4 has 7 digits and a rest, 16 words."""
    none = [2**32 - 1] * 8
    zero = [*none, *none]
    five = [0, none[1], 0, *none[3:], *none]
    kept, lost = 0, 2**32 - 1
    assert gaussian_noise(3.5, 1, words_of(*five, kept)).tolist() == [5]
    assert gaussian_noise(3.5, 1, words_of(*zero, lost, *five, kept)).tolist() == [5]
    both = gaussian_noise(3.5, 2, words_of(*zero, *five, lost, kept, *zero, kept))
    assert both.tolist() == [0, 5]


def test_a_word_near_its_chance_is_compared_exactly():
    deviation, number = 3.5, 5
    rate = (number - Fraction(deviation) ** 2 / 4) ** 2 / (2 * Fraction(deviation) ** 2)
    chance = decaying(rate)
    none = [2**32 - 1] * 8
    five = [0, none[1], 0, *none[3:], *none]
    first, second = chance(32), chance(64) & (2**32 - 1)
    assert gaussian_noise(deviation, 1, words_of(*five, first, second - 1)).tolist() == [5]
    again = words_of(*five, first, second + 1, *none, *none, 0)
    assert gaussian_noise(deviation, 1, again).tolist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [nightly(0.6), 3.5, nightly(40.0)])
def test_draws_are_as_those_of_another_implementation(deviation):
    count = 40_000
    enable_features("contrib")
    numbers = vector_domain(atom_domain(T="i64"))
    theirs = make_gaussian(numbers, l2_distance(T="f64"), scale=deviation)([0] * count)
    ours = gaussian_noise(deviation, count, system_words)
    edge = int(2 * deviation) + 1
    table = [
        np.bincount(np.clip(z, -edge, edge) + edge, minlength=2 * edge + 1) for z in (ours, theirs)
    ]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
