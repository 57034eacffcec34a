"""The precision of a survey before the first answer, against the estimators' exact variances."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms import MatrixFactorization, Mechanism
from quietcrowd.report_domains import sets_with
from quietcrowd.survey.means import UnbiasedNumbers
from quietcrowd.survey.precision import estimates_shares, half_width, largest_variance
from quietcrowd.survey.shares import decoder_for

Z = NormalDist().inv_cdf(0.975)
YES_NO = qc.Categorical(["no", "yes"])
FOUR = qc.Categorical(["a", "b", "c", "d"])
LEVELS = qc.Ordinal([1, 2, 3, 4, 7])
RANGE = qc.Interval(low=-2, high=10)


def made(name, domain, epsilon):
    return Mechanism.registry()[name].from_claimed_epsilon(domain=domain, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.5])
@pytest.mark.parametrize(("people", "questions", "each"), [(300, 12, 2), (1215, 10, 10)])
def test_of_yes_and_no_it_is_the_formula_of_the_documentation(epsilon, people, questions, each):
    """The formula has n reports in place of n + z², as Wilson's interval has."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon)
    reports = people * each / questions
    error = 0.5 / (math.sqrt(reports) * math.tanh(mechanism.channel.epsilon / 2))
    found = half_width(mechanism, reports)
    assert found == pytest.approx(Z * error * math.sqrt(reports / (reports + Z**2)), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("reports", [20, 200])
def test_of_yes_and_no_it_is_the_interval_that_results_show(epsilon, reports):
    """Half of the people say yes, and half of the reports do: the interval is the widest."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon)
    decoder = decoder_for(mechanism)
    counts = np.array([[yes, reports - yes] for yes in range(reports + 1)])
    low, high = decoder.intervals(counts, 0.95)
    widths = (high - low)[:, 0] / 2
    assert widths.max() == pytest.approx(half_width(mechanism, reports), rel=1e-9)
    assert widths.argmax() == reports // 2


def variances_of_shares(mechanism, shares):
    """Return the variances of the estimated shares for one report."""
    decoder = decoder_for(mechanism)
    return shares @ decoder.second_moments - shares**2


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("name", ["one-layer", "subset-selection", "optimal"])
def test_no_shares_are_harder_to_estimate(name, epsilon):
    mechanism = made(name, FOUR, epsilon)
    most = largest_variance(mechanism)
    grid = np.linspace(0, 1, 21)
    every = [(a, b, c) for a in grid for b in grid for c in grid if a + b + c <= 1 + 1e-12]
    shares = np.array([[*one, max(0.0, 1 - sum(one))] for one in every])
    found = variances_of_shares(mechanism, shares).max()
    assert found <= most * (1 + 1e-9)
    assert found > 0.995 * most


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("name", ["one-layer", "subset-selection", "optimal"])
def test_no_means_of_levels_are_harder_to_estimate(name, epsilon):
    """The variances are exact: over all reports, of each two levels that people may give."""
    mechanism = made(name, LEVELS, epsilon)
    numbers = UnbiasedNumbers.of(mechanism)
    levels = np.array(LEVELS.levels)
    rng = np.random.default_rng(1)
    squares = square_means(mechanism, numbers)
    shares = rng.dirichlet(np.full(5, 0.3), 2_000)
    ends = np.linspace(0, 1, 101)[:, np.newaxis] * (np.eye(5)[-1] - np.eye(5)[0]) + np.eye(5)[0]
    shares = np.concatenate([shares, ends])
    found = (shares @ squares - (shares @ levels) ** 2).max()
    most = largest_variance(mechanism)
    assert 0.99 * most < found <= most * (1 + 1e-9)


def square_means(mechanism, numbers):
    """Return the mean square of the number of a report, given each level, by enumeration.

    Sets of labels with the answer are equally likely, and so are those without it.
    """
    channel = mechanism.channel
    if channel.probabilities is not None:
        reports = np.arange(channel.probabilities.shape[1])
        return channel.probabilities @ numbers.numbers(reports) ** 2
    decoder, values = decoder_for(mechanism), np.arange(mechanism.report_domain.size)
    held = sets_with(values, len(LEVELS.levels), decoder.members)
    own, squares = float(decoder.chances[0, 0]), numbers.numbers(values) ** 2
    return np.array(
        [own * squares[one].mean() + (1 - own) * squares[~one].mean() for one in held.T]
    )


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("name", ["laplace", "duchi", "piecewise", "hybrid"])
def test_no_means_of_numbers_are_harder_to_estimate(name, epsilon):
    mechanism = (
        qc.LaplaceMechanism.from_claimed_epsilon(domain=RANGE, epsilon=epsilon, fill=None)
        if name == "laplace"
        else made(name, RANGE, epsilon)
    )
    channel = mechanism.channel
    answers = np.linspace(RANGE.low, RANGE.high, 25)
    if channel.shift is not None:
        noise = np.full(25, channel.shift.variance)
    else:
        steps = channel.bounded_distribution.steps
        places = np.rint(np.linspace(0, steps, 25)).astype(int)
        noise = np.array([channel.bounded_distribution.variance(int(one)) for one in places])
    share = np.linspace(0, 1, 201)[:, np.newaxis, np.newaxis]
    mean = share * answers + (1 - share) * answers[:, np.newaxis]
    squares = noise + answers**2
    found = (share * squares + (1 - share) * squares[:, np.newaxis] - mean**2).max()
    assert found == pytest.approx(largest_variance(mechanism), rel=1e-3)


def test_more_reports_are_more_precise_and_without_any_it_is_half_of_the_range():
    exact = qc.RandomizedResponse(domain=YES_NO, epsilon=16.0)
    assert half_width(exact, 0) == pytest.approx(0.5, rel=1e-5)
    widths = [half_width(exact, reports) for reports in (0, 0.5, 10, 1000)]
    assert all(more < fewer for fewer, more in pairwise(widths))
    assert half_width(exact, 100, confidence=0.8) < half_width(exact, 100)
    assert estimates_shares(exact)
    assert not estimates_shares(made("one-layer", LEVELS, 1.0))


def test_what_cannot_be_estimated_has_no_precision():
    sketch = MatrixFactorization.from_claimed_epsilon(domain=RANGE, epsilon=1.0)
    with pytest.raises(AnswerError, match="unbiased for each answer"):
        half_width(sketch, 10)
    with pytest.raises(AnswerError, match="depend on the answers"):
        half_width(qc.RandomizedResponse(domain=YES_NO, epsilon=0.0), 10)
