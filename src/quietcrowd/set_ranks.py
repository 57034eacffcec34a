"""The number of a set of labels: sets of one size, counted from 0, exactly.

The combinatorial number system (D. E. Knuth, "The Art of Computer Programming", volume 4A, section
7.2.1.3): the set of codes ``c_1 < c_2 < ... < c_d`` has the number ``sum of C(c_i, i)``. Every
number below ``C(k, d)`` is that of one set of d of k labels.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_SETS", "binomials", "ranks_of", "sets_of", "sets_with"]

MOST_SETS = 2**53
"""There are at most so many sets: every reader of JSON, and every float, holds their numbers."""


@lru_cache(maxsize=64)
def binomials(labels: int, members: int) -> npt.NDArray[np.int64]:
    """Return ``C(c, i + 1)`` at [i, c], for codes c; what is larger than any number is cut off."""
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
    """Return the numbers of sets.

    Parameters
    ----------
    sets : ndarray of int, shape (n, members)
        Codes of labels; those of one set differ, and increase.
    labels : int
        How many labels there are; at most `MOST_SETS` sets.

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
    """Return the sets of numbers, shape (n, members): codes of labels, increasing.

    Parameters
    ----------
    ranks : ndarray of int, shape (n,)
        From 0 on, below ``C(labels, members)``.
    labels, members : int
        How many labels there are, and how many are in a set; at most `MOST_SETS` sets.

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
    """Return which labels are in which set, shape (n, labels); parameters as of `sets_of`."""
    sets = sets_of(ranks, labels, members)
    held = np.zeros((len(sets), labels), np.bool_)
    np.put_along_axis(held, sets, values=True, axis=1)
    return held
