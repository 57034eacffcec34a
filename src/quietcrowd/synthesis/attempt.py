"""One attempt at a synthetic claim: a claim chosen by its weight, a step from it, a test.

All three follow laws that are held in integers, so that the loss is counted of what is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd._core import fill_seed_edges
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import KERNELS, Kernel
from quietcrowd.validation import check_real, number, whole_number

__all__ = [
    "TOTAL",
    "Blur",
    "PrivacyTest",
    "SeedBounds",
    "floored_bounds",
    "seed_edges",
    "uniform_bounds",
]

TOTAL = 2**63
"""What the weights of all steps sum to: a 63-bit word chooses one. So does the test pass."""

MOST_CELLS = 4096
_REACH = 7.0
"""Steps of a kernel without an end, in bandwidths; its density there is 2^-35 of the largest."""


def _check_gamma(_: object, __: object, gamma: float) -> None:
    check_real("gamma", gamma, 1)
    if gamma == 1:
        raise ParameterError("gamma must be above 1: it is the ratio of likelihoods in a bucket")


@frozen(kw_only=True, slots=False)
class Blur:
    """The law of the step from a claim to a candidate.

    Parameters
    ----------
    kernel : Kernel
        Whose density the law follows, at the points of the grid.
    cells : int
        Steps of the grid in one bandwidth, 2 to 4,096.
    gamma : float
        Candidates with likelihoods between ``gamma**-(a+1)`` and ``gamma**-a`` of the largest are
        in the bucket ``a``; above 1.

    References
    ----------
    Huai et al., IJCAI 2019, section 4.3; ``docs/theory/pris-crowd.md`` for the grid.

    Examples
    --------
    >>> blur = Blur(cells=8, gamma=4.0)
    >>> blur.reach, np.floor(blur.falls[[0, 13, 14, 56]]).tolist(), float(blur.exact_gamma) <= 4
    (56, [0.0, 0.0, 1.0, 17.0], True)
    """

    kernel: Kernel = KERNELS["gaussian"]
    cells: int = field(default=32, validator=whole_number(2, MOST_CELLS))
    gamma: float = field(default=4.0, validator=_check_gamma)

    @cached_property
    def weights(self) -> npt.NDArray[np.uint64]:
        """The weight of a step of 0, 1, 2, ... up or down, each above 0; shape (reach + 1,)."""
        ends = math.isinf(self.kernel.reach)
        farthest = math.ceil((_REACH if ends else self.kernel.reach) * self.cells)
        densities = self.kernel.density(np.arange(farthest + 1) / self.cells, 1.0)
        scale = TOTAL / (2 * densities.sum() - densities[0])
        aside = [weight for weight in map(int, np.floor(densities[1:] * scale)) if weight]
        return np.array([TOTAL - 2 * sum(aside), *aside], np.uint64)

    @property
    def reach(self) -> int:
        """The largest step."""
        return len(self.weights) - 1

    @cached_property
    def edges(self) -> npt.NDArray[np.uint64]:
        """How many words give a step, from ``-reach`` up to ``reach``, or one below it."""
        both = np.concatenate([self.weights[:0:-1], self.weights])
        return np.cumsum(both, dtype=np.uint64)

    @cached_property
    def falls(self) -> npt.NDArray[np.float64]:
        """By how many powers of gamma a step is less likely than none; shape (reach + 1,).

        Rounded down, these are the buckets.
        """
        weights = self.weights.astype(np.float64)
        falls: npt.NDArray[np.float64] = np.log(weights[0] / weights) / math.log(self.gamma)
        return falls

    @cached_property
    def exact_gamma(self) -> Fraction:
        """The largest ratio of two weights in one bucket."""
        weights, buckets = self.weights.tolist(), np.floor(self.falls)
        return max(
            Fraction(max(inside), min(inside))
            for bucket in np.unique(buckets)
            if (inside := [weights[step] for step in np.flatnonzero(buckets == bucket)])
        )


_SURE = 2.0**-60
"""A probability this near to its limit counts as there."""

_MOST_COUNTS = 10**7


def _check_epsilon0(_: object, __: object, epsilon0: float) -> None:
    if not (math.isfinite(epsilon0) and epsilon0 > 0):
        raise ParameterError(f"epsilon0 must be a finite number above 0; got {epsilon0!r}")


def _check_drop(_: object, __: object, drop: float) -> None:
    if not 0 <= drop < 1:
        raise ParameterError(f"drop must be at least 0 and below 1; got {drop!r}")


@frozen(kw_only=True, slots=False)
class PrivacyTest:
    """Pass where the number of claims in the candidate's bucket is at least k plus noise.

    Parameters
    ----------
    k : int
        The number of claims that is asked for, the one that was blurred included; at least 1.
    epsilon0 : float
        The noise is Laplace of scale ``1 / epsilon0``; above 0.
    drop : float
        Probability that a candidate is dropped before the test, whatever it is; at least 0,
        below 1. Without it, failing tells more than any epsilon bounds.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range.

    References
    ----------
    Huai et al., IJCAI 2019, Algorithm 1; the drop: ``docs/theory/pris-crowd.md``.

    Examples
    --------
    >>> test = PrivacyTest(k=5, epsilon0=1.0, drop=0.5)
    >>> test.probabilities[[1, 5, 9]].round(4).tolist()
    [0.0046, 0.25, 0.4954]
    """

    k: int = field(validator=whole_number(1, 10**6))
    epsilon0: float = field(converter=number, validator=_check_epsilon0)
    drop: float = field(default=0.5, converter=number, validator=_check_drop)

    @cached_property
    def weights(self) -> npt.NDArray[np.uint64]:
        """The weight, out of 2^63, of passing with 0, 1, 2, ... claims; the last for any more.

        Rounded down from the noise's law: the loss is counted of the weights themselves.
        """
        counts = self.k + math.ceil(-math.log(2 * _SURE) / self.epsilon0) + 1
        if counts > _MOST_COUNTS:
            raise ParameterError(
                f"epsilon0={self.epsilon0!r} is too small for k={self.k}: the test would have to "
                f"tell {counts:,} counts apart; at most {_MOST_COUNTS:,} are possible"
            )
        beyond = self.epsilon0 * (np.arange(counts) - self.k)
        half = 0.5 * np.exp(-np.abs(beyond))
        most = math.floor((1 - self.drop) * TOTAL)
        weights = np.floor(np.where(beyond <= 0, half, 1 - half) * most)
        return np.append(np.minimum(weights, most).astype(np.uint64), np.uint64(most))

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """The weights as probabilities."""
        return self.weights.astype(np.float64) / TOTAL


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
    fill_seed_edges(offsets, weights, least, WORDS, edges)
    return edges


def _least(claims: int, floor: float) -> int:
    return int(Fraction(floor) * WORDS / claims)
