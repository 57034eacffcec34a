"""From simulated errors to what a campaign's error will be: ``docs/theory/planning.md``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.special import stdtrit

from quietcrowd.planning.simulation import SimulatedError
from quietcrowd.planning.smoothing import SmoothedCell

__all__ = ["COVERAGE", "ExpectedError", "expected_errors", "on_scale", "transformed"]

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
    cells: Sequence[Sequence[SimulatedError]],
    tasks: int,
    *,
    labels: bool,
    uncertain: bool,
    smoothed: Sequence[SmoothedCell] | None = None,
    widening: float = 1.0,
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
    smoothed : sequence of SmoothedCell, optional
        The same errors on their scale (`on_scale`), smoothed by theory. They tell where the mean
        lies; how far campaigns differ is told by the simulations themselves.
    widening : float
        By which factor intervals are wider, on their scale, than what the simulations say.
    """
    if smoothed is None:
        smoothed = [SmoothedCell(draws=on_scale(cell, labels=labels)) for cell in cells]
    variances = [_variance(cell, tasks, labels=labels, uncertain=uncertain) for cell in cells]
    return [
        _expected(cell, mean, _weighted(variances, place), tasks, labels=labels, widening=widening)
        for place, (cell, mean) in enumerate(zip(cells, smoothed, strict=True))
    ]


def on_scale(cell: Sequence[SimulatedError], *, labels: bool) -> Floats:
    """Return a cell's errors on the scale of the interval, shape (draws,)."""
    errors = np.array([one.error for one in cell])
    return transformed(errors, cell[0].tasks, labels=labels)


def _weighted(variances: Sequence[float], place: int) -> float:
    """Return the mean of a cell's variance and its neighbours', which count half."""
    around = [(variances[place], 2)]
    around += [(variances[at], 1) for at in (place - 1, place + 1) if 0 <= at < len(variances)]
    return sum(value * weight for value, weight in around) / sum(weight for _, weight in around)


def transformed(errors: Floats, tasks: int, *, labels: bool) -> Floats:
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
    """Return the variance of a campaign's error on the scale of `transformed`."""
    errors = np.array([one.error for one in cell])
    simulated = cell[0].tasks
    seen = float(np.var(on_scale(cell, labels=labels), ddof=1))
    if uncertain:
        within = float(np.mean([one.variance for one in cell]))
        of_all = float(np.var(errors, ddof=1))
        between = max(of_all - within / simulated, 0.0)
        scaled = seen * (between + within / tasks) / of_all if of_all else 0.0
    else:
        scaled = seen * simulated / tasks
    return max(scaled, 0.25 / tasks) if labels else scaled


def _expected(
    cell: Sequence[SimulatedError],
    smoothed: SmoothedCell,
    variance: float,
    tasks: int,
    *,
    labels: bool,
    widening: float,
) -> ExpectedError:
    raw = on_scale(cell, labels=labels)
    of_mean = float(np.var(smoothed.draws, ddof=1)) / len(cell) + smoothed.misfit
    quantile = float(stdtrit(len(cell) - 1, (1 + COVERAGE) / 2))
    reach = widening * quantile * math.sqrt(variance + of_mean)
    middle = float(smoothed.draws.mean())
    error, standard_error = _mean_error(
        cell, middle - float(raw.mean()), math.sqrt(of_mean), labels=labels
    )
    return ExpectedError(
        error=error,
        standard_error=standard_error,
        low=_back(middle - reach, tasks, labels=labels),
        high=_back(middle + reach, tasks, labels=labels),
    )


def _mean_error(
    cell: Sequence[SimulatedError], moved: float, deviation: float, *, labels: bool
) -> tuple[float, float]:
    """Return the mean error, moved on its scale, and its standard error, which is given there."""
    mean, simulated = float(np.mean([one.error for one in cell])), cell[0].tasks
    place = float(transformed(np.array([mean]), simulated, labels=labels)[0])
    below, before, after, above = (
        _back(place + step, simulated, labels=labels)
        for step in (moved - deviation, 0.0, moved, moved + deviation)
    )
    return mean + after - before, (above - below) / 2
