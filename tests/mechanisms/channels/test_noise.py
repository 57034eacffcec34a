import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance
from opendp.mod import enable_features
from scipy import stats
from tests.nightly import nightly

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels import noise as sampler
from quietcrowd.mechanisms.channels.coins import first_digits
from quietcrowd.mechanisms.channels.noise import (
    BLOCK,
    EXACT_BLOCK,
    LARGEST_POWER,
    MEMO_REACH,
    DiscreteLaplace,
    laplace_bytes,
    laplace_noise,
    laplace_thresholds,
)
from quietcrowd.mechanisms.randomness import system_words, words_in_turn

FALSE_ALARM = 1e-8


@given(st.integers(1, 2**24), st.floats(1e-3, 10.0))
def test_the_loss_is_at_most_epsilon_and_hardly_less(distance, epsilon):
    if not distance / epsilon >= 1:
        return
    noise = DiscreteLaplace.for_loss(distance, epsilon)
    assert Fraction(distance) <= Fraction(noise.scale) * Fraction(epsilon)
    assert epsilon * (1 - 1e-14) <= noise.loss(distance) <= epsilon


@pytest.mark.parametrize("scale", [1.0, 7.5, 1000.0])
def test_the_variance_is_that_of_the_distribution(scale):
    z = np.arange(-60 * int(scale), 60 * int(scale) + 1)
    distribution = np.exp(-np.abs(z) / scale)
    assert DiscreteLaplace(scale=scale).variance == pytest.approx(
        (distribution * z**2.0).sum() / distribution.sum(), rel=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("scale", [1.0, 3.7, 40.0])
def test_draws_follow_the_distribution(scale, seed):
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
    with pytest.raises(ParameterError, match="must be a finite number above 0"):
        DiscreteLaplace.for_loss(10, epsilon)


@pytest.mark.parametrize(("distance", "epsilon"), [(10, 11.0), (2**40, 1e-9)])
def test_noise_fits_the_grid(distance, epsilon):
    with pytest.raises(ParameterError, match="grid steps"):
        DiscreteLaplace.for_loss(distance, epsilon)


SCALES = [1.0, 1.7, 2304.0, 2.0**46]


@pytest.mark.parametrize("scale", SCALES)
def test_digits_have_the_odds_of_a_geometric_number(scale):
    laplace_thresholds.cache_clear()
    thresholds = laplace_thresholds(scale)
    with localcontext(prec=150):
        for digit, threshold in enumerate(thresholds):
            exact = 2**256 / (1 + (Decimal(2) ** digit / Decimal(scale)).exp())
            assert 0 <= exact - threshold < 1


def test_the_distribution_is_within_the_stated_distance():
    """Every number of a small scale, from the digits' probabilities."""
    with localcontext(prec=150):
        distribution = [Decimal(1)]
        for threshold in laplace_thresholds(1.0):
            one = Decimal(threshold) / 2**256
            distribution = [p * (1 - one) for p in distribution] + [p * one for p in distribution]
        q = Decimal(-1).exp()
        exact = [(1 - q) * q**place for place in range(len(distribution))]
        distances = [abs(a - b) for a, b in zip(distribution, exact, strict=True)]
        distance = (sum(distances) + q ** len(distribution)) / 2
        assert 2 * distance < Decimal(2) ** -183  # of the difference of two


def test_the_stated_distance_holds_for_every_scale():
    """Digits err by 2^-256 each, and end where e^-128 or less is left out."""
    with localcontext(prec=150):
        for scale in SCALES:
            digits = len(laplace_thresholds(scale))
            assert digits <= 53
            left_out = (-(Decimal(2) ** digits) / Decimal(scale)).exp()
            distance = digits * Decimal(2) ** -256 + left_out
            assert distance < Decimal(2) ** -184
    assert max(SCALES) == 2.0**LARGEST_POWER


@pytest.mark.parametrize("scale", [1.0, 3.3, 40.0])
def test_noise_has_the_variance_and_the_zeros_of_the_distribution(scale):
    count = 6000
    noise = np.array([laplace_noise(scale, os.urandom(laplace_bytes(scale))) for _ in range(count)])
    q = math.exp(-1 / scale)
    variance, zeros = 2 * q / (1 - q) ** 2, (1 - q) / (1 + q)
    assert abs((noise == 0).mean() - zeros) < 5.5 * math.sqrt(zeros / count)
    assert abs(noise.mean()) < 5.5 * math.sqrt(variance / count)
    assert abs(noise.var() / variance - 1) < 0.3


def test_the_reach_is_that_of_all_digits():
    for scale in SCALES:
        digits = len(laplace_thresholds(scale))
        assert MEMO_REACH * scale <= 2**digits < 2 * MEMO_REACH * scale
        half = laplace_bytes(scale) // 2
        low, high = bytes(half), b"\xff" * half
        assert laplace_noise(scale, low + high) == 2**digits - 1
        assert laplace_noise(scale, high + low) == 1 - 2**digits
        assert laplace_noise(scale, low + low) == laplace_noise(scale, high + high) == 0
        with pytest.raises(ValueError, match="zip"):
            laplace_noise(scale, low)


DIGITS = 8
"""Of numbers at a scale of 8: the first power of two from 32 scales on is 2^8."""

LARGEST_WORD = 2**32 - 1


def drawn(words, scale=8.0, count=1):
    """Return what words are drawn as, and how many were taken."""
    taken = []
    given = words_in_turn(np.array(words, np.uint32))

    def source(number):
        taken.append(number)
        return given(number)

    return DiscreteLaplace(scale=scale).draw(count, source).tolist(), sum(taken)


def test_words_are_the_binary_digits_of_two_numbers():
    none, every = [LARGEST_WORD] * (DIGITS + 1), [0] * DIGITS + [LARGEST_WORD]
    assert drawn(every + none) == ([2**DIGITS - 1], 2 * DIGITS + 2)
    assert drawn(none + every) == ([1 - 2**DIGITS], 2 * DIGITS + 2)
    assert drawn([0, *none[1:], *none]) == ([1], 2 * DIGITS + 2)
    fifth = [*none[:4], 0, *none[5:]]
    assert drawn(none + fifth + fifth + none, count=2) == ([-16, 16], 4 * DIGITS + 4)


def test_a_rest_is_drawn_until_a_coin_shows_tails():
    coin = sampler._coin(8.0, DIGITS)
    assert coin(32) == int(math.exp(-32) * 2**32) == 0
    none = [LARGEST_WORD] * DIGITS
    heads = [0, 0]  # the first word is equal to the digits; the second is below them
    words = [*none, heads[0], *none, LARGEST_WORD, heads[1], *heads, LARGEST_WORD]
    assert drawn(words) == ([2 << DIGITS], len(words))


def test_equal_first_words_are_settled_by_the_next():
    coin = sampler._coin(8.0, 2)
    rest, none = coin(64) & LARGEST_WORD, [LARGEST_WORD] * (DIGITS + 1)
    words = [*none[:2], first_digits(coin), *none[3:], *none]
    assert drawn([*words, rest - 1]) == ([4], 2 * DIGITS + 3)
    assert drawn([*words, rest + 1]) == ([0], 2 * DIGITS + 3)


def test_blocks_are_drawn_one_after_the_other():
    given = system_words(2 * (DIGITS + 1) * (EXACT_BLOCK + 5) + 100)
    noise = DiscreteLaplace(scale=8.0)
    source = words_in_turn(given)
    whole = noise.draw(EXACT_BLOCK + 5, source)
    source = words_in_turn(given)
    parts = [noise.draw(EXACT_BLOCK, source), noise.draw(5, source)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert len(noise.draw(0, source)) == 0


def test_digits_have_the_chances_of_a_geometric_number():
    """The chance of every number below 2^4 from its digits, against the distribution, exactly."""
    scale, digits = Fraction(1), sampler._binary_digits(1.0)
    with localcontext(prec=60):
        chances = [Decimal(sampler._coin(1.0, i)(160)) / 2**160 for i in range(digits)]
        rest = 1 - Decimal(sampler._coin(1.0, digits)(160)) / 2**160
        for number in range(16):
            chance = rest
            for i, p in enumerate(chances):
                chance *= p if number >> i & 1 else 1 - p
            distribution = (Decimal(-number) / int(scale)).exp() * (1 - Decimal(-1).exp())
            assert abs(chance - distribution) < Decimal(10) ** -40


@pytest.mark.slow
@pytest.mark.parametrize("scale", [nightly(1.0), 3.7, nightly(40.0)])
def test_draws_are_as_those_of_another_implementation(scale):
    count = 40_000
    enable_features("contrib")
    numbers = vector_domain(atom_domain(T="i64"))
    theirs = make_laplace(numbers, l1_distance(T="i64"), scale=scale)([0] * count)
    ours = DiscreteLaplace(scale=scale).draw(count, system_words)
    edge = int(4 * scale)
    table = [
        np.bincount(np.clip(z, -edge, edge) + edge, minlength=2 * edge + 1) for z in (ours, theirs)
    ]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
