"""Deltas against brute force over every row of reports and every weight that is drawn from."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betainc

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import TOTAL
from quietcrowd.privacy import shared_flip_delta
from quietcrowd.privacy.loss_distribution import LossDistribution, compose_losses
from quietcrowd.privacy.shared_flip import cell_epsilon
from quietcrowd.privacy.shared_flip_delta import two_layer_delta, two_layer_law


def by_agreements(answers, labels, low, high, total):
    """Return the probability of a row of reports by its number of agreements, exactly."""
    return [
        sum(
            Fraction(total - (labels - 1) * weight) ** agreements
            * Fraction(weight) ** (answers - agreements)
            for weight in range(low, high + 1)
        )
        / ((high - low + 1) * Fraction(total) ** answers)
        for agreements in range(answers + 1)
    ]


def enumerated_delta(likelihoods, labels, epsilon):
    """Return delta of two rows of answers that differ in one, from all rows of reports."""
    answers = len(likelihoods) - 1
    truth, other = (0,) * answers, (1,) + (0,) * (answers - 1)
    delta = 0.0
    for reports in itertools.product(range(labels), repeat=answers):
        one, two = (
            likelihoods[sum(r == a for r, a in zip(reports, row, strict=True))]
            for row in (truth, other)
        )
        delta += max(0.0, float(one) - math.exp(epsilon) * float(two))
    return delta


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("answers", [1, 2, 3, 6])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 0.538), (0.1, 0.4), (0.25, 0.25), (0.6, 0.9)])
def test_brute_force_on_a_coarse_grid(labels, answers, bounds):
    total = 2**10
    low, high = (int(bound * total) // (labels - 1) for bound in bounds)
    likelihoods = by_agreements(answers, labels, low, high, total)
    options = {"labels": labels, "low": low, "high": high, "total": total}
    for epsilon in (0.0, 0.3, 1.0, 1.7):
        exact = enumerated_delta(likelihoods, labels, epsilon)
        found = two_layer_delta(epsilon, answers, **options)
        assert exact - 1e-15 <= found <= exact + 1e-9
    assert two_layer_delta(cell_epsilon(answers, **options), answers, **options) == 0.0


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("answers", [1, 2, 4, 6])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.538), (0.1, 0.4), (0.05, 1.0), (0.3, 0.3005)])
def test_brute_force_over_all_rows_of_reports_and_the_continuous_law(labels, answers, low, high):
    first, last = (
        min(round(bound * TOTAL / (labels - 1)), TOTAL // (labels - 1)) for bound in (low, high)
    )

    def probability(agreements):
        def law(flip):
            kept = (1 - flip) ** agreements
            return kept * (flip / (labels - 1)) ** (answers - agreements) / (high - low)

        return integrate.quad(law, low, high, epsabs=0, epsrel=1e-13)[0]

    likelihoods = [probability(agreements) for agreements in range(answers + 1)]
    for epsilon in (0.0, 0.5, 1.5):
        exact = enumerated_delta(likelihoods, labels, epsilon)
        found = two_layer_delta(epsilon, answers, labels=labels, low=first, high=last)
        assert found == pytest.approx(exact, abs=2e-8)


@pytest.mark.parametrize("bounds", [(0, 2000), (300, 2048), (0, 4096), (1000, 1003)])
@pytest.mark.parametrize("answers", [1, 2, 5, 40])
@pytest.mark.parametrize("narrow", [0.0, 1.0])
def test_the_integral_is_the_sum_over_the_grid(monkeypatch, bounds, answers, narrow):
    options = {"labels": 2, "low": bounds[0], "high": bounds[1], "total": 2**12}
    exact = [two_layer_delta(epsilon, answers, **options) for epsilon in (0.0, 0.7)]
    shared_flip_delta._joint.cache_clear()
    monkeypatch.setattr(shared_flip_delta, "_FEW", 1)
    monkeypatch.setattr(shared_flip_delta, "_NARROW", narrow)
    found = [two_layer_delta(epsilon, answers, **options) for epsilon in (0.0, 0.7)]
    shared_flip_delta._joint.cache_clear()
    error = 4 * (answers / 2**12) ** 2 / 6 + 1e-9
    for one, other in zip(exact, found, strict=True):
        assert one - 1e-12 <= other <= one + error


def test_half_of_the_claim_is_missed():
    """A claimed 0 holds but for nearly one half, a claimed 1 but for nearly one quarter."""
    found = {}
    for claimed in (1.0, 0.0):
        high = round(TOTAL * 2 / (1 + math.exp(claimed)))
        found[claimed] = [
            round(two_layer_delta(claimed, n, labels=2, low=0, high=high), 3)
            for n in (2, 5, 26, 277)
        ]
    assert found == {1.0: [0.09, 0.151, 0.225, 0.248], 0.0: [0.333, 0.4, 0.481, 0.498]}


@pytest.mark.parametrize("answers", [1, 5, 277])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_law_of_the_loss_gives_the_same_deltas(answers, labels):
    options = {"labels": labels, "low": 10**7, "high": 10**9}
    law = two_layer_law(answers, **options)
    losses = LossDistribution.of_law(law, law.epsilon / 4096)
    for epsilon in (0.0, 0.5, 2.0, 0.99 * law.epsilon):
        delta = two_layer_delta(epsilon, answers, **options)
        assert delta - 1e-8 <= losses.delta(epsilon) <= delta + 1e-5
    assert compose_losses([(law, 2)], 0.0) == 2 * cell_epsilon(answers, **options)


@pytest.mark.parametrize("answers", [2134, 100_000])
def test_many_answers(answers):
    high = round(TOTAL * 2 / (1 + math.e))
    deltas = [two_layer_delta(e, answers, labels=2, low=0, high=high) for e in (1.0, 3.0, 6.0)]
    assert np.all(np.diff(deltas) < 0)
    assert deltas[0] == pytest.approx(0.25, abs=1e-3)


def test_messages():
    options = {"labels": 2, "low": 0, "high": 5}
    with pytest.raises(ParameterError, match="answers must be a whole number"):
        two_layer_delta(1.0, 0, **options)
    with pytest.raises(ParameterError, match="epsilon must be a finite number, at least 0"):
        two_layer_delta(-1.0, 1, **options)


def test_nothing_is_left_out_where_agreements_are_certain_or_impossible():
    answers, low, high = 20_000, 2**29, 2**31
    kept, start, end = np.arange(answers), (low + 0.5) / TOTAL, (high - 0.5) / TOTAL
    width = answers * (answers + 1) * (end - start)
    beta = betainc(answers - kept, kept + 2, [[start], [end]])
    agrees = (kept + 1) / width * (beta[1] - beta[0])
    beta = betainc(answers - kept + 1, kept + 1, [[start], [end]])
    differs = (answers - kept) / width * (beta[1] - beta[0])
    for epsilon in (0.0, 0.5, 1.0, 1.5):
        one = np.maximum(agrees - math.exp(epsilon) * differs, 0).sum()
        other = np.maximum(differs - math.exp(epsilon) * agrees, 0).sum()
        found = two_layer_delta(epsilon, answers, labels=2, low=low, high=high)
        assert found == pytest.approx(one + other, abs=1e-9)


def test_a_million_answers_are_reckoned_in_a_moment():
    start = time.process_time()
    law = two_layer_law(10**6, labels=2, low=0, high=2_310_189_219)
    assert time.process_time() - start < 2
    assert law.masses.sum() == pytest.approx(1)
