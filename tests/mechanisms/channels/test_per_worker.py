"""Truncated beta distributions, next to SciPy's quantiles, and distributions of reports."""

import pickle

import numpy as np
import pytest
from scipy import stats

import quietcrowd as qc
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.per_worker import (
    STEPS,
    ReportDistribution,
    beta_high,
    beta_weights,
)
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.randomness import word_source
from quietcrowd.mechanisms.two_layer import MIDDLES

TOTAL = 2**32


@pytest.mark.parametrize(
    ("others", "low", "high", "alpha", "beta"),
    [
        (1, 0.0, 0.5, 2, 2),
        (1, 0.0, 1.0, 1, 1),
        (1, 0.24, 0.5, 16, 1),
        (2, 0.1, 0.9, 3, 7),
        (4, 0.3, 0.8, 1, 16),
    ],
)
def test_weights_are_the_quantiles_of_the_truncated_distribution(others, low, high, alpha, beta):
    bounds = [round(flip * TOTAL / others) for flip in (low, high)]
    weights = np.array(beta_weights(others, *bounds, alpha, beta))
    distribution = stats.beta(alpha, beta)
    start, end = distribution.cdf([others * bound / TOTAL for bound in bounds])
    shares = start + (end - start) * (np.arange(STEPS) + 0.5) / STEPS
    most = (STEPS + 1) * others / TOTAL  # rounded up, and the largest raised for a whole mean
    assert others * weights / TOTAL == pytest.approx(distribution.ppf(shares), abs=most)
    assert np.all(np.diff(weights) >= 0)
    assert bounds[0] < weights[0]
    assert weights[-1] <= bounds[1]
    assert weights.sum() % STEPS == 0


def test_narrow_distributions_keep_to_their_bounds():
    for low, high in ((100, 100), (100, 101), (0, 3)):
        weights = beta_weights(3, low, high, 5, 2)
        assert sum(weights) % STEPS == 0
        assert low <= min(weights)
        assert max(weights) <= high


@pytest.mark.parametrize(("alpha", "beta", "mean"), [(2, 2, 0.4), (1, 1, 0.25), (7, 3, 0.5)])
def test_the_upper_bound_for_a_mean(alpha, beta, mean):
    low = TOTAL // 20
    high = beta_high(1, low, TOTAL, mean, alpha, beta)
    assert np.mean(beta_weights(1, low, high, alpha, beta)) / TOTAL == pytest.approx(mean, abs=1e-5)


def test_a_mean_that_no_upper_bound_gives():
    assert beta_high(1, 0, TOTAL, 0.5, 2, 5) is None
    assert beta_high(1, 100, 100, 0.5, 2, 2) is None
    assert beta_high(1, TOTAL // 2, TOTAL // 2, 0.5, 2, 2) == TOTAL // 2


ABC = qc.Categorical(["a", "b", "c"])
MECHANISMS = {
    "one layer": qc.RandomizedResponse(domain=ABC, epsilon=1.0),
    "NULL": qc.RandomizedResponse(domain=ABC, epsilon=1.0, missing="category"),
    "flips": TwoLayerRandomizedResponse(domain=ABC, low=0.1, high=0.6),
    "one flip": TwoLayerRandomizedResponse(domain=ABC, low=0.3, high=0.3),
    "epsilons": TwoLayerRandomizedResponse(domain=ABC, epsilon=1.0, distribution="epsilon"),
    "two layers, NULL": TwoLayerRandomizedResponse(
        domain=ABC, epsilon=1.0, distribution="epsilon", missing="category"
    ),
}


def loss_of(distribution, answers):
    """Return the loss about one of so many answers of a worker."""
    loss = distribution.loss
    return loss if isinstance(loss, float) else loss(answers)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_a_distribution_is_one_of_probabilities_with_the_exact_loss(mechanism):
    distribution = mechanism.report_distribution
    size = mechanism.channel.answers
    assert distribution.tables.shape == (len(distribution.chances), size, size)
    np.testing.assert_allclose(distribution.tables.sum(axis=2), 1.0, rtol=1e-12)
    assert distribution.tables.min() > 0
    assert distribution.chances.sum() == pytest.approx(1.0)
    tasks = {"tasks": 7} if mechanism.every_task else {}
    assert loss_of(distribution, 7) == mechanism.guarantee(answers=7, **tasks).epsilon


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_a_distribution_goes_to_other_processes(mechanism):
    distribution = mechanism.report_distribution
    read = pickle.loads(pickle.dumps(distribution))
    np.testing.assert_array_equal(read.tables, distribution.tables)
    np.testing.assert_array_equal(read.chances, distribution.chances)
    for count in (1, 5, 90):
        assert loss_of(read, count) == loss_of(distribution, count)


@pytest.mark.parametrize("name", ["flips", "epsilons", "two layers, NULL"])
def test_the_mean_of_all_channels_is_the_channel_of_one_report(name):
    mechanism = MECHANISMS[name]
    distribution = mechanism.report_distribution
    assert len(distribution.chances) == MIDDLES
    mean = np.tensordot(distribution.chances, distribution.tables, 1)
    exact = mechanism.channel.probabilities
    # a middle stands for a ninth of a distribution that is a straight line, or nearly
    np.testing.assert_allclose(mean, exact, atol=1e-9 if name == "flips" else 2e-3)
    if name == "two layers, NULL":
        np.testing.assert_allclose(mean[-1], exact[-1], rtol=1e-12)
        assert np.ptp(distribution.tables[:, -1], axis=0).max() == 0.0


@pytest.mark.parametrize("name", ["flips", "epsilons"])
def test_a_share_of_all_draws_lies_below(name):
    distribution = MECHANISMS[name].worker_distribution
    drawn = distribution.draw(word_source(np.random.default_rng(1)), 100_000)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        assert (drawn < distribution.at(share)).mean() == pytest.approx(
            share, abs=0.01
        )  # 6 deviations
    middles = np.array([distribution.at((i + 0.5) / 1024) for i in range(1024)])
    assert middles.mean() == pytest.approx(distribution.mean, rel=1e-6)


def test_a_channel_that_is_no_table_has_no_distribution():
    assert ReportDistribution.of(None) is None
    laplace = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0, fill=None)
    assert ReportDistribution.of(laplace.channel) is None
    assert laplace.report_distribution is None


def test_a_distribution_of_one_channel_loses_its_epsilon_however_many_answers_there_are():
    channel = TableChannel.rounded([[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]])
    distribution = ReportDistribution.of(channel)
    assert distribution.tables.shape == (1, 2, 3)
    assert distribution.loss == channel.epsilon
