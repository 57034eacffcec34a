import math
import os
from decimal import Decimal, localcontext

import numpy as np
import pytest

from quietcrowd.mechanisms.discrete_laplace import LARGEST_POWER
from quietcrowd.mechanisms.memo.laplace_digits import (
    REACH,
    laplace_bytes,
    laplace_noise,
    laplace_thresholds,
)

SCALES = [1.0, 1.7, 2304.0, 2.0**46]


@pytest.mark.parametrize("scale", SCALES)
def test_digits_have_the_odds_of_a_geometric_number(scale):
    laplace_thresholds.cache_clear()
    thresholds = laplace_thresholds(scale)
    with localcontext(prec=150):
        for digit, threshold in enumerate(thresholds):
            exact = 2**256 / (1 + (Decimal(2) ** digit / Decimal(scale)).exp())
            assert 0 <= exact - threshold < 1


def test_the_law_is_within_the_stated_distance():
    """Every number of a small scale, from the digits' probabilities."""
    with localcontext(prec=150):
        law = [Decimal(1)]
        for threshold in laplace_thresholds(1.0):
            one = Decimal(threshold) / 2**256
            law = [p * (1 - one) for p in law] + [p * one for p in law]
        q = Decimal(-1).exp()
        exact = [(1 - q) * q**place for place in range(len(law))]
        distances = [abs(a - b) for a, b in zip(law, exact, strict=True)]
        distance = (sum(distances) + q ** len(law)) / 2
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
def test_noise_has_the_variance_and_the_zeros_of_the_law(scale):
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
        assert REACH * scale <= 2**digits < 2 * REACH * scale
        half = laplace_bytes(scale) // 2
        low, high = bytes(half), b"\xff" * half
        assert laplace_noise(scale, low + high) == 2**digits - 1
        assert laplace_noise(scale, high + low) == 1 - 2**digits
        assert laplace_noise(scale, low + low) == laplace_noise(scale, high + high) == 0
        with pytest.raises(ValueError, match="zip"):
            laplace_noise(scale, low)
