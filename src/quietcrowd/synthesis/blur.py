"""How a claim becomes a candidate: a step on a public grid, with a law held in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import KERNELS, Kernel
from quietcrowd.validation import check_real, check_whole

__all__ = ["Blur"]

TOTAL = 2**63
"""What the weights of all steps sum to; a 63-bit word chooses one."""

MOST_CELLS = 4096
_REACH = 7.0
"""Steps of a kernel without an end, in bandwidths; its density there is 2^-35 of the largest."""


def _check_cells(_: object, __: object, cells: int) -> None:
    check_whole("cells", cells, 2, MOST_CELLS)


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
    cells: int = field(default=32, validator=_check_cells)
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
