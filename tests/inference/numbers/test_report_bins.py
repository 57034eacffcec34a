"""Distributions of reports near the ends of the range."""

import numpy as np
import pytest
from scipy import stats

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    beyond_logs,
    cell_ratios,
    cells_of,
    clipped_plain_logs,
    end_cells,
)

STEP = 1 / (BINS - 1)
SIGMA = np.array([0.01, 0.3, 0.7])


def densities(scale, reports, sigma=SIGMA):
    """Return each report's density given each bin, shape (reports, bins, distributions)."""
    truths = np.linspace(0, 1, BINS)[:, np.newaxis]
    beyond = beyond_logs(sigma, scale, BINS).reshape(2, BINS, -1)
    ratios = cell_ratios(sigma, scale, BINS).reshape(-1, BINS, len(sigma))
    found = []
    for report, cell in zip(reports, cells_of(reports, scale, STEP), strict=True):
        if cell in (0, 1):
            apart = abs(report - min(max(report, 0.0), 1.0))
            found.append(beyond[cell] - apart / scale)
            continue
        logs = NormalLaplace(sigma, scale).log_density(report - truths)
        found.append(logs if cell < 0 else logs + ratios[cell - 2])
    return np.exp(found)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.25, 0.1])
def test_the_probabilities_of_all_reports_sum_to_one(scale):
    inside = (np.arange(800) + 0.5) / 800
    beyond = np.exp(beyond_logs(SIGMA, scale, BINS)).reshape(2, BINS, -1).sum(axis=0) * scale
    whole = densities(scale, inside).mean(axis=0) + beyond
    np.testing.assert_allclose(whole, 1.0, atol=5e-3)


def test_reports_are_as_frequent_as_their_distribution_says():
    scale, truth, draws = 0.2, 30, 400_000
    rng = np.random.default_rng(1)
    answers = np.clip(truth * STEP + 0.3 * rng.normal(size=draws), 0, 1)
    width, count = end_cells(scale, STEP)
    ends = np.linspace(0.0, 1.0, 2 * count + 1)
    assert ends[1] == pytest.approx(width)  # the cells meet in the middle
    found = np.histogram(answers + rng.laplace(0, scale, draws), ends)[0] / draws
    fine = (np.arange(840) + 0.5) / 840
    distribution = (
        densities(scale, fine, SIGMA[1:2])[:, truth, 0].reshape(2 * count, -1).mean(axis=1)
    )
    distribution *= width
    error = np.sqrt(distribution / draws)
    assert (np.abs(found - distribution) < 6 * error + 3e-3).all()  # by chance below 1 in 10^7


def test_reports_lie_in_mirrored_cells():
    width, count = end_cells(0.1, STEP)
    reports = np.array([-5.0, width / 2, 1.5 * width, 0.5, 1 - width / 2, 1.001, 9.0])
    upper = 2 + count
    assert cells_of(reports, 0.1, STEP).tolist() == [0, 2, 3, -1, upper, 1, 1]


def test_what_the_ends_add_is_mirrored_and_nothing_far_from_them():
    count = end_cells(0.1, STEP)[1]
    ratios = cell_ratios(SIGMA, 0.1, BINS).reshape(2 * count, BINS, -1)
    np.testing.assert_array_equal(ratios[count:], ratios[:count, ::-1])
    assert (ratios >= 0).all()
    assert ratios[:, BINS // 2, 0].max() < 1e-9


def test_plain_answers_at_an_end_are_all_that_would_lie_beyond():
    logs = clipped_plain_logs(np.array([0.1]), 10.0, 0.05, BINS)
    truths = np.linspace(0, 1, BINS)
    np.testing.assert_allclose(logs[:BINS, 0], stats.norm.logcdf(0.05, truths, 0.1))
    np.testing.assert_allclose(logs[:BINS, 1], stats.t.logcdf(0.05, 10, truths, 0.1), rtol=1e-6)
    np.testing.assert_array_equal(logs[BINS:], logs[:BINS][::-1])
