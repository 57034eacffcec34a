"""The table of a truncated beta law: whole numbers, beside SciPy's quantiles."""

import numpy as np
import pytest
from scipy import stats

from quietcrowd.mechanisms.beta_weights import STEPS, beta_high, beta_weights

TOTAL = 2**32


@pytest.mark.parametrize(
    ("others", "low", "high", "alpha", "beta"),
    [
        (1, 0.0, 0.5, 2, 2),
        (1, 0.0, 1.0, 1, 1),
        (1, 0.24, 0.5, 16, 1),
        (2, 0.1, 0.9, 3, 7),
        (4, 0.3, 0.8, 1, 16),
    ],
)
def test_weights_are_the_quantiles_of_the_truncated_law(others, low, high, alpha, beta):
    bounds = [round(flip * TOTAL / others) for flip in (low, high)]
    weights = np.array(beta_weights(others, *bounds, alpha, beta))
    law = stats.beta(alpha, beta)
    start, end = law.cdf([others * bound / TOTAL for bound in bounds])
    shares = start + (end - start) * (np.arange(STEPS) + 0.5) / STEPS
    most = (STEPS + 1) * others / TOTAL  # rounded up, and the largest raised for a whole mean
    assert others * weights / TOTAL == pytest.approx(law.ppf(shares), abs=most)
    assert np.all(np.diff(weights) >= 0)
    assert bounds[0] < weights[0]
    assert weights[-1] <= bounds[1]
    assert weights.sum() % STEPS == 0


def test_narrow_laws_keep_to_their_bounds():
    for low, high in ((100, 100), (100, 101), (0, 3)):
        weights = beta_weights(3, low, high, 5, 2)
        assert sum(weights) % STEPS == 0
        assert low <= min(weights)
        assert max(weights) <= high


@pytest.mark.parametrize(("alpha", "beta", "mean"), [(2, 2, 0.4), (1, 1, 0.25), (7, 3, 0.5)])
def test_the_upper_bound_for_a_mean(alpha, beta, mean):
    low = TOTAL // 20
    high = beta_high(1, low, TOTAL, mean, alpha, beta)
    assert np.mean(beta_weights(1, low, high, alpha, beta)) / TOTAL == pytest.approx(mean, abs=1e-5)


def test_a_mean_that_no_upper_bound_gives():
    assert beta_high(1, 0, TOTAL, 0.5, 2, 5) is None
    assert beta_high(1, 100, 100, 0.5, 2, 2) is None
    assert beta_high(1, TOTAL // 2, TOTAL // 2, 0.5, 2, 2) == TOTAL // 2
