import numpy as np
import pytest
from scipy.stats import binom

from quietcrowd.privacy.binomial import at_least, at_most, likely_range, range_chances

LAWS = [(1, 0.5), (7, 0.3), (60, 0.999), (3_000, 1e-4), (3_000, 0.5), (10**6, 0.27)]


@pytest.mark.parametrize(("count", "chance"), LAWS)
def test_tails_are_those_of_scipy(count, chance):
    numbers = np.unique(np.linspace(-2, count + 2, 500).astype(int))
    distribution = binom(count, chance)
    np.testing.assert_allclose(
        at_most(numbers, count, chance), distribution.cdf(numbers), rtol=1e-11
    )
    np.testing.assert_allclose(
        at_least(numbers, count, chance), distribution.sf(numbers - 1), rtol=1e-11
    )


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_tails_of_what_is_certain(chance):
    numbers = np.arange(-1, 7)
    distribution = binom(5, chance)
    np.testing.assert_array_equal(at_most(numbers, 5, chance), distribution.cdf(numbers))
    np.testing.assert_array_equal(at_least(numbers, 5, chance), distribution.sf(numbers - 1))


@pytest.mark.parametrize(("count", "chance"), LAWS)
@pytest.mark.parametrize("missed", [1e-3, 1e-9, 1e-15])
def test_quantiles_and_probabilities_are_those_of_scipy(count, chance, missed):
    distribution = binom(count, chance)
    low, high = likely_range(count, chance, missed)
    assert (low, high) == (distribution.ppf(missed), distribution.isf(missed))
    chances, rest = range_chances(low, high, count, chance)
    np.testing.assert_allclose(chances, distribution.pmf(np.arange(low, high + 1)), rtol=1e-11)
    assert rest == pytest.approx(distribution.cdf(low - 1) + distribution.sf(high), rel=1e-12)


@pytest.mark.parametrize("chance", [0.0, 1e-12, 0.5])
def test_probabilities_of_all_numbers(chance):
    chances, rest = range_chances(0, 500, 500, chance)
    expected = binom.pmf(np.arange(501), 500, chance)
    np.testing.assert_allclose(chances, expected, rtol=1e-11, atol=1e-300)
    assert rest == 0
