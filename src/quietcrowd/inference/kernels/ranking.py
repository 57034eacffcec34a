"""Values of a task in ascending order, and their medians, for compiled loops.

Nothing is allocated for a task of few values.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["deviation_of", "median_of", "rank_values"]

FEW = 32
"""So many values or fewer are sorted by insertion."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def rank_values(
    values: npt.NDArray[np.float64],
    ranked: npt.NDArray[np.float64],
    places: npt.NDArray[np.int64],
) -> None:
    """Fill in a task's values, ascending, and their places."""
    if len(values) > FEW:
        places[:] = np.argsort(values)
        for rank in range(len(values)):
            ranked[rank] = values[places[rank]]
        return
    for place in range(len(values)):
        value, rank = values[place], place
        while rank > 0 and ranked[rank - 1] > value:
            ranked[rank], places[rank] = ranked[rank - 1], places[rank - 1]
            rank -= 1
        ranked[rank], places[rank] = value, place


@numba.njit(nogil=True, cache=True, error_model="numpy")
def median_of(ranked: npt.NDArray[np.float64]) -> float:
    """Return the median of ascending numbers; of an even number the middle of two; 0 of none."""
    half = len(ranked) // 2
    if len(ranked) == 0:
        return 0.0
    if len(ranked) % 2:
        return float(ranked[half])
    return float((ranked[half - 1] + ranked[half]) / 2.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def deviation_of(ranked: npt.NDArray[np.float64]) -> float:
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
