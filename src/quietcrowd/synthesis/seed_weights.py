"""The weights that claims are chosen with, in integers, and what is public of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.synthesis.attempt_kernel import seed_kernel

__all__ = ["SeedBounds", "floored_bounds", "seed_edges", "uniform_bounds"]

TOTAL = 2**32
"""What the weights of a task's claims sum to; a 32-bit word chooses one."""


@frozen(kw_only=True)
class SeedBounds:
    """Public bounds of the weights of a task's claims.

    Attributes
    ----------
    least, most : Fraction
        Weights that are learnt from the claims may be anything between.
    """

    least: Fraction
    most: Fraction

    @property
    def ratio(self) -> Fraction:
        """How far learnt weights can move when one claim changes."""
        return self.most / self.least


def uniform_bounds(claims: int) -> SeedBounds:
    """Return the bounds of equal weights: they differ by 2^-32 where 1 cannot be shared evenly."""
    least, left = divmod(TOTAL, claims)
    return SeedBounds(least=Fraction(least, TOTAL), most=Fraction(least + (left > 0), TOTAL))


def floored_bounds(claims: int, floor: float) -> SeedBounds:
    """Return the bounds of weights of which a part `floor` is shared evenly."""
    least = _least(claims, floor)
    most = TOTAL - (claims - 1) * least
    return SeedBounds(least=Fraction(least, TOTAL), most=Fraction(most, TOTAL))


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
    seed_kernel(offsets, weights, least, TOTAL, edges)
    return edges


def _least(claims: int, floor: float) -> int:
    return int(Fraction(floor) * TOTAL / claims)
