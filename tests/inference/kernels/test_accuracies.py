import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from quietcrowd.inference.kernels.accuracies import (
    EVIDENCE_ONE,
    GRID,
    crowd_counts,
    estimate_accuracies,
    evidences,
    report_logs,
)
from quietcrowd.inference.kernels.cavity import REPORT_ONE

NODES = np.linspace(-10.0, 10.0, 5)
ANGLES = (np.arange(GRID) + 0.5) / GRID * np.pi
GRID_ACCURACIES = np.sin(ANGLES / 2) ** 2
EVEN = np.sin(ANGLES) / np.sin(ANGLES).sum()
ALONE = np.zeros(1)


def histograms(*records):
    """Return what plain answers to known truths tell, given how many were right and wrong."""
    found = np.zeros((len(records), 1, len(NODES) + 1))
    for place, (right, wrong) in enumerate(records):
        found[place, 0, -2], found[place, 0, 0] = right, wrong
        found[place, 0, -1] = -10.0 * right
    return np.rint(found * REPORT_ONE).astype(np.int64)


@pytest.mark.parametrize(
    "record", [(0, 0), (1, 0), (6, 4), (75, 25), (99, 1), (7_000, 3_000), (10**6, 10**3)]
)
def test_the_posterior_is_that_of_a_coin(record):
    right, wrong = record
    found = estimate_accuracies(histograms(record), NODES, ALONE, EVEN, 0.05)[:, 0]
    exact = stats.beta(right + 1, wrong + 1)
    close = 0.03 * exact.std() + 2e-4
    assert found[0] == pytest.approx(exact.mean(), abs=close)
    assert found[1:] == pytest.approx(exact.ppf([0.05, 0.95]), abs=2 * close)


def test_evidence_is_that_of_a_coin_and_workers_add_up():
    records = [(3, 1), (10, 5), (0, 2)]
    logs = report_logs(NODES, GRID_ACCURACIES)
    found = evidences(histograms(*records), logs, ALONE, EVEN[None]) / EVIDENCE_ONE
    exact = sum(betaln(right + 1, wrong + 1) for right, wrong in records)
    assert found[0] == pytest.approx(exact, abs=0.02)
    turned = evidences(histograms(*records[::-1]), logs, ALONE, EVEN[None]) / EVIDENCE_ONE
    assert turned[0] == found[0]


def test_the_crowd_is_counted_where_its_workers_are():
    logs = report_logs(NODES, GRID_ACCURACIES)
    found = crowd_counts(histograms((900, 100), (100, 900)), logs, ALONE, EVEN) / 2.0**32
    assert found.sum() == pytest.approx(2.0)
    assert found[GRID_ACCURACIES > 0.5].sum() == pytest.approx(1.0)
    assert abs(found @ GRID_ACCURACIES - 1.0) < 0.01


def test_channels_are_mixed_with_their_weights():
    """Of a worker whose noise is one of two laws, the reports tell which."""
    two = np.concatenate([histograms((80, 20)), histograms((20, 80))], axis=1)
    two[0, 0, -1] -= np.int64(50 * REPORT_ONE)
    for weights, expected in (([0.5, 0.5], 0.2), ([1.0, 1e-300], 0.8)):
        found = estimate_accuracies(two, NODES, np.log(np.array(weights)), EVEN, 0.05)
        assert found[0, 0] == pytest.approx(expected, abs=0.02)
