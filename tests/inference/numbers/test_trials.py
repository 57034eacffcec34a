"""Distributions that the first passes try."""

import numpy as np
import pytest
from scipy import integrate, stats

from quietcrowd.inference.numbers.trials import (
    FINER,
    FIRST_SHARES,
    GRID,
    NEAR,
    Answering,
    Trial,
    first_truths,
)

REPORTS = np.array([40, 40, 40, 0])


def test_a_first_distribution_has_the_share_for_everyone():
    distribution = Answering.first(0.3, 4)
    np.testing.assert_allclose(distribution.shares, 0.3)
    assert distribution.crowd.sum() == pytest.approx(100.0)


def test_mean_logs_are_those_of_the_beta_distribution():
    distribution = Answering.first(0.3, 1).learned(np.array([10.0]), np.array([40]))
    beta = stats.beta(*distribution.own[0])
    expected = [beta.expect(np.log), beta.expect(lambda r: np.log1p(-r))]
    np.testing.assert_allclose(distribution.logs[0], expected, rtol=1e-6)


def test_workers_who_differ_make_a_wide_distribution_and_equal_ones_a_narrow_one():
    wide = narrow = Answering.first(0.5, 4)
    for _ in range(20):
        wide = wide.learned(np.array([1.0, 20.0, 39.0, 0.0]), REPORTS)
        narrow = narrow.learned(np.array([19.0, 20.0, 21.0, 0.0]), REPORTS)
    assert wide.crowd.sum() < 20
    assert narrow.crowd.sum() > 300
    assert wide.shares[0] < 0.15
    assert wide.shares[2] > 0.85
    np.testing.assert_allclose(narrow.shares, 0.5, atol=0.05)


def test_the_share_of_the_crowd_is_learnt():
    distribution = Answering.first(0.5, 4)
    for _ in range(50):
        distribution = distribution.learned(np.array([40.0, 40.0, 40.0, 0.0]), REPORTS)
    assert distribution.shares[:3].min() > 0.97
    assert distribution.shares[3] > 0.97  # of whom nothing was heard
    np.testing.assert_allclose(
        distribution.take(np.array([-1, 0])).own, [distribution.crowd, distribution.own[0]]
    )


def test_the_objective_is_the_mean_log_less_the_divergence():
    distribution = Answering.first(0.4, 1).learned(np.array([9.0]), np.array([20]))
    crowd, own = stats.beta(*distribution.crowd), stats.beta(*distribution.own[0])
    apart, _ = integrate.quad(
        lambda r: own.pdf(r) * (own.logpdf(r) - crowd.logpdf(r)), 1e-9, 1 - 1e-9
    )
    prior = stats.logistic.logpdf(distribution.logit)
    expected = 20 * own.expect(np.log) - apart + prior
    assert distribution.objective(np.array([20])) == pytest.approx(expected, abs=1e-5)


def test_learning_of_the_crowd_never_lowers_the_objective():
    reports = np.array([10, 200, 5, 0, 30])
    answered = np.array([9.0, 3.0, 4.5, 0.0, 15.0])
    distribution = Answering.first(0.5, 5)
    values = []
    for _ in range(30):
        distribution = distribution.learned(answered, reports)
        odds = distribution.logs[:, 1] - distribution.logs[:, 0]
        values.append(distribution.objective(reports) + (reports - answered) @ odds)
    assert np.diff(values).min() > -1e-9


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
    spreads = [distribution.log_spread for distribution in trial.candidates]
    assert min(spreads) < GRID[42].log_spread < max(spreads)
    for _ in range(FINER - 1):
        assert not trial.last
        trial = trial.following(np.arange(len(NEAR)) * 100.0, 50, None)
    assert trial.last


def test_the_share_with_the_best_distribution_is_kept():
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


def test_the_first_distribution_is_the_widest_in_the_middle():
    distribution = first_truths()
    assert distribution.log_spread == max(other.log_spread for other in GRID)
    assert abs(distribution.mean - 0.5) <= 0.05 + 1e-12


def test_distributions_that_reports_do_not_tell_apart_are_averaged():
    distribution = Trial.first(fills_in=False).following(np.zeros(len(GRID)), 50, None).best.truths
    assert distribution.mean == pytest.approx(0.5)
    assert distribution.log_spread > np.log(0.2)
