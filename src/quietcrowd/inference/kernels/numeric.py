"""What compiled loops over numbers share."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import LARGEST_UNIT, to_integer

__all__ = [
    "LEAST_SPREAD",
    "Codes",
    "Counts",
    "Floats",
    "add_squared",
    "deviation_of",
    "longest_of",
    "median_of",
    "rank_values",
    "spread_of",
    "standard_error_of",
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
def longest_of(offsets: Counts) -> int:
    """Return how many answers a task has at most."""
    longest = 0
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    return longest


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
