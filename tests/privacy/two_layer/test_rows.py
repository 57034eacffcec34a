"""Distributions of the loss of whole rows, against all rows of answers and all rows of reports."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from quietcrowd import Categorical, PrivacyLedger, RandomizedResponse
from quietcrowd.accounting.calibration import two_layer_bounds
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.privacy.loss_grid import LossGrid, compose_losses
from quietcrowd.privacy.two_layer.flips import row_chances
from quietcrowd.privacy.two_layer.rows import own_row_distributions, row_distribution

TOTAL = 256


def exact_pairs(labels, answers, low, high):
    """Return the probabilities of all reports under two rows that differ in d places, by d."""
    weights = range(low, high + 1)

    def chance(agree):
        terms = (
            Fraction(TOTAL - (labels - 1) * w) ** agree * Fraction(w) ** (answers - agree)
            for w in weights
        )
        return sum(terms) / len(weights) / Fraction(TOTAL) ** answers

    chances = [chance(agree) for agree in range(answers + 1)]
    reports = list(itertools.product(range(labels), repeat=answers))
    for differing in range(1, answers + 1):
        other = [1] * differing + [0] * (answers - differing)
        yield [
            (
                chances[sum(r == 0 for r in row)],
                chances[sum(r == a for r, a in zip(row, other, strict=True))],
            )
            for row in reports
        ]


def exact_delta(pair, epsilon):
    factor = Fraction(math.exp(epsilon))
    return float(sum(max(Fraction(0), one - factor * two) for one, two in pair))


CASES = [(2, 5, 10, 100), (2, 6, 0, 140), (3, 4, 10, 100), (4, 3, 5, 5), (3, 4, 0, 128)]


@pytest.mark.parametrize(("labels", "answers", "low", "high"), CASES)
def test_the_distributions_of_all_rows_are_those_of_all_reports(labels, answers, low, high):
    chances = row_chances(answers, labels=labels, low=low, high=high, total=TOTAL)
    pairs = list(exact_pairs(labels, answers, low, high))
    distributions = list(own_row_distributions(chances))
    assert len(distributions) == len(pairs) == answers
    for distribution, pair in zip(distributions, pairs, strict=True):
        assert distribution.masses.sum() == pytest.approx(1)
        for epsilon in (0.0, 0.4, 1.0, 2.5):
            delta = np.sum(
                distribution.masses * np.maximum(0, -np.expm1(epsilon - distribution.losses))
            )
            assert float(delta) == pytest.approx(exact_delta(pair, epsilon), abs=1e-9)
            tail = sum(one for one, two in pair if one > two * Fraction(math.exp(epsilon + 1e-9)))
            assert distribution.masses[distribution.losses > epsilon].sum() >= float(tail) - 1e-15


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "answers", "low", "high"), CASES)
def test_one_distribution_covers_all_rows_and_the_worst_closely(labels, answers, low, high):
    chances = row_chances(answers, labels=labels, low=low, high=high, total=TOTAL)
    distribution = row_distribution(chances)
    pairs = list(exact_pairs(labels, answers, low, high))
    places = np.linspace(-1.1 * chances.epsilon, 1.1 * chances.epsilon, 60)
    for epsilon in places:
        worst = max(exact_delta(pair, float(epsilon)) for pair in pairs)
        losses = distribution.losses > epsilon
        delta = np.sum(
            distribution.masses[losses] * -np.expm1(epsilon - distribution.losses[losses])
        )
        assert worst <= float(delta) <= worst + 1e-3
    assert distribution.pure_epsilon == chances.epsilon
    on_grid = LossGrid.of_distribution(distribution, chances.epsilon / 500)
    assert on_grid.delta(0.5) >= max(exact_delta(pair, 0.5) for pair in pairs)


@pytest.mark.parametrize("labels", [2, 3])
def test_without_a_second_layer_it_is_randomised_response(labels):
    domain = Categorical(range(labels))
    weight = RandomizedResponse(domain=domain, epsilon=1.0).channel.weights[0, 1]
    flip = (labels - 1) * int(weight) / 2**32
    single = TwoLayerRandomizedResponse(domain=domain, low=flip, high=flip)
    one = PrivacyLedger().charge("a", RandomizedResponse(domain=domain, epsilon=1.0), answers=40)
    two = PrivacyLedger().charge("a", single, answers=40)
    for delta in (1e-6, 1e-2):
        exact = one.spent("a", delta).total_epsilon
        assert exact <= two.spent("a", delta).total_epsilon + 1e-9 <= exact + 0.02


@pytest.mark.nightly
@pytest.mark.slow
def test_rows_that_differ_in_half_of_their_places_are_worse_than_opposite_ones():
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=Categorical([0, 1]), epsilon=1.0
    )
    chances = mechanism.worker_distribution.row_chances(277)
    own = [
        compose_losses([(distribution, 1)], 1e-6) for distribution in own_row_distributions(chances)
    ]
    assert round(own[-1], 1) == 172.5
    assert round(max(own), 1) == 189.1
    assert own.index(max(own)) == 140
    stated = mechanism.guarantee(answers=277).total_epsilon
    spent = PrivacyLedger().charge("a", mechanism, answers=277).spent("a", delta=1e-6)
    assert max(own) <= spent.total_epsilon <= stated


@pytest.mark.nightly
@pytest.mark.slow
def test_a_mechanism_made_for_so_many_answers_loses_far_less_at_a_delta():
    low, high = two_layer_bounds(1.0, 277, labels=2)
    domain = Categorical([0, 1])
    flips = TwoLayerRandomizedResponse(domain=domain, low=low, high=high)
    epsilons = TwoLayerRandomizedResponse(domain=domain, distribution="epsilon", epsilon=0.3)
    for mechanism, stated, composed in ((flips, 106.7, 60), (epsilons, 71.2, 32)):
        ledger = PrivacyLedger().charge("a", mechanism, answers=277)
        assert ledger.spent("a").total_epsilon == pytest.approx(stated, abs=0.1)
        assert ledger.spent("a", delta=1e-6).total_epsilon < composed


def test_where_it_takes_too_long_a_coin_stands_for_all_rows():
    domain = Categorical([0, 1])
    mechanism = TwoLayerRandomizedResponse(domain=domain, low=0.1, high=0.4)
    for answers in (900, 1001):
        distribution = mechanism.loss(answers=answers).each
        assert len(distribution.losses) == 2
    with_null = TwoLayerRandomizedResponse(
        domain=domain, distribution="epsilon", epsilon=1.0, missing="category"
    )
    assert len(with_null.loss(tasks=5).each.losses) == 2
    assert with_null.worker_distribution.row_chances(5) is None
    assert row_chances(1000, labels=2, low=0, high=2**18) is None
    assert row_chances(9, labels=2, low=0, high=0) is None
    uninformative = TwoLayerRandomizedResponse(domain=domain, low=0.5, high=0.5)
    assert PrivacyLedger().charge("a", uninformative, answers=9).spent(
        "a", delta=1e-6
    ).total_epsilon == pytest.approx(0, abs=1e-6)
