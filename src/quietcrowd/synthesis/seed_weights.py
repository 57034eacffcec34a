"""The weights that claims are chosen with, in integers, and what is public of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.synthesis.attempt_kernel import seed_kernel

__all__ = ["SeedBounds", "floored_bounds", "seed_edges", "uniform_bounds"]

WORDS = 2**32
"""What the weights of a task's claims sum to: as many as there are words of 32 bits."""


@frozen(kw_only=True)
class SeedBounds:
    """Public bounds of the weights of claims, in tasks of any size of a range.

    Attributes
    ----------
    most : Fraction
        No claim's weight is larger.
    ratio : Fraction or None
        No two weights of a task differ by a larger factor, and no weight that is learnt from the
        claims moves by a larger one. None: a weight may be 0.
    """

    most: Fraction
    ratio: Fraction | None


def uniform_bounds(fewest: int, most: int) -> SeedBounds:
    """Return the bounds of equal weights in tasks of `fewest` to `most` claims.

    They differ by 2^-32 where 1 cannot be shared evenly.
    """
    return SeedBounds(
        most=Fraction(-(-WORDS // fewest), WORDS), ratio=1 + Fraction(1, WORDS // most)
    )


def floored_bounds(fewest: int, most: int, floor: float) -> SeedBounds:
    """Return the bounds of weights of which a part `floor` is shared evenly; see `uniform_bounds`.

    A claim of a task of n has at least ``floor / n``, rounded down, and at most what the others
    leave.
    """
    even = Fraction(floor)
    largest = min(Fraction(1), 1 - even + even / fewest + Fraction(most - 1, WORDS))
    least = Fraction(_least(most, floor), WORDS)
    return SeedBounds(most=largest, ratio=largest / least if least else None)


def seed_edges(
    offsets: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], floor: float
) -> npt.NDArray[np.uint64]:
    """Return, per claim, how many 32-bit words choose it or a claim of its task before it.

    Parameters
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    weights : ndarray of float64, shape (claims,)
        At least 0; sums to 1 in every task that has claims.
    floor : float
        The part that is shared evenly, 0 to 1: the weights keep `floored_bounds`, and, where it is
        1, `uniform_bounds`.
    """
    least = np.array(
        [_least(int(count), floor) if count else 0 for count in np.diff(offsets)], np.int64
    )
    edges = np.zeros(len(weights), np.uint64)
    seed_kernel(offsets, weights, least, WORDS, edges)
    return edges


def _least(claims: int, floor: float) -> int:
    return int(Fraction(floor) * WORDS / claims)
