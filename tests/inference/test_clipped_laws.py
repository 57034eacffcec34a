"""Laws of reports near the ends of the range."""

import numpy as np
import pytest
from scipy import stats

from quietcrowd.inference.binned_laws import BINS
from quietcrowd.inference.clipped_laws import (
    cells_of,
    clipped_noisy_logs,
    clipped_plain_logs,
    end_cells,
)

STEP = 1 / (BINS - 1)
SIGMA = np.array([0.01, 0.3, 0.7])


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.25])
def test_the_probabilities_of_all_cells_sum_to_one(scale):
    width, count = end_cells(scale, STEP)
    assert 2 * count * width == pytest.approx(1.0)
    tables = np.exp(clipped_noisy_logs(SIGMA, scale, BINS)).reshape(2, count + 1, BINS, len(SIGMA))
    beyond, inside = tables[:, 0].sum(axis=0), tables[:, 1:].sum(axis=(0, 1))
    np.testing.assert_allclose(scale * beyond + width * inside, 1.0, atol=2e-3)


def test_a_cell_is_as_probable_as_it_is_frequent():
    scale, truth, draws = 0.2, 30, 400_000
    rng = np.random.default_rng(1)
    answers = np.clip(truth * STEP + 0.3 * rng.normal(size=draws), 0, 1)
    cells = cells_of(answers + rng.laplace(0, scale, draws), scale, STEP)
    width, count = end_cells(scale, STEP)
    tables = np.exp(clipped_noisy_logs(SIGMA[1:2], scale, BINS)).reshape(-1, BINS)
    widths = np.tile([scale] + [width] * count, 2)
    found = np.bincount(cells[cells >= 0], minlength=2 * count + 2) / draws
    expected = widths * tables[:, truth]
    error = np.sqrt(expected / draws)
    assert (np.abs(found - expected) < 6 * error + 2e-4).all()  # by chance below 1 in 10^7


def test_reports_lie_in_mirrored_cells():
    width, count = end_cells(0.1, STEP)
    reports = np.array([-5.0, width / 2, 1.5 * width, 0.5, 1 - width / 2, 1.001, 9.0])
    upper = count + 1
    assert cells_of(reports, 0.1, STEP).tolist() == [0, 1, 2, -1, upper + 1, upper, upper]


def test_plain_answers_at_an_end_are_all_that_would_lie_beyond():
    logs = clipped_plain_logs(np.array([0.1]), 10.0, 0.05, BINS)
    truths = np.linspace(0, 1, BINS)
    np.testing.assert_allclose(logs[:BINS, 0], stats.norm.logcdf(0.05, truths, 0.1))
    np.testing.assert_allclose(logs[:BINS, 1], stats.t.logcdf(0.05, 10, truths, 0.1), rtol=1e-6)
    np.testing.assert_array_equal(logs[BINS:], logs[:BINS][::-1])
