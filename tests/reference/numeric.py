"""The inner loops over numbers; see `tests.reference.voting`.

All take, in this order, ``offsets``, ``worker_codes`` (as unsigned numbers), ``values`` and
``known_truths`` of a `Partition`, both scaled to -1/2..1/2; what a method believes of the workers;
units for sums; an array per worker to which is added; arrays per task to be filled, which stay as
they are where they are empty.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.vector_math import LARGEST_UNIT, to_integer

__all__ = [
    "LEAST_SPREAD",
    "Codes",
    "Counts",
    "Floats",
    "add_squared",
    "deviation_of",
    "longest_of",
    "loss_kernel",
    "mean_kernel",
    "median_kernel",
    "median_of",
    "rank_values",
    "spread_of",
    "standard_error_of",
    "sum_kernel",
    "weighted_mean_of",
]

Codes: TypeAlias = npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]

LEAST_SPREAD = 1e-12
"""Answers of a task that differ by no more than this share of the range count as all equal."""

FEW = 32
"""So many values or fewer are sorted by insertion."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def rank_values(
    values: Floats,
    ranked: Floats,
    places: Counts,
) -> None:
    """Fill in a task's values, ascending, and their places."""
    if len(values) > FEW:
        order = np.argsort(values)
        for rank in range(len(values)):
            places[rank], ranked[rank] = order[rank], values[order[rank]]
        return
    for place in range(len(values)):
        value, rank = values[place], place
        while rank > 0 and ranked[rank - 1] > value:
            ranked[rank], places[rank] = ranked[rank - 1], places[rank - 1]
            rank -= 1
        ranked[rank], places[rank] = value, place


@numba.njit(nogil=True, cache=True, error_model="numpy")
def median_of(ranked: Floats) -> float:
    """Return the median of ascending numbers; of an even number the middle of two; 0 of none."""
    half = len(ranked) // 2
    if len(ranked) == 0:
        return 0.0
    if len(ranked) % 2:
        return float(ranked[half])
    return float((ranked[half - 1] + ranked[half]) / 2.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def deviation_of(ranked: Floats) -> float:
    """Return the median absolute deviation from the median, of ascending numbers; 0 of none."""
    count = len(ranked)
    if count == 0:
        return 0.0
    half = count // 2
    odd = count % 2 == 1
    middle = median_of(ranked)
    above = half
    below = half - 1
    last, before = 0.0, 0.0
    for _ in range(half + 1):
        before = last
        if below < 0 or (above < count and ranked[above] - middle <= middle - ranked[below]):
            last = ranked[above] - middle
            above += 1
        else:
            last = middle - ranked[below]
            below -= 1
    return float(last if odd else (before + last) / 2.0)


@numba.njit(nogil=True, cache=True, inline="always")
def add_squared(
    start: np.int64,
    end: np.int64,
    worker_codes: Codes,
    values: Floats,
    truth: float,
    unit: float,
    squared: Counts,
) -> np.int64:
    """Add the squared errors of a task's answers to their workers; return their sum."""
    total = np.int64(0)
    for row in range(np.uint64(start), np.uint64(end)):
        error = values[row] - truth
        credit = to_integer(error * error * unit)
        squared[worker_codes[row]] += credit
        total += credit
    return total


@numba.njit(nogil=True, cache=True, inline="always")
def weighted_mean_of(
    start: np.int64,
    end: np.int64,
    worker_codes: Codes,
    values: Floats,
    weights: Floats,
    unit: float,
) -> tuple[float, np.int64]:
    """Return the weighted mean of a task's answers, 0 without any, and all weight in units."""
    total = np.int64(0)
    weighted = np.int64(0)
    for row in range(np.uint64(start), np.uint64(end)):
        weight = weights[worker_codes[row]] * unit
        total += to_integer(weight)
        weighted += to_integer(weight * values[row])
    return (float(weighted / total) if total > 0 else 0.0), total


@numba.njit(nogil=True, cache=True)
def standard_error_of(
    start: np.int64,
    end: np.int64,
    worker_codes: Codes,
    values: Floats,
    weights: Floats,
    unit: float,
    mean: float,
    total: np.int64,
) -> float:
    """Return that of a weighted mean of independent answers of unknown variances."""
    count = end - start
    if count < 2:
        return np.nan
    moved = np.int64(0)
    for row in range(np.uint64(start), np.uint64(end)):
        part = weights[worker_codes[row]] * (values[row] - mean)
        moved += to_integer(part * part * unit)
    return float(np.sqrt(moved * unit * count / (count - 1)) / total)


@numba.njit(nogil=True, cache=True)
def mean_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    weights: Floats,
    low: float,
    high: float,
    weight_unit: float,
    error_unit: float,
    squared: Counts,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Estimate each task by the weighted mean of its answers, and tally squared errors.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths
        See the module.
    weights : ndarray of float64
        Per worker, above 0 and at most 1.
    low, high : float
        Bounds of the estimates, scaled as the values are.
    weight_unit, error_unit : float
        What 1.0 is stored as in sums over a task's answers, and over a worker's.
    squared : ndarray of int64
        Per worker, to which squared errors are added.
    truths, standard_errors, spreads : ndarray of float64
        Per task. The standard error is that of a weighted mean of independent answers of unknown
        variances, 0 where the truth is known; spread is the root mean square of the task's errors.
    """
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        mean, total = weighted_mean_of(start, end, worker_codes, values, weights, weight_unit)
        known = not np.isnan(known_truths[task])
        truth = known_truths[task] if known else min(max(mean, low), high)
        errors = add_squared(start, end, worker_codes, values, truth, error_unit, squared)
        if len(truths):
            truths[task] = truth
            spreads[task] = np.sqrt(errors / error_unit / max(end - start, 1))
            standard_errors[task] = (
                0.0
                if known
                else standard_error_of(
                    start, end, worker_codes, values, weights, weight_unit, mean, total
                )
            )


@numba.njit(nogil=True, cache=True)
def longest_of(offsets: Counts) -> int:
    """Return how many answers a task has at most."""
    longest = 0
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    return longest


@numba.njit(nogil=True, cache=True)
def median_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    error_unit: float,
    squared: Counts,
    truths: Floats,
    spreads: Floats,
) -> None:
    """Estimate each task by the median of its answers; otherwise as `mean_kernel`."""
    longest = longest_of(offsets)
    ranked, places = np.empty(longest), np.empty(longest, np.int64)
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        truth = known_truths[task]
        if np.isnan(truth):
            rank_values(values[start:end], ranked[: end - start], places[: end - start])
            truth = median_of(ranked[: end - start])
        errors = add_squared(start, end, worker_codes, values, truth, error_unit, squared)
        if len(truths):
            truths[task] = truth
            spreads[task] = np.sqrt(errors / error_unit / max(end - start, 1))


@numba.njit(nogil=True, cache=True)
def _weighted_median(
    start: np.int64,
    end: np.int64,
    worker_codes: Codes,
    values: Floats,
    weights: Floats,
    unit: float,
    ranked: Floats,
    places: Counts,
) -> float:
    """Return the smallest answer with half of all weight at or below it; 0 of none.

    The last two have room for the answers of any task.
    """
    total = np.int64(0)
    for row in range(np.uint64(start), np.uint64(end)):
        total += to_integer(weights[worker_codes[row]] * unit)
    rank_values(values[start:end], ranked[: end - start], places[: end - start])
    below = np.int64(0)
    for rank in range(end - start):
        below += to_integer(weights[worker_codes[start + places[rank]]] * unit)
        if 2 * below >= total:
            return float(ranked[rank])
    return 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def spread_of(start: np.int64, end: np.int64, values: Floats, known: float) -> float:
    """Return the standard deviation of a task's answers, with its known truth if that is no NaN."""
    unit = min(2.0**61 / (end - start + 2), LARGEST_UNIT)
    count = end - start
    total = np.int64(0)
    for row in range(np.uint64(start), np.uint64(end)):
        total += to_integer(values[row] * unit)
    if not np.isnan(known):
        count += 1
        total += to_integer(known * unit)
    if count == 0:
        return 0.0
    mean = total / unit / count
    farthest = 0.0 if np.isnan(known) else abs(known - mean)
    for row in range(np.uint64(start), np.uint64(end)):
        off = abs(values[row] - mean)
        farthest = off if off > farthest else farthest
    if farthest == 0.0:
        return 0.0
    squared = np.int64(0)  # of distances in units of the farthest: squares keep their digits
    for row in range(np.uint64(start), np.uint64(end)):
        part = (values[row] - mean) / farthest
        squared += to_integer(part * part * unit)
    if not np.isnan(known):
        part = (known - mean) / farthest
        squared += to_integer(part * part * unit)
    return float(np.sqrt(squared / unit / count) * farthest)


@numba.njit(nogil=True, cache=True)
def loss_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    weights: Floats,
    absolute: bool,
    power: int,
    weight_unit: float,
    error_unit: float,
    loss_unit: float,
    squared: Counts,
    losses: Counts,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Estimate each task by the answer that costs its workers least, and tally what it costs them.

    Parameters
    ----------
    absolute : bool
        Whether an error costs its amount, and the truth is the weighted median; or its square, and
        the truth is the weighted mean.
    power : int
        Losses are divided by the standard deviation of the task's answers to this power; where the
        answers do not differ, there is no loss. A known truth counts as one answer more, so that a
        loss is at most twice the number of answers.
    loss_unit : float
        What 1.0 is stored as in sums of a worker's losses.
    losses : ndarray of int64
        Per worker, to which losses are added.
    offsets, worker_codes, values, known_truths, weights, weight_unit, error_unit, squared, \
truths, standard_errors, spreads
        See `mean_kernel`. A weighted median has no standard error: NaN.
    """
    longest = longest_of(offsets)
    ranked, places = np.empty(longest), np.empty(longest, np.int64)
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        mean, total = 0.0, np.int64(0)
        if not np.isnan(known_truths[task]):
            truth = known_truths[task]
        elif absolute:
            truth = _weighted_median(
                start, end, worker_codes, values, weights, weight_unit, ranked, places
            )
        else:
            mean, total = weighted_mean_of(start, end, worker_codes, values, weights, weight_unit)
            truth = mean
        spread = spread_of(start, end, values, known_truths[task]) if power else 1.0
        price = loss_unit / spread**power if spread > LEAST_SPREAD else 0.0
        for row in range(np.uint64(start), np.uint64(end)):
            error = abs(values[row] - truth)
            losses[worker_codes[row]] += np.int64(
                np.rint((error if absolute else error * error) * price)
            )
        errors = add_squared(start, end, worker_codes, values, truth, error_unit, squared)
        if len(truths):
            truths[task] = truth
            spreads[task] = np.sqrt(errors / error_unit / max(end - start, 1))
            if not np.isnan(known_truths[task]):
                standard_errors[task] = 0.0
            elif absolute:
                standard_errors[task] = np.nan
            else:
                standard_errors[task] = standard_error_of(
                    start, end, worker_codes, values, weights, weight_unit, mean, total
                )


@numba.njit(nogil=True, cache=True)
def sum_kernel(offsets: Counts, values: Floats, unit: float) -> Counts:
    """Return the sum of each task's values in units, the same for any order of them."""
    sums = np.zeros(len(offsets) - 1, np.int64)
    for task in range(len(sums)):
        for row in range(offsets[task], offsets[task + 1]):
            sums[task] += to_integer(values[row] * unit)
    return sums
