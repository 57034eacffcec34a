"""How much of a task's weight one report may hold."""

import numpy as np
import pytest
from tests.core.held_weights import held_weights

LARGEST_SHARE = 0.5


def shares(weights, borne):
    """Return what the reports of one task hold of its weight."""
    held = held_weights(np.array(weights), np.array(borne))
    return held / held.sum()


@pytest.mark.slow
def test_no_report_holds_more_than_its_share_unless_others_bear_it_out():
    rng = np.random.default_rng(0)
    for reports in (1, 2, 3, 4, 10):
        most = max(LARGEST_SHARE, 2 / reports)
        for _ in range(50):
            weights = np.exp(rng.normal(0, 3, reports))
            assert shares(weights, np.zeros(reports)).max() <= min(most, 1.0) + 1e-9
            free = weights / weights.sum()
            np.testing.assert_allclose(shares(weights, weights), free, rtol=1e-9)
            if free.max() <= most:
                np.testing.assert_allclose(shares(weights, np.zeros(reports)), free, rtol=1e-9)


def test_what_is_borne_out_stays():
    assert shares([10.0, 1.0, 1.0, 1.0], [6.0, 0, 0, 0])[0] == pytest.approx(6 / 9)
    assert shares([10.0, 1.0, 1.0, 1.0], [2.0, 0, 0, 0])[0] == pytest.approx(0.5)
