"""The distribution of bounded reports given a bin of the truth, beside sums over all answers."""

import numpy as np
import pytest
from scipy import special

import quietcrowd as qc
from quietcrowd.inference.numbers.bounded_bins import bounded_columns, bounded_distributions
from quietcrowd.inference.numbers.report_bins import BINS
from quietcrowd.mechanisms import DuchiMechanism, HybridMechanism
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL

DOMAIN = qc.Interval(low=-1, high=1)

CASES = {
    f"{kind.name}-{epsilon:g}-{step}": (kind, epsilon, step)
    for kind in (qc.PiecewiseMechanism, DuchiMechanism, HybridMechanism)
    for epsilon, step in ((1.0, 2.0**-7), (4.0, 2.0**-7), (2.0, 0.125))
}


def summed(distribution, reports, sigma):
    """Return the chance of each report given each bin, shape (reports, bins, distributions)."""
    edges = (np.arange(distribution.steps) + 0.5) / distribution.steps
    truths = np.linspace(0.0, 1.0, BINS)
    below = special.ndtr((edges[:, None, None] - truths[:, None]) / sigma)
    ends = np.zeros((1, BINS, len(sigma)))
    answers = np.diff(np.concatenate([ends, below, ends + 1.0]), axis=0)
    weights = (
        distribution.weights(reports[:, np.newaxis], np.arange(distribution.steps + 1)) / TOTAL
    )
    return np.tensordot(weights, answers, axes=1)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "epsilon", "step"), CASES.values(), ids=CASES)
def test_chances_are_those_of_all_answers(kind, epsilon, step):
    """Edges are rounded by an eighth of a bin; where sigma is wide that is next to nothing."""
    distribution = kind(domain=DOMAIN, epsilon=epsilon, step=step).channel.distribution
    distributions = bounded_distributions(distribution)
    few = np.linspace(0, distribution.reports - 1, 9).astype(np.int64)
    reports = np.unique([*few, *distribution.ends, distribution.reports // 2])
    columns = bounded_columns(distribution, reports)
    sums = summed(distribution, reports, distributions.sigma)
    for report, column, expected in zip(reports, columns, sums, strict=True):
        found = np.exp(distributions.logs[column : column + BINS])
        scale = expected.max()
        wide = distributions.sigma > 0.05
        assert np.abs(found - expected)[:, wide].max() < 0.007 * scale
        if report in distribution.ends:
            np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert np.abs(found - expected).mean() < 0.001 * scale


def test_the_mean_answer_is_as_near_on_a_fine_grid():
    distribution = DuchiMechanism(domain=DOMAIN, epsilon=1.0).channel.distribution
    distributions = bounded_distributions(distribution)
    column = bounded_columns(distribution, np.array([1]))[0]
    (expected,) = summed(distribution, np.array([1]), distributions.sigma[::10])
    found = np.exp(distributions.logs[column : column + BINS, ::10])
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_chances_of_all_reports_sum_to_one(epsilon):
    distribution = qc.PiecewiseMechanism(domain=DOMAIN, epsilon=epsilon).channel.distribution
    distributions = bounded_distributions(distribution)
    columns = bounded_columns(distribution, np.arange(distribution.reports))
    total = sum(np.exp(distributions.logs[column : column + BINS]) for column in columns)
    np.testing.assert_allclose(total, 1.0, atol=0.002)


@pytest.mark.slow
def test_all_places_lie_in_the_table():
    for step in (0.5, 2.0**-15):
        for epsilon in (0.01, 1.0, 12.0):
            distribution = HybridMechanism(
                domain=DOMAIN, epsilon=epsilon, step=step
            ).channel.distribution
            columns = bounded_columns(distribution, np.arange(distribution.reports))
            assert columns.min() == 0
            assert columns.max() + BINS <= len(bounded_distributions(distribution).logs)
