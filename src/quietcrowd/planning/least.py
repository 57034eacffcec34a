"""Least epsilon, or fewest workers, for a target error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.planning.crossing import Curve, LeastNumber, crossing
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.planning.equal_loss import Maker, Per, mechanism_within
from quietcrowd.planning.planner import simulate_size
from quietcrowd.planning.theory import theory_error
from quietcrowd.validation import check_real, check_whole

__all__ = ["LEAST_EPSILON", "MOST_EPSILON", "MOST_WORKERS", "least_epsilon", "least_workers"]

Floats = npt.NDArray[np.float64]

LEAST_EPSILON, MOST_EPSILON = 1 / 32, 32.0

MOST_WORKERS = 2**17

DRAWS = 800
"""Most simulated crowds at each point; flat curves need many."""


def least_epsilon(
    target: float,
    assumption: CrowdAssumption,
    maker: Maker,
    size: CrowdSize,
    *,
    per: Per = "answer",
    draws: int = DRAWS,
    seed: int = 0,
) -> LeastNumber:
    """Return the least epsilon, from 1/32 to 32, with an expected error of at most `target`.

    More crowds are simulated, up to `draws` at each point, until its standard error is below 3 %.
    The expected error, not the interval, includes the uncertainty of a pilot.

    Raises
    ------
    ParameterError
        If no epsilon up to 32 reaches the target, or 1/32 does.
    """

    def errors(epsilon: float, crowds: int, first: int) -> Floats:
        mechanism = mechanism_within(maker, assumption.domain, epsilon, size, per)
        return _errors(assumption, mechanism, size, range(first, first + crowds), seed)

    def theory(epsilon: float) -> float | None:
        mechanism = mechanism_within(maker, assumption.domain, epsilon, size, per)
        return theory_error(assumption, size, mechanism)

    _check(target, draws, seed)
    curve = Curve(
        errors=errors, theory=theory, low=LEAST_EPSILON, high=MOST_EPSILON, what="epsilon"
    )
    return crossing(curve, target, 1.0, draws)


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
) -> LeastNumber:
    """Return the fewest workers with an expected error of at most `target`; see `least_epsilon`.

    Raises
    ------
    ParameterError
        If no number of workers up to 131,072 reaches the target, or two do.
    """

    def sized(workers: float) -> CrowdSize:
        return CrowdSize(tasks=tasks, workers=round(workers), answers=answers)

    def errors(workers: float, crowds: int, first: int) -> Floats:
        size = sized(workers)
        mechanism = mechanism_within(maker, assumption.domain, epsilon, size, per)
        return _errors(assumption, mechanism, size, range(first, first + crowds), seed)

    def theory(workers: float) -> float | None:
        size = sized(workers)
        mechanism = mechanism_within(maker, assumption.domain, epsilon, size, per)
        return theory_error(assumption, size, mechanism)

    _check(target, draws, seed)
    start = min(max(4.0, 8.0 * tasks / answers), MOST_WORKERS / 2)
    curve = Curve(
        errors=errors,
        theory=theory,
        low=2.0,
        high=MOST_WORKERS,
        what="number of workers",
        whole=True,
    )
    return crossing(curve, target, start, draws)


def _check(target: Any, draws: Any, seed: Any) -> None:
    check_real("target", target, 0)
    if not target:
        raise ParameterError("target must be above 0: no campaign is without any error")
    check_whole("draws", draws, 3)
    check_whole("seed", seed, 0)


def _errors(
    assumption: CrowdAssumption,
    mechanism: Any,
    size: CrowdSize,
    crowds: range,
    seed: int,
) -> Floats:
    found = simulate_size(assumption, size, [mechanism], crowds, seed, plain=False)
    return np.array([one.error for one in found[0]])
