"""Ranks of sets of labels that have the same size.

The combinatorial number system (D. E. Knuth, "The Art of Computer Programming", volume 4A, section
7.2.1.3): the set of codes ``c_1 < c_2 < ... < c_d`` has the rank ``sum of C(c_i, i)``. This is a
bijection between sets of d of k labels and the integers from 0 to ``C(k, d) - 1``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_SETS", "binomials", "ranks_of", "sets_of", "sets_with"]

MOST_SETS = 2**53
"""Most sets, so that JSON readers and floats represent all ranks exactly."""


@lru_cache(maxsize=64)
def binomials(labels: int, members: int) -> npt.NDArray[np.int64]:
    """Return ``C(c, i + 1)`` at [i, c] for codes c, at most `MOST_SETS`."""
    table = np.array(
        [
            [min(math.comb(code, place + 1), MOST_SETS) for code in range(labels)]
            for place in range(members)
        ],
        np.int64,
    )
    table.flags.writeable = False
    return table


def ranks_of(sets: npt.NDArray[Any], labels: int) -> npt.NDArray[np.int64]:
    """Return the ranks of sets of increasing codes, shape (n, members).

    `labels` allows at most `MOST_SETS` sets.

    Examples
    --------
    >>> ranks_of(np.array([[0, 1], [0, 2], [1, 2], [0, 3]]), 4).tolist()
    [0, 1, 2, 3]
    """
    table = binomials(labels, sets.shape[1])
    ranks = np.zeros(len(sets), np.int64)
    for place, row in enumerate(table):
        ranks += row[sets[:, place]]
    return ranks


def sets_of(ranks: npt.NDArray[Any], labels: int, members: int) -> npt.NDArray[np.int64]:
    """Return the sets with these ranks as increasing codes, shape (n, members).

    Ranks are below ``C(labels, members)``, which is at most `MOST_SETS`.

    Examples
    --------
    >>> sets_of(np.array([0, 5]), 4, 2).tolist()
    [[0, 1], [2, 3]]
    """
    table = binomials(labels, members)
    left = np.array(ranks, np.int64)
    sets = np.empty((len(left), members), np.int64)
    for place in range(members - 1, -1, -1):
        sets[:, place] = np.searchsorted(table[place], left, side="right") - 1
        left -= table[place][sets[:, place]]
    return sets


def sets_with(ranks: npt.NDArray[Any], labels: int, members: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the labels in each set, shape (n, labels); parameters as in `sets_of`."""
    sets = sets_of(ranks, labels, members)
    held = np.zeros((len(sets), labels), np.bool_)
    np.put_along_axis(held, sets, values=True, axis=1)
    return held
