"""Expected errors of campaigns from simulated ones, smoothed over the theoretical error.

Derivation: ``research/docs/theory/planning.md``.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.special import stdtrit

from quietcrowd.planning.simulation import SimulatedError

Floats = npt.NDArray[np.float64]

DEGREE = 2

LEAST_CELLS = DEGREE + 4
"""Fewer cells are not smoothed."""


@frozen(kw_only=True, eq=False)
class SmoothedCell:
    """Simulated errors of a cell on their scale, moved towards the curve of all cells.

    The standard deviation of `draws` includes what a draw has in common in all cells, and `misfit`
    is the variance due to the curve.
    """

    draws: Floats
    misfit: float = 0.0


def smooth(draws: Floats, theory: Sequence[float | None]) -> list[SmoothedCell]:
    """Move simulated errors towards a parabola over the theoretical errors, by least squares.

    `draws`, at [cell, draw], and `theory` are on the scale of the interval. With a None in
    `theory`, or fewer than six cells, nothing is moved. Cells farther from the curve than chance
    explains are moved less (``research/docs/theory/planning.md``).
    """
    cells, count = draws.shape
    known = [one for one in theory if one is not None]
    if cells < LEAST_CELLS or len(known) < cells:
        return [SmoothedCell(draws=row) for row in draws]
    hat = _hat(np.array(known))
    apart = draws - hat @ draws
    by_chance = apart.var(axis=1, ddof=1) / count
    freedom = cells - round(float(np.trace(hat)))
    missed = max(float((apart.mean(axis=1) ** 2 - by_chance).sum()) / freedom, 0.0)
    both = missed + by_chance
    kept = np.divide(missed, both, out=np.ones(cells), where=both > 0)
    moved = draws - (1 - kept)[:, np.newaxis] * apart
    return [
        SmoothedCell(draws=row, misfit=float((1 - share) ** 2 * missed))
        for row, share in zip(moved, kept, strict=True)
    ]


def _hat(theory: Floats) -> Floats:
    """Return the least-squares projection on polynomials of the theoretical errors."""
    spread = float(np.ptp(theory))
    place = (theory - theory.min()) / spread if spread else np.zeros(len(theory))
    basis = np.vander(place, DEGREE + 1)
    hat: Floats = basis @ np.linalg.pinv(basis)
    return hat


COVERAGE = 0.9
"""Fraction of campaigns with an error in the interval."""

LEAST_ERROR = 1e-12
"""Smaller errors of numbers are raised to this before logarithms."""


@frozen(kw_only=True)
class ExpectedError:
    """Expected error of a campaign, with its standard error due to the number of crowds.

    Nine in ten campaigns have an error in [`low`, `high`].
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
    """Return expected errors of neighboring cells, which differ only in epsilon, in its order.

    Each cell contains at least two simulations, of the same crowds in all cells. The campaign has
    `tasks` tasks, at least as many as simulated. With `uncertain`, the crowds had different
    distributions, and more tasks do not reduce that variance. `smoothed` determine only the mean,
    and `widening` multiplies the widths of intervals, both on their scale (`on_scale`).
    """
    if smoothed is None:
        smoothed = [SmoothedCell(draws=on_scale(cell, labels=labels)) for cell in cells]
    variances = [_variance(cell, tasks, labels=labels, uncertain=uncertain) for cell in cells]
    return [
        _expected(cell, mean, _weighted(variances, place), tasks, labels=labels, widening=widening)
        for place, (cell, mean) in enumerate(zip(cells, smoothed, strict=True))
    ]


def high_of_many(
    cell: Sequence[SimulatedError], tasks: int, *, labels: bool, widening: float = 1.0
) -> float:
    """Return the end of the interval if there were `tasks` such tasks, more than were simulated.

    All simulated tasks count alike, as a crowd's error of few tasks is nearly discrete.
    """
    errors = np.array([one.error for one in cell])
    mean, simulated = float(errors.mean()), sum(one.tasks for one in cell)
    if labels:
        own, slope = 0.25, 4 * mean * (1 - mean)
    else:
        slope = max(mean, LEAST_ERROR) ** 2
        own = float(np.mean([one.variance for one in cell])) / slope
    of_mean = own / simulated
    if slope:
        of_mean = max(of_mean, float(errors.var(ddof=1)) / len(cell) / slope)
    quantile = float(stdtrit(len(cell) - 1, (1 + COVERAGE) / 2))
    reach = widening * quantile * math.sqrt(own / tasks + of_mean)
    middle = float(transformed(np.array(mean), tasks, labels=labels))
    return _back(middle + reach, tasks, labels=labels)


def on_scale(cell: Sequence[SimulatedError], *, labels: bool) -> Floats:
    """Return a cell's errors on the scale of the interval, shape (draws,)."""
    errors = np.array([one.error for one in cell])
    return transformed(errors, cell[0].tasks, labels=labels)


def _weighted(variances: Sequence[float], place: int) -> float:
    """Return the mean of a cell's variance and its neighbors', which count half."""
    around = [(variances[place], 2)]
    around += [(variances[at], 1) for at in (place - 1, place + 1) if 0 <= at < len(variances)]
    return sum(value * weight for value, weight in around) / sum(weight for _, weight in around)


def transformed(errors: Floats, tasks: int, *, labels: bool) -> Floats:
    """Transform errors so that their variance almost does not depend on their mean.

    For error rates it is the arc sine of the root (Anscombe, Biometrika 1948), else the logarithm.
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
    """Return the mean error and its standard error; `moved` and `deviation` are on the scale."""
    mean, simulated = float(np.mean([one.error for one in cell])), cell[0].tasks
    place = float(transformed(np.array([mean]), simulated, labels=labels)[0])
    below, before, after, above = (
        _back(place + step, simulated, labels=labels)
        for step in (moved - deviation, 0.0, moved, moved + deviation)
    )
    return mean + after - before, (above - below) / 2
