"""Mechanisms broken on purpose: each is caught, by what it sends or by its table."""

import math
from decimal import Decimal

import numpy as np
import pytest
from attrs import evolve

from quietcrowd import (
    Categorical,
    Interval,
    LaplacePerturbation,
    MatrixFactorization,
    Ordinal,
    RandomizedResponse,
    SampledVarianceGaussian,
    TwoLayerRandomizedResponse,
    audit,
)
from quietcrowd.mechanisms.channel import TOTAL, FiniteChannel
from quietcrowd.mechanisms.dense import dense_table
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.privacy.rounding import exp_of

LABELS = Categorical(["no", "yes"])
LEVELS = Ordinal(range(5))
NUMBERS = Interval(low=0, high=10)
DRAWS = 20_000


def halve_noise(monkeypatch):
    """Let every sampler of Laplace noise use half of its scale."""
    honest = DiscreteLaplace._sample_exactly
    monkeypatch.setattr(
        DiscreteLaplace,
        "_sample_exactly",
        lambda self, count: honest(DiscreteLaplace(scale=self.scale / 2), count),
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        LaplacePerturbation(domain=LEVELS, epsilon=1.0),
        LaplacePerturbation(domain=NUMBERS, epsilon=1.0, participation="released"),
        MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=1),
        MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=4),
        MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="ridge"),
    ],
    ids=lambda mechanism: f"{mechanism.name}-{getattr(mechanism, 'variant', '')}",
)
def test_half_of_the_noise_is_caught(monkeypatch, mechanism):
    halve_noise(monkeypatch)
    report = audit(mechanism, 2, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 1.2 > report.stated_epsilon
    assert report.proven_delta > 0
    assert "BROKEN" in str(report)


def test_half_of_a_drawn_deviation_is_caught():
    class Hasty(SampledVarianceGaussian):
        def _randomize(self, answers, rng):
            domain = self.report_domain
            places = self.grid.places(self.domain.numbers(answers.values))
            noise = self.channel.noise
            drawn = noise.draw(len(answers.workers), rng) / 2
            noisy = noise.sample(drawn, answers.worker_codes, rng) + places
            reports = super()._randomize(answers, np.random.default_rng(0))
            return evolve(reports, table=answers.with_values(domain, noisy.astype(domain.dtype)))

    mechanism = Hasty(domain=NUMBERS, epsilon=1.0, delta=0.1)
    report = audit(mechanism, 1, draws=5_000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 0.8 > report.stated_epsilon


@pytest.mark.parametrize("kind", [RandomizedResponse, TwoLayerRandomizedResponse])
def test_null_that_is_skipped_is_caught(kind):
    """Answers are randomised as they should be; NULL is sent as it is."""

    class Skipping(kind):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            cells = reports.table.values.reshape(len(answers.tasks), len(answers.workers)).copy()
            answered = np.zeros(cells.shape, bool)
            answered[answers.task_codes, answers.worker_codes] = True
            cells[~answered] = self.domain.size
            return evolve(reports, table=dense_table(answers, self.report_domain, cells))

    law = {} if kind is RandomizedResponse else {"law": "epsilon"}
    mechanism = Skipping(domain=LABELS, epsilon=1.0, null="category", **law)
    report = audit(mechanism, 2, draws=DRAWS)
    assert report.attack == "an answer against none"
    assert report.exact_epsilon <= report.stated_epsilon * (1 + 1e-9), "its table is in order"
    assert report.proven_epsilon > report.stated_epsilon
    assert report.verdict == "broken"


def test_fillings_without_noise_are_caught():
    class Quiet(LaplacePerturbation):
        def _with_noise(self, places, rng):
            noisy = super()._with_noise(places, rng)
            return np.where(places == self.grid.middle, places, noisy).astype(noisy.dtype)

    report = audit(Quiet(domain=NUMBERS, epsilon=1.0, fill="midpoint"), 2, draws=DRAWS)
    assert report.attack == "an answer against none"
    assert report.verdict == "broken"


class RoundedDown(RandomizedResponse):
    """Rounds the weight of other labels down: towards less noise, by less than 2^-32."""

    @property
    def other_weight(self):
        exact = TOTAL / (self.size - 1 + exp_of(Decimal(self.epsilon)))
        return int(exact.to_integral_value("ROUND_FLOOR"))

    def guarantee(self, answers=1, tasks=None):
        stated = super().guarantee(answers, tasks)
        return evolve(stated, epsilon=self.epsilon, worker_epsilon=answers * self.epsilon)


@pytest.mark.parametrize("domain", [LABELS, LEVELS])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_weights_rounded_the_wrong_way_are_caught(domain, epsilon):
    """No number of samples could tell; the table of integers does, to the last of them."""
    report = audit(RoundedDown(domain=domain, epsilon=epsilon), 3, draws=1000)
    assert epsilon < report.exact_epsilon < epsilon + 1e-6
    assert report.exact_worker_epsilon > 3 * epsilon
    assert report.verdict == "broken"
    honest = audit(RandomizedResponse(domain=domain, epsilon=epsilon), 3, draws=1000)
    assert honest.exact_epsilon <= epsilon
    assert honest.verdict == "holds"


def test_a_table_that_is_not_the_one_sampled_from_is_caught():
    class Swapped(RandomizedResponse):
        def _randomize(self, answers, rng):
            other = FiniteChannel.randomized_response(2, TOTAL // 8)
            honest = super()._randomize(answers, rng)
            words = np.random.default_rng(1)
            drawn = other.sample(
                answers.values, lambda n: words.integers(0, 2**32, n, dtype=np.uint32)
            )
            return evolve(honest, table=answers.with_values(self.report_domain, drawn))

    report = audit(Swapped(domain=LABELS, epsilon=1.0), 1, draws=DRAWS)
    assert report.exact_epsilon <= 1.0
    assert 1.5 < report.proven_epsilon <= math.log(7)
    assert report.verdict == "broken"


def test_an_informative_report_where_nothing_should_be_told_is_caught():
    class Telling(RandomizedResponse):
        def _randomize(self, answers, rng):
            reports = super()._randomize(answers, rng)
            return evolve(reports, table=answers)

    report = audit(Telling(domain=LABELS, epsilon=0.0), 1, draws=1000)
    assert report.verdict == "broken"
    assert report.proven_epsilon > 3


def test_a_guarantee_that_states_too_little_for_many_answers_is_caught():
    """As printed: the claim of Theorem 6.3 whatever the number of answers."""

    class AsPrinted(TwoLayerRandomizedResponse):
        def guarantee(self, answers=1, tasks=None):
            stated = super().guarantee(answers, tasks)
            return evolve(stated, epsilon=self.claimed_epsilon)

    mechanism = AsPrinted(domain=LABELS, low=0.0, high=2 / (1 + math.e))
    report = audit(mechanism, 26, draws=DRAWS)
    assert report.verdict == "broken"
    assert report.exact_epsilon > 3
    assert report.proven_epsilon > 1.5
