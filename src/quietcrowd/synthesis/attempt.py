"""One attempt at a synthetic claim: a random claim, a random step from it, and a privacy test.

All distributions have integer weights, from which the privacy loss is computed.
"""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd._core import fill_seed_edges
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import KERNELS, Kernel
from quietcrowd.validation import (
    check_delta,
    check_real,
    checked_by,
    number,
    positive,
    whole_number,
)

TOTAL = 2**63
"""Sum of the weights of all steps, and weight of certain passing; a 63-bit word selects one."""

MOST_CELLS = 4096
_REACH = 7.0
"""Largest Gaussian step, in bandwidths; the density there is 2^-35 of its maximum."""


def _check_gamma(_: object, __: object, gamma: float) -> None:
    check_real("gamma", gamma, 1)
    if gamma == 1:
        raise ParameterError("synthesis.gamma-too-small")


@frozen(kw_only=True, slots=False)
class Blur:
    """Distribution of the step from a claim to a candidate, on a grid.

    Weights follow the density of `kernel` at grid points, `cells` (2 to 4,096) per bandwidth.
    Bucket a contains candidates with likelihoods between ``gamma**-(a+1)`` and ``gamma**-a`` of the
    largest; `gamma` is above 1. Source: Huai et al., IJCAI 2019, section 4.3;
    ``research/docs/theory/pris-crowd.md``.
    """

    kernel: Kernel = KERNELS["gaussian"]
    cells: int = field(default=32, validator=whole_number(2, MOST_CELLS))
    gamma: float = field(default=4.0, validator=_check_gamma)

    @cached_property
    def weights(self) -> npt.NDArray[np.uint64]:
        """Weights of steps of 0, 1, 2, ... in either direction, above 0; shape (reach + 1,)."""
        ends = math.isinf(self.kernel.reach)
        farthest = math.ceil((_REACH if ends else self.kernel.reach) * self.cells)
        densities = self.kernel.density(np.arange(farthest + 1) / self.cells, 1.0)
        scale = TOTAL / (2 * densities.sum() - densities[0])
        aside = [weight for weight in map(int, np.floor(densities[1:] * scale)) if weight]
        return np.array([TOTAL - 2 * sum(aside), *aside], np.uint64)

    @property
    def reach(self) -> int:
        """Largest step."""
        return len(self.weights) - 1

    @cached_property
    def edges(self) -> npt.NDArray[np.uint64]:
        """Cumulative weights of the steps from ``-reach`` to ``reach``."""
        both = np.concatenate([self.weights[:0:-1], self.weights])
        return np.cumsum(both, dtype=np.uint64)

    @cached_property
    def falls(self) -> npt.NDArray[np.float64]:
        """Log, base gamma, of the weight of step 0 over that of each step; shape (reach + 1,).

        Rounded down, these are the buckets.
        """
        weights = self.weights.astype(np.float64)
        falls: npt.NDArray[np.float64] = np.log(weights[0] / weights) / math.log(self.gamma)
        return falls

    @cached_property
    def exact_gamma(self) -> Fraction:
        """Largest ratio of two weights in a bucket."""
        weights, buckets = self.weights.tolist(), np.floor(self.falls)
        return max(
            Fraction(max(inside), min(inside))
            for bucket in np.unique(buckets)
            if (inside := [weights[step] for step in np.flatnonzero(buckets == bucket)])
        )


_SURE = 2.0**-60
"""Probabilities this close to their limit are replaced by it."""

_MOST_COUNTS = 10**7


@frozen(kw_only=True, slots=False)
class PrivacyTest:
    """Test that passes if the candidate's bucket has at least k plus noise claims.

    `k`, at least 1, includes the sampled claim. The noise is Laplace with scale ``1 / epsilon0``.
    `drop`, in [0, 1), is the probability of dropping any candidate before the test. Without it, no
    epsilon bounds what a failure reveals. Source: Huai et al., IJCAI 2019, Algorithm 1; for `drop`,
    ``research/docs/theory/pris-crowd.md``.
    """

    k: int = field(validator=whole_number(1, 10**6))
    epsilon0: float = field(converter=number, validator=positive)
    drop: float = field(default=0.5, converter=number, validator=checked_by(check_delta))

    @cached_property
    def weights(self) -> npt.NDArray[np.uint64]:
        """Weights, out of 2^63, of passing with 0, 1, 2, ... claims; the last is for any more.

        They are rounded down, and the privacy loss is computed from the rounded weights.
        """
        counts = self.k + math.ceil(-math.log(2 * _SURE) / self.epsilon0) + 1
        if counts > _MOST_COUNTS:
            raise ParameterError(
                "synthesis.epsilon0-too-small",
                epsilon0=self.epsilon0,
                k=self.k,
                counts=counts,
                most_counts=_MOST_COUNTS,
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
"""Sum of the weights of a task's claims; a 32-bit word selects one."""


@frozen(kw_only=True)
class SeedBounds:
    """Public bounds of the weights of claims, for all numbers of claims per task in a range.

    No weight exceeds `most`. `ratio` bounds the ratio of two weights of a task and, for learned
    weights, the factor by which a changed claim moves a weight. It is None if a weight may be 0.
    """

    most: Fraction
    ratio: Fraction | None


def uniform_bounds(fewest: int, most: int) -> SeedBounds:
    """Return the bounds of equal weights in tasks with `fewest` to `most` claims.

    Equal weights may differ by 2^-32, due to rounding.
    """
    return SeedBounds(
        most=Fraction(-(-WORDS // fewest), WORDS), ratio=1 + Fraction(1, WORDS // most)
    )


def floored_bounds(fewest: int, most: int, floor: float) -> SeedBounds:
    """Return the bounds of weights with a fraction `floor` divided evenly; see `uniform_bounds`.

    In a task with n claims, a weight is at least ``floor / n``, rounded down.
    """
    even = Fraction(floor)
    largest = min(Fraction(1), 1 - even + even / fewest + Fraction(most - 1, WORDS))
    least = Fraction(_least(most, floor), WORDS)
    return SeedBounds(most=largest, ratio=largest / least if least else None)


def seed_edges(
    offsets: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], floor: float
) -> npt.NDArray[np.uint64]:
    """Return the cumulative integer weights of claims within each task, out of 2^32.

    `weights`, shape (claims,), are at least 0 and sum to 1 in every nonempty task. A fraction
    `floor` is divided evenly. The result satisfies `floored_bounds`; with `floor` 1,
    `uniform_bounds`.
    """
    least = np.array(
        [_least(int(count), floor) if count else 0 for count in np.diff(offsets)], np.int64
    )
    edges = np.zeros(len(weights), np.uint64)
    fill_seed_edges(offsets, weights, least, WORDS, edges)
    return edges


def _least(claims: int, floor: float) -> int:
    return int(Fraction(floor) * WORDS / claims)
