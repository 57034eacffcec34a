"""From simulated errors to what a campaign's error will be: ``docs/theory/planning.md``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.stats import t as student

from quietcrowd.planning.simulation import SimulatedError

__all__ = ["COVERAGE", "ExpectedError", "expected_errors"]

Floats = npt.NDArray[np.float64]

COVERAGE = 0.9
"""The interval is to hold the error of so many campaigns."""

LEAST_ERROR = 1e-12
"""Smaller errors of numbers are taken to be so large, in logarithms."""


@frozen(kw_only=True)
class ExpectedError:
    """What error a campaign will have.

    Attributes
    ----------
    error : float
        In the mean over campaigns: share of wrong labels, or mean absolute error.
    standard_error : float
        Of `error`, from the number of simulated crowds.
    low, high : float
        The error of nine campaigns in ten lies between them, both included.
    """

    error: float
    standard_error: float
    low: float
    high: float


def expected_errors(
    cells: Sequence[Sequence[SimulatedError]], tasks: int, *, labels: bool, uncertain: bool
) -> list[ExpectedError]:
    """Return what to expect in neighbouring cells, which differ in epsilon alone, by epsilon.

    Parameters
    ----------
    cells : sequence of sequences of SimulatedError
        For each cell the simulations, two at least, of the same crowds in each.
    tasks : int
        Of the campaign; not fewer than were simulated.
    labels : bool
        Whether errors are shares of wrong labels, or lengths.
    uncertain : bool
        Whether the crowds were of different laws: what differs by law does not grow less with more
        tasks.
    """
    variances = [_variance(cell, tasks, labels=labels, uncertain=uncertain) for cell in cells]
    smooth = [_weighted(variances, place) for place in range(len(cells))]
    return [
        _expected(cell, variance, tasks, labels=labels)
        for cell, variance in zip(cells, smooth, strict=True)
    ]


def _weighted(variances: Sequence[float], place: int) -> float:
    """Return the mean of a cell's variance and its neighbours', which count half."""
    around = [(variances[place], 2)]
    around += [(variances[at], 1) for at in (place - 1, place + 1) if 0 <= at < len(variances)]
    return sum(value * weight for value, weight in around) / sum(weight for _, weight in around)


def _transformed(errors: Floats, tasks: int, *, labels: bool) -> Floats:
    """Return errors on a scale on which their variance hardly depends on their mean.

    Of shares the arc sine of the square root, as of a binomial law (Anscombe, Biometrika 1948); of
    lengths the logarithm.
    """
    if labels:
        share: Floats = np.arcsin(np.sqrt((errors * tasks + 0.375) / (tasks + 0.75)))
        return share
    length: Floats = np.log(np.maximum(errors, LEAST_ERROR))
    return length


def _back(value: float, tasks: int, *, labels: bool) -> float:
    if not labels:
        return math.exp(value)
    share = math.sin(min(max(value, 0.0), math.pi / 2)) ** 2
    return min(max((share * (tasks + 0.75) - 0.375) / tasks, 0.0), 1.0)


def _variance(
    cell: Sequence[SimulatedError], tasks: int, *, labels: bool, uncertain: bool
) -> float:
    """Return the variance of a campaign's error on the scale of `_transformed`."""
    errors = np.array([one.error for one in cell])
    simulated = cell[0].tasks
    seen = float(np.var(_transformed(errors, simulated, labels=labels), ddof=1))
    if uncertain:
        within = float(np.mean([one.variance for one in cell]))
        of_all = float(np.var(errors, ddof=1))
        between = max(of_all - within / simulated, 0.0)
        scaled = seen * (between + within / tasks) / of_all if of_all else 0.0
    else:
        scaled = seen * simulated / tasks
    return max(scaled, 0.25 / tasks) if labels else scaled


def _expected(
    cell: Sequence[SimulatedError], variance: float, tasks: int, *, labels: bool
) -> ExpectedError:
    errors = np.array([one.error for one in cell])
    draws, simulated = len(cell), cell[0].tasks
    scaled = _transformed(errors, simulated, labels=labels)
    of_mean = float(np.var(scaled, ddof=1)) / draws
    reach = float(student.ppf((1 + COVERAGE) / 2, draws - 1)) * math.sqrt(variance + of_mean)
    middle = float(scaled.mean())
    return ExpectedError(
        error=float(errors.mean()),
        standard_error=float(errors.std(ddof=1)) / math.sqrt(draws),
        low=_back(middle - reach, tasks, labels=labels),
        high=_back(middle + reach, tasks, labels=labels),
    )
