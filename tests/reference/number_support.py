"""What each report tells of its worker, judged by the truth as all other reports have it."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST_SHARE", "cap", "support"]

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]

Codes: TypeAlias = npt.NDArray[np.uint32]

LARGEST_SHARE = 0.5
"""No report holds more of a task's weight, unless the reports of others bear it out."""

LEAST_DENSITY = 1e-290
"""No report's density is less: a law is never ruled out."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cap(codes: Codes, weights: Floats, borne: Floats) -> tuple[int, float]:
    """Return which report of a task is to count less, and by which factor.

    A report of n may hold the larger of `LARGEST_SHARE` and ``2 / n`` of the weight, or what is
    borne out. So it is one at most.

    Parameters
    ----------
    codes : ndarray of uint32
        Workers of the task's reports.
    weights, borne : ndarray of float64, shape (workers,)
        What a worker's reports count, and what others bear out, in the same unit.

    Returns
    -------
    place : int
        Of the report.
    factor : float
        At most 1.
    """
    place = 0
    for i in range(len(codes)):
        if weights[codes[i]] > weights[codes[place]]:
            place = i
    share = max(LARGEST_SHARE, 2.0 / max(len(codes), 1))
    if share >= 1.0:
        return 0, 1.0
    others = 0.0
    for i in range(len(codes)):
        if i != place:
            others += weights[codes[i]]
    worker = codes[place]
    most = max(borne[worker], share / (1.0 - share) * others)
    return place, min(1.0, most / weights[worker])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def support(
    without: Floats,
    total: float,
    densities: Floats,
    place: np.int64,
    ratio: np.int64,
    filled: float,
    unit: float,
    likely: Floats,
    supported: Counts,
) -> None:
    """Add the log density of a report under each law of its worker's errors.

    Parameters
    ----------
    without : ndarray of float64, shape (bins,)
        The posterior of the truth without the report, times `total`.
    total : float
        Its sum.
    densities : ndarray of float64, shape (columns, laws)
        Of each law.
    place : int
        Where the report's density given the first bin stands.
    ratio : int
        Where the factor of that stands; -1 without one.
    filled : float
        Density of the report where it is no answer, with the odds of that; 0 where it is one.
    unit : float
        What 1.0 is stored as in `supported`.
    likely : ndarray of float64, shape (laws,)
        Room.
    supported : ndarray of int64, shape (laws,)
        To which is added.
    """
    likely[:] = 0.0
    for b in range(len(without)):
        share = without[b]
        if share > 1e-14 and ratio >= 0:
            for law in range(len(likely)):
                density = densities[place + b, law] * densities[ratio + b, law]
                likely[law] += share * density
        elif share > 1e-14:
            for law in range(len(likely)):
                likely[law] += share * densities[place + b, law]
    for law in range(len(likely)):
        density = max(likely[law] / total + filled, LEAST_DENSITY)
        supported[law] += np.int64(np.rint(np.log(density) * unit))
