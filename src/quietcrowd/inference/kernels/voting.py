"""Ties, and rows of tasks: serial functions over plain arrays that Numba compiles.

They hold no lock, so that a pool of threads can run them on runs of tasks, and they add in
integers alone, so that neither threads nor partitions change a bit of what comes out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["pick_tied", "rows_of"]


@numba.njit(nogil=True, cache=True)
def _mix(word: np.uint64) -> np.uint64:
    """Scramble 64 bits so that every input bit reaches every output bit (splitmix64's finish)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def pick_tied(
    votes: npt.NDArray[Any], best: Any, tied: int, draw: np.uint64, seed: np.uint64
) -> int:
    """Return one of the labels with the most votes, each with the same chance.

    Votes are whole numbers or floats. `best` is how many votes they have, `tied` how many labels
    have them; `draw` is of the task.
    """
    high_bits = _mix(draw ^ _mix(seed)) >> np.uint64(32)
    left = np.int64((high_bits * np.uint64(tied)) >> np.uint64(32))
    for label in range(len(votes)):
        if votes[label] == best:
            if left == 0:
                return label
            left -= 1
    return 0


@numba.njit(nogil=True, cache=True, inline="always")
def rows_of(offsets: npt.NDArray[np.int64], task: int) -> tuple[np.uint64, np.uint64]:
    """Return the first row of a task and the one after its last.

    They are unsigned, so that no place has to be tested for counting from the end.
    """
    return np.uint64(offsets[task]), np.uint64(offsets[task + 1])
