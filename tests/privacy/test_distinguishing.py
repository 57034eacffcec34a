"""Lower bounds from samples: they hold, they are not far below, and they refuse nonsense."""

import numpy as np
import pytest
from scipy import stats

from quietcrowd import ParameterError
from quietcrowd.privacy.distinguishing import _Counts, proven_deltas, proven_epsilon


def binary(epsilon, count, rng):
    """Return samples of the two laws of randomised response on two labels."""
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    return [(rng.random(count) < chance).astype(float) for chance in (keep, 1 - keep)]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_bounds_are_below_the_truth_and_near(epsilon):
    rng = np.random.default_rng(1)
    found = [proven_epsilon(*binary(epsilon, 20_000, rng), 0.999) for _ in range(20)]
    assert max(found) <= epsilon
    assert min(found) > epsilon - 0.2


def test_bounds_are_wrong_as_rarely_as_they_say():
    """At 80 % confidence on equal laws; a false alarm of this test has a chance of 1e-6."""
    rng = np.random.default_rng(2)
    wrong = sum(
        proven_epsilon(rng.random(400), rng.random(400), confidence=0.8) > 0 for _ in range(300)
    )
    assert wrong <= stats.binom.ppf(1 - 1e-6, 300, 0.2)


def test_limits_are_those_of_clopper_and_pearson():
    counts = _Counts(np.array([0, 3, 50]), 50, np.array([0, 7, 40]), 40)
    low, high = counts.limits(0.01)
    for place, (hits, misses) in enumerate([(0, 0), (3, 7), (50, 40)]):
        exact = stats.binomtest(hits, 50).proportion_ci(0.98, "exact")
        other = stats.binomtest(misses, 40).proportion_ci(0.98, "exact")
        assert low[place] == pytest.approx(exact.low)
        assert high[place] == pytest.approx(other.high)


def test_delta_is_that_of_the_laws():
    rng = np.random.default_rng(3)
    one, other = binary(1.0, 100_000, rng)
    one[rng.random(len(one)) < 0.1] = 2.0  # never of the other
    epsilons = np.array([0.0, 1.0, 5.0])
    found = proven_deltas(one, other, 0.999, epsilons)
    keep = np.exp(1) / (1 + np.exp(1))
    exact = 0.1 + np.maximum(0.0, 0.9 * keep - np.exp(epsilons) * (1 - keep))
    assert (found <= exact + 1e-12).all()
    assert found == pytest.approx(exact, abs=0.04)
    assert proven_epsilon(one, other, 0.999) > 5
    assert proven_epsilon(one, other, 0.999, delta=0.1) < 1.0


def test_a_projection_is_learnt():
    rng = np.random.default_rng(4)
    one, other = (rng.normal(size=(4000, 3)) for _ in range(2))
    one[:, 1] += 3
    assert proven_epsilon(one, other, 0.999) > 3
    assert proven_epsilon(other[:2000], other[2000:], 0.999) == 0


def test_equal_samples_prove_nothing():
    assert proven_epsilon(np.zeros(1000), np.zeros(1000), 0.999) == 0
    assert proven_deltas(np.zeros(100), np.zeros(100), 0.9, np.array([0.0, 1.0])).tolist() == [0, 0]


def test_nonsense_is_refused():
    with pytest.raises(ParameterError, match="confidence must be above 0 and below 1; got 1"):
        proven_epsilon(np.zeros(10), np.zeros(10), 1)
    with pytest.raises(ParameterError, match="at least four"):
        proven_epsilon(np.zeros(3), np.zeros(10), 0.9)
