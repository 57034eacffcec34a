"""The inner loops of a release: candidates and their test, one attempt after the other."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["attempt_kernel", "seed_kernel"]

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]


@numba.njit(nogil=True, cache=True)
def seed_kernel(
    offsets: npt.NDArray[np.int64],
    weights: Floats,
    least: npt.NDArray[np.int64],
    total: int,
    edges: Words,
) -> None:
    """Fill in, per claim, how many words choose it or a claim of its task before it.

    Parameters
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    weights : ndarray of float64, shape (claims,)
        At least 0; sums to 1 in every task that has claims.
    least : ndarray of int64, shape (tasks,)
        The weight that each claim of a task has in any case.
    total : int
        What a task's weights sum to.
    edges : ndarray of uint64, shape (claims,)
        What is filled in. The rest beyond the least weights is given out by rounding the sums of
        `weights`, of one task alone: nothing of another task enters.
    """
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        rest = total - (end - start) * least[task]
        share = 0.0
        given = np.int64(0)
        for row in range(start, end):
            share += weights[row]
            given = max(given, min(np.int64(share * rest), rest))
            if row == end - 1:
                given = rest
            edges[row] = np.uint64((row - start + 1) * least[task] + given)


@numba.njit(nogil=True, cache=True)
def _first_above(edges: Words, word: np.uint64) -> int:
    """Return the first place whose edge is above the word; edges rise, the last is enough."""
    low, high = 0, len(edges) - 1
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= word:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(nogil=True, cache=True)
def attempt_kernel(
    offsets: npt.NDArray[np.int64],
    places: Places,
    seed_edges: Words,
    lifts: Floats,
    blur_edges: Words,
    falls: Floats,
    passes: Words,
    tasks: npt.NDArray[np.int64],
    words: Words,
    candidates: Places,
    passed: npt.NDArray[np.bool_],
) -> None:
    """Make attempts: choose a claim, blur it, test the candidate.

    Parameters
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    places : ndarray of int64, shape (claims,)
        Claims on the grid, in steps.
    seed_edges : ndarray of uint64, shape (claims,)
        As of `seed_kernel`, for words of 32 bits.
    lifts : ndarray of float64, shape (tasks,)
        Is added to `falls` before they are rounded down to buckets.
    blur_edges : ndarray of uint64, shape (2 reach + 1,)
        How many words of 63 bits give a step, from the lowest one, or one below it.
    falls : ndarray of float64, shape (reach + 1,)
        Of a step of 0, 1, 2, ...: by how many powers of gamma it is less likely than none.
    passes : ndarray of uint64
        With 0, 1, 2, ... claims in its bucket a candidate passes below this word of 63 bits.
    tasks : ndarray of int64, shape (attempts,)
        The task of each attempt; it has claims.
    words : ndarray of uint64, shape (attempts, 3)
        Uniform words of 64 bits: for the claim, the step and the test.
    candidates : ndarray of int64, shape (attempts,)
        Filled in with the candidates, in steps of the grid.
    passed : ndarray of bool, shape (attempts,)
        Filled in with whether they passed.
    """
    reach = len(falls) - 1
    for attempt in range(len(tasks)):
        task = tasks[attempt]
        start, end = offsets[task], offsets[task + 1]
        word = words[attempt, 0] >> np.uint64(32)
        seed = start + _first_above(seed_edges[start:end], word)
        step = _first_above(blur_edges, words[attempt, 1] >> np.uint64(1)) - reach
        candidate = places[seed] + step
        bucket = np.floor(lifts[task] + falls[abs(step)])
        count = 0
        for row in range(start, end):
            distance = abs(places[row] - candidate)
            if distance <= reach and np.floor(lifts[task] + falls[distance]) == bucket:
                count += 1
        candidates[attempt] = candidate
        passed[attempt] = (words[attempt, 2] >> np.uint64(1)) < passes[min(count, len(passes) - 1)]
