"""Laws of the share of reports that are answers."""

import numpy as np
import pytest
from scipy import integrate, stats

from quietcrowd.inference.numbers.answering import Answering

REPORTS = np.array([40, 40, 40, 0])


def test_a_first_law_has_the_share_for_everyone():
    law = Answering.first(0.3, 4)
    np.testing.assert_allclose(law.shares, 0.3)
    assert law.crowd.sum() == pytest.approx(100.0)


def test_mean_logs_are_those_of_the_beta_law():
    law = Answering.first(0.3, 1).learned(np.array([10.0]), np.array([40]))
    beta = stats.beta(*law.own[0])
    expected = [beta.expect(np.log), beta.expect(lambda r: np.log1p(-r))]
    np.testing.assert_allclose(law.logs[0], expected, rtol=1e-6)


def test_workers_who_differ_make_a_wide_law_and_equal_ones_a_narrow_one():
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
    law = Answering.first(0.5, 4)
    for _ in range(50):
        law = law.learned(np.array([40.0, 40.0, 40.0, 0.0]), REPORTS)
    assert law.shares[:3].min() > 0.97
    assert law.shares[3] > 0.97  # of whom nothing was heard
    np.testing.assert_allclose(law.take(np.array([-1, 0])).own, [law.crowd, law.own[0]])


def test_the_objective_is_the_mean_log_less_the_divergence():
    law = Answering.first(0.4, 1).learned(np.array([9.0]), np.array([20]))
    crowd, own = stats.beta(*law.crowd), stats.beta(*law.own[0])
    apart, _ = integrate.quad(
        lambda r: own.pdf(r) * (own.logpdf(r) - crowd.logpdf(r)), 1e-9, 1 - 1e-9
    )
    prior = stats.logistic.logpdf(law.logit)
    expected = 20 * own.expect(np.log) - apart + prior
    assert law.objective(np.array([20])) == pytest.approx(expected, abs=1e-5)


def test_learning_of_the_crowd_never_lowers_the_objective():
    reports = np.array([10, 200, 5, 0, 30])
    answered = np.array([9.0, 3.0, 4.5, 0.0, 15.0])
    law = Answering.first(0.5, 5)
    values = []
    for _ in range(30):
        law = law.learned(answered, reports)
        odds = law.logs[:, 1] - law.logs[:, 0]
        values.append(law.objective(reports) + (reports - answered) @ odds)
    assert np.diff(values).min() > -1e-9
