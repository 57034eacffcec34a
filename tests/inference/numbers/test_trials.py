"""Laws that the first passes try."""

import numpy as np
import pytest

from quietcrowd.inference.numbers.answering import Answering
from quietcrowd.inference.numbers.trials import FINER, FIRST_SHARES, GRID, NEAR, Trial, first_truths


def test_the_best_of_the_grid_is_refined():
    trial = Trial.first(fills_in=False)
    assert trial.coarse
    assert trial.candidates == GRID
    evidence = np.zeros(len(GRID))
    evidence[42] = 1e4
    trial = trial.following(evidence, 50, None)
    assert not trial.coarse
    assert trial.best.truths.mean == pytest.approx(GRID[42].mean)
    assert len(trial.candidates) == len(NEAR)
    spreads = [law.log_spread for law in trial.candidates]
    assert min(spreads) < GRID[42].log_spread < max(spreads)
    for _ in range(FINER - 1):
        assert not trial.last
        trial = trial.following(np.arange(len(NEAR)) * 100.0, 50, None)
    assert trial.last


def test_the_share_with_the_best_law_is_kept():
    trial = Trial.first(fills_in=True)
    for number, share in enumerate(FIRST_SHARES):
        assert trial.coarse
        answering = Answering.first(share, 3)
        evidence = np.full(len(GRID), -50.0 * np.log(share))
        evidence[7] += 1e3 if number == 2 else 0.0
        trial = trial.following(evidence, 50, answering)
    assert not trial.coarse
    np.testing.assert_allclose(trial.best.answering.shares, FIRST_SHARES[2])
    assert trial.best.truths.mean == pytest.approx(GRID[7].mean)


def test_the_first_law_is_the_widest_in_the_middle():
    law = first_truths()
    assert law.log_spread == max(other.log_spread for other in GRID)
    assert abs(law.mean - 0.5) <= 0.05 + 1e-12


def test_laws_that_reports_do_not_tell_apart_are_averaged():
    law = Trial.first(fills_in=False).following(np.zeros(len(GRID)), 50, None).best.truths
    assert law.mean == pytest.approx(0.5)
    assert law.log_spread > np.log(0.2)
