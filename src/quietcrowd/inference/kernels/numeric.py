"""What compiled loops over numbers share."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import to_integer

__all__ = [
    "Codes",
    "Counts",
    "Floats",
    "add_squared",
    "longest_of",
]

Codes: TypeAlias = npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]


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


@numba.njit(nogil=True, cache=True)
def longest_of(offsets: Counts) -> int:
    """Return how many answers a task has at most."""
    longest = 0
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    return longest
