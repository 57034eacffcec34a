"""What a worker's device computes of its answers before noise: whole numbers, exactly.

With a row ``v_j`` of the task profile for each task j, and ``x_j`` the answer's distance from a
public centre in steps of the grid, 0 where there is no answer, a worker's *profile sum* is
``sum_j v_j x_j``, and its *second moments* are ``sum v_j v_j'`` over the tasks that it answered.
All tasks are passed over, answered or not, so that the time tells nothing. Matrix products run in
floats whose values are whole numbers below 2^53: they are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.task_profile import UNIT
from quietcrowd.privacy.signed_sums import largest_signed_norm

__all__ = [
    "check_exact",
    "largest_moments",
    "moment_sensitivity",
    "profile_sums",
    "second_moments",
    "upper_triangle",
]

_EXACT = 2**53

_MOST_NUMBERS = 2**24
"""So many products of all tasks are held at once."""


def check_exact(tasks: int, largest: int) -> None:
    """Raise ParameterError where profile sums of answers up to `largest` could be inexact."""
    if tasks * largest * UNIT >= _EXACT:
        raise ParameterError(
            f"{tasks:,} tasks with answers of up to {largest:,} steps are too many for exact sums; "
            f"at most {_EXACT // (largest * UNIT):,} tasks are possible. Take a larger step."
        )


def profile_sums(
    profile: npt.NDArray[np.int64], cells: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return every worker's profile sum.

    Parameters
    ----------
    profile : ndarray of int64, shape (tasks, rank)
        In units of 2^-24.
    cells : ndarray of int32, shape (workers, tasks)
        Distances from the centre in steps; 0 where there is no answer.

    Returns
    -------
    ndarray of int64, shape (workers, rank)
        In units of ``2^-24`` steps.
    """
    return (cells.astype(np.float64) @ profile.astype(np.float64)).astype(np.int64)


def upper_triangle(rank: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows and columns of the second moments, in the order in which they are sent."""
    return np.triu_indices(rank)


def _outer_row(profile: npt.NDArray[np.int64], place: int) -> npt.NDArray[np.int64]:
    """Return ``v_jk v_jl`` for k = `place` and all l from k on, in units of 2^-24, truncated."""
    products = profile[:, place : place + 1] * profile[:, place:]
    truncated: npt.NDArray[np.int64] = np.sign(products) * (np.abs(products) // UNIT)
    return truncated


def second_moments(
    profile: npt.NDArray[np.int64], answered: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the upper triangle of every worker's second moments.

    The products of a task are truncated to units of 2^-24 before they are added: that is a
    property of the public profile, and the sums are exact.

    Returns
    -------
    ndarray of int64, shape (workers, rank (rank + 1) / 2)
        In the order of `upper_triangle`.
    """
    wide = answered.astype(np.float64)
    parts = [
        (wide @ _outer_row(profile, place).astype(np.float64)).astype(np.int64)
        for place in range(profile.shape[1])
    ]
    return np.concatenate(parts, axis=1)


def moment_sensitivity(profile: npt.NDArray[np.int64]) -> int:
    """Return how much one task moves the second moments at most: a 1-norm in units of 2^-24."""
    norms = sum(np.abs(_outer_row(profile, place)).sum(axis=1) for place in range(profile.shape[1]))
    return max(1, int(np.max(norms, initial=0)))


def largest_moments(profile: npt.NDArray[np.int64]) -> int:
    """Return how much all tasks together move the second moments at most: a 1-norm, or a bound."""
    rank = profile.shape[1]
    if len(profile) * rank * (rank + 1) // 2 > _MOST_NUMBERS:
        return len(profile) * moment_sensitivity(profile)
    rows = np.concatenate([_outer_row(profile, place) for place in range(rank)], axis=1)
    return largest_signed_norm(rows)
