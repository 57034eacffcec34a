"""What is believed of a crowd before any report."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.label_reports import reports_of

import quietcrowd as qc
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels import crowd as label_state
from quietcrowd.inference.labels.crowd import (
    ACCURACIES,
    CENTRES,
    distribution_of_guesses,
    prior_crowd,
)


@pytest.mark.parametrize("labels", range(1, 7))
def test_what_is_believed_at_first_is_probabilities(labels):
    report_counts = np.arange(labels) * 50 + 10
    state = prior_crowd(reports_of(labels), report_counts, None)
    assert state.communities.sum() + state.constants.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(state.accuracies.sum(axis=2), 1.0)
    np.testing.assert_allclose(state.mistakes.sum(axis=2), 1.0)
    np.testing.assert_allclose(state.guesses.sum(), 1.0)
    np.testing.assert_allclose(np.exp(state.log_priors / integer_sums.ONE).sum(), 1.0)
    assert state.log_odds.shape == (7, labels, labels)
    assert (state.log_odds == state.votes).all()
    if labels > 1:
        assert (np.diagonal(state.mistakes, axis1=1, axis2=2) == 0).all()
    if labels == 2:  # with even guesses a community's mean accuracy is its centre
        even = prior_crowd(reports_of(2), np.array([7, 7]), None)
        means = even.accuracies @ ACCURACIES
        np.testing.assert_allclose(means, np.tile(CENTRES[:, np.newaxis], (2, 2)), atol=0.03)


def test_frequencies_that_are_known_are_taken():
    state = prior_crowd(reports_of(3), np.array([9, 9, 9]), np.array([0.7, 0.3, 0.0]))
    shares = np.exp(state.log_priors / integer_sums.ONE)
    np.testing.assert_allclose(shares, [0.7, 0.3, 0.0], atol=1e-9)


@pytest.mark.slow
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_distribution_of_guesses_is_the_most_probable(labels, seed):
    rng = np.random.default_rng(seed)
    table = 0.5 * np.eye(labels) + 0.5 * rng.dirichlet(np.ones(labels), labels)
    report_counts = rng.integers(0, 3000, labels)
    distribution = distribution_of_guesses(report_counts, table)

    def log_density(shares):
        return report_counts @ np.log(shares @ table) + 20.0 * np.log(shares).sum()

    assert distribution.sum() == pytest.approx(1.0)
    for _ in range(20):
        other = np.exp(np.log(distribution) + 0.05 * rng.normal(size=labels))
        assert log_density(other / other.sum()) < log_density(distribution) + 1e-6
    exact = np.array([0.6, 0.3, 0.1])
    table = qc.RandomizedResponse(domain=qc.Categorical(list("abc")), epsilon=1.0)
    noisy = np.rint(1e7 * exact @ table.channel.probabilities).astype(int)
    np.testing.assert_allclose(
        distribution_of_guesses(noisy, table.channel.probabilities), exact, atol=1e-3
    )


def test_constants_of_the_model_are_distributions():
    assert label_state.SHARES.sum() == pytest.approx(1.0)
    assert len(label_state.SHARES) == len(CENTRES)
