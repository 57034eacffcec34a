"""The likelihood of randomised comparisons, its derivatives, and the search for its maximum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import quietcrowd as qc
from quietcrowd.comparisons import SIDES
from quietcrowd.inference.ranking.likelihood import Comparisons, maximise

PLAIN = np.eye(2)


def distribution(epsilon):
    """Return P(report | preference), rows and columns left and right; None stands for no noise."""
    if epsilon is None:
        return PLAIN
    return qc.RandomizedResponse(domain=SIDES, epsilon=epsilon).channel.probabilities


def drawn(epsilon, items=6, count=200, spread=2.5, seed=0, scores=None):
    """Return comparisons of random pairs, with reports drawn by the model."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, items) if scores is None else scores
    left = rng.integers(0, items, count)
    right = (left + rng.integers(1, items, count)) % items
    gaps = scores[left] - scores[right]
    prefers_right = (rng.random(count) > 1 / (1 + np.exp(-gaps))).astype(int)
    table = distribution(epsilon)
    reports = (rng.random(count) > table[prefers_right, 0]).astype(int)
    with np.errstate(divide="ignore"):
        logs = np.log(table[:, reports])
    return Comparisons(
        items=items,
        left=left,
        right=right,
        log_left=logs[0],
        log_right=logs[1],
        counts=np.ones(count),
        spread=spread,
    )


def of_two(wins, losses, table, spread):
    """Return comparisons of two items, so many reports of left and of right."""
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    return Comparisons(
        items=2,
        left=np.array([0, 0]),
        right=np.array([1, 1]),
        log_left=logs[0],
        log_right=logs[1],
        counts=np.array([wins, losses], float),
        spread=spread,
    )


@pytest.mark.parametrize("epsilon", [None, 2.0, 0.5])
def test_two_items_have_a_closed_form(epsilon):
    """The share of reports for left is q = b + (a - b) sigma(gap); it is solved for the gap."""
    (a, _), (b, _) = table = distribution(epsilon)
    share = 0.25 * a + 0.75 * b
    fit = maximise(of_two(1000 * share, 1000 * (1 - share), table, spread=1e4), 100)
    preferred = (share - b) / (a - b)
    assert fit.scores[0] - fit.scores[1] == pytest.approx(math.log(preferred / (1 - preferred)))
    slope = (a - b) * preferred * (1 - preferred)
    variance = share * (1 - share) / (1000 * slope**2)
    found = fit.covariance[0, 0] + fit.covariance[1, 1] - 2 * fit.covariance[0, 1]
    assert found == pytest.approx(variance, rel=1e-5)


def test_an_undefeated_item_has_the_score_where_prior_and_reports_balance():
    """Of n plain wins the gap d solves n (1 - sigma(d)) = d / (2 spread^2), by hand."""
    fit = maximise(of_two(7, 0, PLAIN, spread=1.5), 100)
    gap = fit.scores[0] - fit.scores[1]
    assert 7 / (1 + math.exp(gap)) == pytest.approx(gap / (2 * 1.5**2), rel=1e-8)
    assert fit.converged


def test_plain_comparisons_have_the_maximum_of_bradley_and_terry():
    model = drawn(None, spread=1e5)
    gaps = model.left[np.newaxis, :] == np.arange(6)[:, np.newaxis]
    design = gaps.astype(float) - (model.right == np.arange(6)[:, np.newaxis])
    signs = np.where(np.isfinite(model.log_left), 1.0, -1.0)

    def loss(free):
        scores = np.append(free, -free.sum())
        return np.logaddexp(0, -signs * (scores @ design)).sum()

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    found = maximise(model, 100)
    assert found.converged
    assert found.scores[:5] == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize("epsilon", [None, 3.0, 1.0, 0.3])
def test_gradient_and_information_are_the_derivatives(epsilon):
    model = drawn(epsilon)
    scores = np.random.default_rng(3).normal(0, 1, 6)
    slope = approx_fprime(scores, model.objective, 1e-6)
    assert model.gradient(scores) == pytest.approx(slope, abs=1e-3)
    bend = approx_fprime(scores, model.gradient, 1e-6)
    assert model.information(scores) == pytest.approx(-bend, abs=1e-3)


def test_seen_preferences_tell_at_least_as_much_as_reports():
    model = drawn(1.0)
    scores = np.random.default_rng(4).normal(0, 1, 6)
    more = model.information(scores, 1.0) - model.information(scores)
    assert np.linalg.eigvalsh(more).min() >= -1e-10


@pytest.mark.slow
@given(
    st.sampled_from([None, 16.0, 3.0, 1.0, 0.1]),
    st.integers(2, 8),
    st.integers(1, 60),
    st.sampled_from([0.3, 2.5, 1e3]),
    st.integers(0, 2**16),
)
def test_the_objective_never_falls_and_ends_at_a_maximum(epsilon, items, count, spread, seed):
    check_a_climb(drawn(epsilon, items, count, spread, seed, far_apart(items, seed)))


def far_apart(items, seed):
    """Return scores of items that differ much."""
    return np.random.default_rng(seed).normal(0, 3, items)


def check_a_climb(model):
    """Check that the search rises all the way, to a place where all directions lead down."""
    fit = maximise(model, 1000)
    assert (np.diff(fit.history) >= 0).all()
    assert fit.converged
    assert np.linalg.eigvalsh(model.information(fit.scores)).min() > 0
    step = fit.covariance @ model.gradient(fit.scores)
    assert (np.abs(step) <= 1e-3 * np.sqrt(np.diagonal(fit.covariance))).all()
    assert abs(fit.scores.sum()) < 1e-6 * model.items * model.spread**2


@pytest.mark.parametrize(
    ("epsilon", "items", "count", "spread", "seed"),
    [(1.0, 8, 10, 1e3, 4), (0.5, 3, 10, 1e3, 4), (0.1, 3, 10, 30.0, 0)],
)
def test_the_search_passes_saddles_and_places_where_newton_leads_down(
    monkeypatch, epsilon, items, count, spread, seed
):
    """Of the first the information is not definite on the way, the others rest at a saddle."""
    seen = []
    within = Comparisons.information

    def watched(self, scores, seen_part=0.0):
        seen.append(seen_part)
        return within(self, scores, seen_part)

    monkeypatch.setattr(Comparisons, "information", watched)
    check_a_climb(drawn(epsilon, items, count, spread, seed, far_apart(items, seed)))
    assert max(seen) > 0


def test_a_limit_of_steps_is_kept_and_told():
    fit = maximise(drawn(1.0), 1)
    assert not fit.converged
    assert len(fit.history) == 2
