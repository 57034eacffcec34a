"""The inverse of a plan: the least epsilon, or the fewest workers, for an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.planning.equal_loss import Maker, Per, mechanism_within
from quietcrowd.planning.planner import simulate_size
from quietcrowd.validation import check_real, check_whole

__all__ = ["LEAST_EPSILON", "MOST_EPSILON", "MOST_WORKERS", "least_epsilon", "least_workers"]

LEAST_EPSILON, MOST_EPSILON = 1 / 32, 32.0
"""Between these an epsilon is looked for."""

MOST_WORKERS = 2**17
DRAWS = 24
"""Crowds to simulate at each point: more than for a table, as the error is to be known well."""

POINTS = 5
"""So many points of the last bracket are simulated, and a curve is laid through them."""


def least_epsilon(
    target: float,
    assumption: CrowdAssumption,
    maker: Maker,
    size: CrowdSize,
    *,
    per: Per = "answer",
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """Return the least epsilon at which the expected error is at most `target`.

    Parameters
    ----------
    target : float
        An error rate, or a mean absolute error, above 0.
    assumption : CrowdAssumption
        Of the crowd.
    maker : callable
        Of the mechanism, from ``domain=`` and ``epsilon=``.
    size : CrowdSize
        Of the campaign.
    per : {"answer", "worker"}
        What epsilon is about.
    draws, seed : int
        As those of `plan`; at least 3 draws.

    Raises
    ------
    ParameterError
        Where no epsilon up to 32 reaches it, or one of 1/32 does.
    """

    def error(epsilon: float) -> float:
        return _error(assumption, maker, epsilon, size, per, draws, seed)

    _check(target, draws, seed)
    return _solved(error, target, 1.0, LEAST_EPSILON, MOST_EPSILON, "epsilon")


def least_workers(
    target: float,
    assumption: CrowdAssumption,
    maker: Maker,
    epsilon: float,
    *,
    tasks: int,
    answers: int,
    per: Per = "answer",
    draws: int = DRAWS,
    seed: int = 0,
) -> int:
    """Return the fewest workers with which the expected error is at most `target`.

    Parameters
    ----------
    target, assumption, maker, per, draws, seed
        As those of `least_epsilon`.
    epsilon : float
        What is lost.
    tasks, answers : int
        How many tasks, and answers of each worker.

    Raises
    ------
    ParameterError
        Where no number of workers up to 131,072 reaches it, or two do.
    """

    def error(workers: float) -> float:
        size = CrowdSize(tasks=tasks, workers=round(workers), answers=answers)
        return _error(assumption, maker, epsilon, size, per, draws, seed)

    _check(target, draws, seed)
    start = min(max(4.0, 8.0 * tasks / answers), MOST_WORKERS / 2)
    return math.ceil(_solved(error, target, start, 2.0, MOST_WORKERS, "number of workers"))


def _check(target: Any, draws: Any, seed: Any) -> None:
    check_real("target", target, 0)
    if not target:
        raise ParameterError("target must be above 0: no campaign is without any error")
    check_whole("draws", draws, 3)
    check_whole("seed", seed, 0)


def _error(
    assumption: CrowdAssumption,
    maker: Maker,
    epsilon: float,
    size: CrowdSize,
    per: Per,
    draws: int,
    seed: int,
) -> float:
    """Return the mean error of simulated crowds of one size at one epsilon."""
    domain: Domain = assumption.domain
    mechanism = mechanism_within(maker, domain, epsilon, size, per)
    found = simulate_size(assumption, size, [mechanism], draws, seed, plain=False)
    return float(np.mean([one.error for one in found[0]]))


def _solved(
    error: Callable[[float], float], target: float, start: float, low: float, high: float, what: str
) -> float:
    """Return where a falling error comes to its target.

    A bracket of a factor of 2 is looked for; in it a parabola is laid through the logarithms of
    errors at even logarithms, so that no single simulation decides.
    """
    place, found = start, error(start)
    below = found <= target
    while below == (found <= target):
        other = place / 2 if below else place * 2
        if not low <= other <= high:
            side = f"{what} {place:g} reaches" if below else f"no {what} up to {place:g} has"
            raise ParameterError(f"{side} an error of {target:g}: expected is {found:.3g}")
        place, found = other, error(other)
    bottom = place if below else place / 2
    points = bottom * 2 ** np.linspace(0, 1, POINTS)
    errors = np.log(np.maximum([error(float(point)) for point in points], 1e-9))
    curve = np.polynomial.Polynomial.fit(np.log(points), errors, 2)
    fine = math.log(bottom) + math.log(2) * np.linspace(0, 1, 400)
    reached = np.flatnonzero(curve(fine) <= math.log(target))
    return float(np.exp(fine[reached[0]])) if len(reached) else float(points[-1])
