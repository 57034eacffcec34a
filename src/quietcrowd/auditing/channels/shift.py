"""Attacks on mechanisms that add noise to each answer, by the distribution of the noise."""

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
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd.mechanisms.channels.shift import BIT_GRID, LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.rounding import ratio_up


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
