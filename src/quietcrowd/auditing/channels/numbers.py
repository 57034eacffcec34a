"""Attacks on mechanisms for numbers, with additive noise or bounded reports."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.auditing.attack import (
    NULL,
    VALUE,
    AuditPlan,
    Floats,
    Observed,
    Pair,
    ends,
    places,
    plain_numbers,
    taskwise_attacks,
    taskwise_plan,
)
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd.mechanisms.channels.shift import BIT_GRID, LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.rounding import log_ratio_up, ratio_up


def laplace_peak(scale: float) -> float:
    """Return the largest probability of discrete Laplace noise, a bound on equal draws."""
    return math.tanh(0.5 / scale)


def _log_laplace(numbers: npt.NDArray[Any], around: Sequence[int], scale: float) -> Floats:
    """Return log densities, up to a constant, of Laplace noise around a random one of `around`."""
    away = np.abs(numbers[:, np.newaxis] - np.asarray(around, np.float64)) / -scale
    top = away.max(axis=1)
    mean: Floats = top + np.log(np.exp(away - top[:, np.newaxis]).mean(axis=1))
    return mean


def plan_shift(mechanism: Mechanism, shift: Shift, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism that adds noise of any distribution to each answer."""
    low, high = ends(mechanism)
    bottom, top = places(mechanism, shift.grid, [low, high]).tolist()
    fillings = mechanism.filling_places
    around = [shift.grid.middle] if fillings is None else fillings.tolist()

    def log_distribution(observed: Observed, around: Sequence[int]) -> Floats:
        sent = observed.cells[:, :1].astype(np.int64)
        masses = np.exp(shift.noise.log_mass(sent - np.asarray(around, np.int64)))
        found: Floats = np.log(np.maximum(masses.mean(axis=1), np.finfo(np.float64).tiny))
        return found

    def score(others: Sequence[int], observed: Observed) -> Floats:
        return log_distribution(observed, [top]) - log_distribution(observed, others)

    pairs = [Pair(name=VALUE, one=high, other=low, score=partial(score, [bottom]))]
    if mechanism.every_task:
        pairs.append(Pair(name=NULL, one=high, other=None, score=partial(score, around)))
    attacks = taskwise_attacks(pairs, answers, partial(plain_numbers, mechanism, shift.grid))
    return AuditPlan(exact=None, attacks=attacks)


def plan_laplace(channel: LaplaceChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the audit plan of Laplace noise on each answer."""
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
    plain, alike = partial(plain_numbers, mechanism, grid), laplace_peak(noise.scale)
    return taskwise_plan(pairs, answers, plain, epsilon=epsilon, alike=alike)


def _fillings(mechanism: Mechanism, channel: LaplaceChannel) -> list[int]:
    """Return the equally likely places of a missing answer, at most 1,025."""
    grid, domain = channel.grid, mechanism.domain
    if channel.fill is None or channel.fill == "midpoint":
        return [grid.middle]
    if channel.fill != "uniform":
        return [grid.place(float(channel.fill))]
    if isinstance(domain, FiniteDomain):
        return [int(place) for place in places(mechanism, grid, range(domain.size))]
    return [*range(0, grid.steps + 1, max(1, grid.steps // 1024))]


def plan_bounded(
    mechanism: Mechanism, distribution: BoundedDistribution, answers: int
) -> AuditPlan:
    """Return the audit plan of a mechanism with a bounded distribution of reports.

    The exact loss is that of all pairs of answers. With two outcomes the delta is that of the two
    farthest answers; with a window the worst pair is not known.
    """
    low, high = ends(mechanism)
    bottom, top = places(mechanism, distribution.grid, [low, high]).tolist()
    epsilon = _largest_loss(distribution, bottom, top)

    def score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        missing = np.isnan(sent)
        reports = np.where(missing, 0, sent).astype(np.int64)
        one, other = (
            np.maximum(distribution.weights(reports, place), 0.5) for place in (top, bottom)
        )
        return np.where(missing, np.nan, np.log(one) - np.log(other))

    pair = Pair(name=VALUE, one=high, other=low, score=score)
    every = distribution.weights(np.arange(distribution.reports), top) / TOTAL
    return taskwise_plan(
        [pair],
        answers,
        partial(plain_numbers, mechanism, distribution.grid),
        epsilon=epsilon,
        delta_at=None if distribution.lift else partial(_bounded_delta, distribution, bottom, top),
        alike=float(np.sum(every**2)),
    )


def _largest_loss(distribution: BoundedDistribution, bottom: int, top: int) -> float:
    """Return ln of the largest ratio of two weights of a report, over the answers in between.

    The weight of a report is linear in the answer except at the ends of its window. So the largest
    and the least are at the domain's ends, or on either side of a window's.
    """
    reports = np.arange(distribution.reports)
    found = np.stack(
        [
            distribution.weights(reports, np.clip(answers, bottom, top))
            for first in (reports, reports - distribution.window)
            for answers in (first, first + 1, bottom, top)
        ]
    )
    high, low = found.max(axis=0), found.min(axis=0)
    pairs = {(int(h), int(s)) for h, s in zip(high, low, strict=True)}
    return log_ratio_up(max(Fraction(h, s) for h, s in pairs))


def _bounded_delta(
    distribution: BoundedDistribution, bottom: int, top: int, epsilon: float
) -> float:
    reports, factor = np.arange(distribution.reports), np.exp(epsilon)
    one, other = (distribution.weights(reports, place) / TOTAL for place in (top, bottom))
    return float(
        max(np.maximum(a - factor * b, 0.0).sum() for a, b in ((one, other), (other, one)))
    )
