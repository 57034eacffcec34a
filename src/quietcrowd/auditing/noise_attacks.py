"""How mechanisms are attacked that add noise to each answer: by the law of the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.auditing.attack import Attack, AuditPlan, Collisions, ExactLoss, Observed
from quietcrowd.auditing.attack_rows import (
    ALL,
    NULL,
    PART,
    VALUE,
    Floats,
    Pair,
    alone,
    ends,
    places,
    plain_numbers,
    searched,
    taskwise_attacks,
)
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms.channel import Shift
from quietcrowd.mechanisms.laplace import BIT_GRID, LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.sampled_variance import SampledVarianceChannel
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism
from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.privacy.rounding import ratio_up

__all__ = ["laplace_peak", "plan_drawn_variance", "plan_laplace", "plan_shift"]

VARIANCES = 240
"""Variances that a mixture of Gaussian laws is summed over."""

KNOWN = "one answer against another, the variance known"

ONE_REPORT = 15
"""Draws of noise that a worker with one report takes as long as."""

SMALL = 8.0
"""Two variances that sum to more, in squared steps, let two reports be equal rarely."""


def laplace_peak(scale: float) -> float:
    """Return the largest probability of discrete Laplace noise: two draws agree no more often."""
    return math.tanh(0.5 / scale)


def _log_laplace(numbers: npt.NDArray[Any], around: Sequence[int], scale: float) -> Floats:
    """Return ln of the law of numbers, up to a constant: Laplace noise around one of `around`."""
    away = np.abs(numbers[:, np.newaxis] - np.asarray(around, np.float64)) / -scale
    top = away.max(axis=1)
    mean: Floats = top + np.log(np.exp(away - top[:, np.newaxis]).mean(axis=1))
    return mean


def plan_shift(mechanism: Mechanism, shift: Shift, answers: int) -> AuditPlan:
    """Return how noise of any law is to be audited that is added to each answer."""
    low, high = ends(mechanism)
    bottom, top = places(mechanism, shift.grid, [low, high]).tolist()
    fillings = mechanism.filling_places
    around = [shift.grid.middle] if fillings is None else fillings.tolist()

    def log_law(observed: Observed, around: Sequence[int]) -> Floats:
        sent = observed.cells[:, :1].astype(np.int64)
        masses = np.exp(shift.noise.log_mass(sent - np.asarray(around, np.int64)))
        found: Floats = np.log(np.maximum(masses.mean(axis=1), np.finfo(np.float64).tiny))
        return found

    def score(others: Sequence[int], observed: Observed) -> Floats:
        return log_law(observed, [top]) - log_law(observed, others)

    pairs = [Pair(name=VALUE, one=high, other=low, score=partial(score, [bottom]))]
    if mechanism.every_task:
        pairs.append(Pair(name=NULL, one=high, other=None, score=partial(score, around)))
    attacks = taskwise_attacks(pairs, answers, partial(plain_numbers, mechanism, shift.grid))
    return AuditPlan(exact=None, attacks=attacks)


def plan_laplace(mechanism: Mechanism, channel: LaplaceChannel, answers: int) -> AuditPlan:
    """Return how Laplace noise on each answer is to be audited."""
    grid, noise, bit_noise = channel.grid, channel.noise, channel.participation_noise
    low, high = ends(mechanism)
    bottom, top = places(mechanism, grid, [low, high]).tolist()
    losses = [Fraction(top - bottom) / Fraction(noise.scale)]
    if bit_noise is not None:
        moved = max(grid.middle - bottom, top - grid.middle)
        bit = Fraction(BIT_GRID.steps) / Fraction(bit_noise.scale)
        losses.append(Fraction(moved) / Fraction(noise.scale) + bit)
    epsilon = ratio_up(max(losses))
    fillings = _fillings(mechanism, channel)

    def value_score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        return _log_laplace(sent, [top], noise.scale) - _log_laplace(sent, [bottom], noise.scale)

    def null_score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        gain = _log_laplace(sent, [top], noise.scale) - _log_laplace(sent, fillings, noise.scale)
        if bit_noise is not None and observed.bits is not None:
            bits = observed.bits[:, 0]
            gain += _log_laplace(bits, [BIT_GRID.steps], bit_noise.scale)
            gain -= _log_laplace(bits, [0], bit_noise.scale)
        return gain

    pairs = [Pair(name=VALUE, one=high, other=low, score=value_score)]
    if mechanism.every_task:
        pairs.append(Pair(name=NULL, one=high, other=None, score=null_score))
    peak = laplace_peak(noise.scale)
    return AuditPlan(
        exact=ExactLoss(epsilon=epsilon, worker_epsilon=add_losses(epsilon, answers)),
        attacks=taskwise_attacks(pairs, answers, partial(plain_numbers, mechanism, grid)),
        collisions=Collisions(answer=high, chance=lambda tasks: peak**tasks),
    )


def _fillings(mechanism: Mechanism, channel: LaplaceChannel) -> list[int]:
    """Return the places that stand for a missing answer, equally likely; at most 1,025 of them."""
    grid, domain = channel.grid, mechanism.domain
    if channel.fill is None or channel.fill == "midpoint":
        return [grid.middle]
    if channel.fill != "uniform":
        return [grid.place(float(channel.fill))]
    if isinstance(domain, FiniteDomain):
        return [int(place) for place in places(mechanism, grid, range(domain.size))]
    return [*range(0, grid.steps + 1, max(1, grid.steps // 1024))]


def plan_drawn_variance(
    mechanism: Mechanism, channel: SampledVarianceChannel, answers: int
) -> AuditPlan:
    """Return how Gaussian noise of one drawn variance per worker is to be audited."""
    low, high = ends(mechanism)
    rest = [low] * (answers - 1)
    law = _DrawnVariance(mechanism, channel, answers)
    grid = channel.grid
    known = bool(mechanism.guarantee(answers=answers).delta)

    def attack(name: str, one: list[Any], other: list[Any], **more: Any) -> Attack:
        return Attack(
            name=name,
            tasks=range(answers),
            one=one,
            other=other,
            score=partial(law.score, one, other),
            plain=(plain_numbers(mechanism, grid, one), plain_numbers(mechanism, grid, other)),
            **more,
        )

    value = attack(
        VALUE, [high, *rest], [low, *rest], search=searched(answers), share=PART if known else 1.0
    )
    attacks = [value, alone(value)]
    if known:
        attacks.append(
            Attack(
                name=KNOWN,
                tasks=[0],
                one=[high],
                other=[low],
                score=law.known,
                send=law.send,
                noise=ONE_REPORT,
            )
        )
    if answers > 1:
        attacks.append(attack(ALL, [high] * answers, [low] * answers, share=PART, whole=True))
    rate = channel.law.rate
    return AuditPlan(
        exact=None,
        attacks=attacks,
        collisions=Collisions(answer=high, chance=partial(_equal_rows, rate)),
    )


def _equal_rows(rate: float, tasks: int) -> float:
    """Return a bound on the chance that two devices with drawn variances send equal rows.

    The two variances sum to s or less with a chance of at most ``(rate s)^2 / 2``. Otherwise one of
    them is at least s / 2, and no number then has a chance above ``1 / sqrt(pi s)``.
    """
    small = (rate * SMALL) ** 2 / 2
    return min(1.0, small + math.pow(math.pi * SMALL, -tasks / 2))


class _DrawnVariance:
    """The law of a row of reports with Gaussian noise of one drawn variance."""

    def __init__(self, mechanism: Mechanism, channel: SampledVarianceChannel, answers: int) -> None:
        self.mechanism, self.grid = mechanism, channel.grid
        amounts = np.geomspace(1e-9, 40.0, VARIANCES)
        self.variances = channel.law.least + amounts / channel.law.rate
        self.log_chances = np.log(amounts) - amounts - answers / 2 * np.log(self.variances)

    def score(self, one: Sequence[Any], other: Sequence[Any], observed: Observed) -> Floats:
        """Return by how much all reports of a worker speak for one row, the variance unknown."""
        of_one, of_other = (
            self._log_law(((observed.cells - places(self.mechanism, self.grid, row)) ** 2).sum(1))
            for row in (one, other)
        )
        return of_one - of_other

    def _log_law(self, squares: Floats) -> Floats:
        terms = self.log_chances - squares[:, np.newaxis] / (2 * self.variances)
        most = terms.max(axis=1)
        mixed: Floats = most + np.log(np.exp(terms - most[:, np.newaxis]).sum(axis=1))
        return mixed

    def send(self, answers: Answers, rng: np.random.Generator | None) -> tuple[Reports, Floats]:
        """Return reports, and the variances that their workers drew."""
        assert isinstance(self.mechanism, TaskwiseMechanism)
        drawn = self.mechanism.draw_workers(len(answers.workers), rng)
        assert drawn is not None
        return self.mechanism.randomize_tasks(answers, drawn, rng), drawn**2

    def known(self, observed: Observed) -> Floats:
        """Return by how much the first report speaks for the high answer, given the variance."""
        assert observed.known is not None
        low, high = places(self.mechanism, self.grid, ends(self.mechanism)).tolist()
        away = [(observed.cells[:, 0] - place) ** 2 for place in (low, high)]
        gain: Floats = (away[0] - away[1]) / (2 * observed.known)
        return gain
