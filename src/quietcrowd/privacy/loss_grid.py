"""Composition of independent privacy losses by convolution on a grid.

All rounding errs on the safe side. Derivation and checks: ``research/docs/theory/accounting.md``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.validation import check_whole

_UNIT = 2.0**-52
_TAIL = 1e-20
"""Probability at each end of a convolution that is moved to a larger loss."""

_FINE = 1024
"""Grid steps in the largest loss of a single release."""

_MOST_PLACES = 2**13
"""Longer distributions are coarsened; a normal one then has 200 steps per standard deviation."""

_FINEST = 1e-9


@frozen(kw_only=True, eq=False)
class LossGrid:
    """Distribution of the loss on a grid, for the worst two rows of answers.

    `masses` are upper bounds on the probabilities of the losses `first`, `first` + 1, ..., in units
    of `step`. `lost` bounds the probability of an infinite loss.

    Examples
    --------
    >>> from quietcrowd.privacy.loss import pure_distribution
    >>> one = LossGrid.of_distribution(pure_distribution(1.0), step=1.0)
    >>> round(one.repeated(50).epsilon(1e-6), 2)
    47.65
    """

    step: float
    first: int
    masses: npt.NDArray[np.float64]
    lost: float

    @classmethod
    def of_distribution(cls, distribution: LossDistribution, step: float) -> LossGrid:
        """Put a loss distribution on a grid.

        A loss between two places is split over them so that P and Q both keep their probability.
        The place adds information about the loss, so the result dominates `distribution`.
        """
        if not len(distribution.masses):
            return cls(step=step, first=0, masses=np.zeros(1), lost=min(1.0, distribution.lost))
        below = np.floor(distribution.losses / step)
        away = np.clip(distribution.losses - below * step, 0.0, step)
        away = np.minimum(away + 4 * _UNIT * np.abs(distribution.losses), step)
        exact = np.abs(np.rint(distribution.losses / step) * step - distribution.losses) == 0
        below = np.where(exact, np.rint(distribution.losses / step), below)
        away = np.where(exact, 0.0, away)
        upper = distribution.masses * np.minimum(
            np.expm1(-away) / math.expm1(-step) * (1 + 8 * _UNIT), 1.0
        )
        lower = (distribution.masses - upper) * (1 + _UNIT)
        places = below.astype(np.int64)
        first = int(places.min())
        masses = np.zeros(int(places.max()) - first + 2)
        np.add.at(masses, places - first, lower)
        np.add.at(masses, places - first + 1, upper)
        masses *= 1 + (len(distribution.masses) + 4) * _UNIT
        if not masses[-1]:
            masses = masses[:-1]
        return cls(step=step, first=first, masses=masses, lost=distribution.lost)

    def on_grid(self, step: float) -> LossGrid:
        """Return the distribution on another grid; see `of_distribution`."""
        distribution = LossDistribution(
            masses=self.masses,
            losses=self._losses,
            lost=self.lost,
            epsilon=max(0.0, float(self._losses[-1])),
        )
        return self.of_distribution(distribution, step)

    def coarsened(self) -> LossGrid:
        """Return the distribution on a grid of twice the step; see `of_distribution`."""
        masses = np.pad(self.masses, (self.first % 2, 0))
        masses = np.pad(masses, (0, 1 - len(masses) % 2))
        up = 1 / (1 + math.exp(-self.step)) * (1 + 8 * _UNIT)
        down = math.exp(-self.step) / (1 + math.exp(-self.step)) * (1 + 8 * _UNIT)
        even, odd = masses[::2].copy(), masses[1::2]
        even[1:] += odd * up
        even[:-1] += odd * down
        return LossGrid(
            step=2 * self.step,
            first=(self.first - self.first % 2) // 2,
            masses=even * (1 + 4 * _UNIT),
            lost=self.lost,
        )

    def compose(self, other: LossGrid) -> LossGrid:
        """Return the distribution of the sum of two independent losses, coarsened if it is long."""
        one, two = self, other
        while one.step < two.step:
            one = one.coarsened()
        while two.step < one.step:
            two = two.coarsened()
        if one.step != two.step:
            raise ParameterError("privacy.loss-grids-differ", step=self.step, other_step=other.step)
        masses = np.convolve(one.masses, two.masses)
        masses *= 1 + (min(len(one.masses), len(two.masses)) + 4) * _UNIT
        lost = (one.lost + two.lost * (1 - one.lost)) * (1 + 4 * _UNIT) + _TAIL
        both = LossGrid(
            step=one.step, first=one.first + two.first, masses=masses, lost=min(1.0, lost)
        )._without_tails()
        return both._within_places()

    def _within_places(self) -> LossGrid:
        distribution = self
        while len(distribution.masses) > _MOST_PLACES:
            distribution = distribution.coarsened()
        return distribution

    def _without_tails(self) -> LossGrid:
        """Move unlikely high losses to `lost`, and unlikely low ones up."""
        low = int(np.searchsorted(np.cumsum(self.masses), _TAIL))
        high = int(np.searchsorted(np.cumsum(self.masses[::-1]), _TAIL))
        if low + high >= len(self.masses):
            return self
        masses = self.masses[low : len(self.masses) - high].copy()
        masses[0] += self.masses[:low].sum() * (1 + _UNIT * (low + 4))
        lost = self.lost + float(self.masses[len(self.masses) - high :].sum())
        return LossGrid(step=self.step, first=self.first + low, masses=masses, lost=min(1.0, lost))

    def repeated(self, count: int) -> LossGrid:
        """Return the distribution of the sum of `count` independent losses of this distribution."""
        check_whole("count", count, 1)
        result, square, rest = None, self, count
        while True:
            if rest & 1:
                result = square if result is None else result.compose(square)
            rest >>= 1
            if not rest:
                assert result is not None
                return result
            square = square.compose(square)

    @property
    def _losses(self) -> npt.NDArray[np.float64]:
        exact = (self.first + np.arange(len(self.masses))) * self.step
        return np.asarray(exact + 2 * _UNIT * np.abs(exact), np.float64)

    @property
    def last_loss(self) -> float:
        """The largest finite loss."""
        return float(self._losses[-1])

    def delta(self, epsilon: float) -> float:
        """Return the least delta at an `epsilon` of at least 0, rounded up."""
        losses = self._losses
        above = int(np.searchsorted(losses, epsilon))
        excess = self.masses[above:] * -np.expm1(epsilon - losses[above:])
        return min(1.0, self.lost + float(excess.sum()) * (1 + (len(excess) + 8) * _UNIT))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon found whose delta is at most `delta`; infinity if none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(0.0, self.last_loss)
        if self.delta(high) > delta:
            return math.inf
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if self.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high


def grid_step(distribution: LossDistribution, count: int) -> float:
    """Return a grid step for composing a loss distribution with itself.

    If every loss is 0, E or -E, the step is E and nothing is rounded. Otherwise E is a multiple
    of the step, and the variance of the loss grows by a few millionths of E squared.
    """
    if distribution.epsilon <= _FINEST:
        return _FINEST
    if distribution.is_even:
        return distribution.epsilon
    steps = math.ceil(_FINE / min(math.sqrt(count), 4.0))
    return math.nextafter(distribution.epsilon / steps, math.inf)


def compose_losses(parts: Sequence[tuple[LossDistribution, int]], delta: float) -> float:
    """Return the epsilon of independent releases together, rounded up.

    `parts` contains each distribution with its number of releases. At a `delta` of 0 the result is
    the sum of the pure losses, and never more.
    """
    pure = sum_losses([(distribution.pure_epsilon, times) for distribution, times in parts])
    useful = [
        (distribution, times)
        for distribution, times in parts
        if times and (distribution.epsilon or distribution.lost)
    ]
    if delta == 0 or not useful:
        return pure
    together = compose_distributions(useful)
    return pure if together is None else min(pure, together.epsilon(delta))


def compose_distributions(parts: Sequence[tuple[LossDistribution, int]]) -> LossGrid | None:
    """Return a distribution that dominates the total loss of independent releases.

    `parts` is not empty, and each distribution has at least one release. None if a loss is
    unbounded.
    """
    if any(math.isinf(distribution.epsilon) for distribution, _ in parts):
        return None
    powers = [
        LossGrid.of_distribution(distribution, grid_step(distribution, times)).repeated(times)
        for distribution, times in _alike_together(parts)
    ]
    if len({math.frexp(power.step)[0] for power in powers}) > 1:
        powers = _on_one_grid(powers, parts)
    # Compose the two shortest first. The place breaks ties, as distributions have no order.
    heap = [(len(power.masses), place, power) for place, power in enumerate(powers)]
    heapq.heapify(heap)
    for place in range(len(heap), 2 * len(heap) - 1):
        one, two = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
        both = one.compose(two)
        heapq.heappush(heap, (len(both.masses), place, both))
    return heap[0][2]


def _alike_together(
    parts: Sequence[tuple[LossDistribution, int]],
) -> list[tuple[LossDistribution, int]]:
    counts: dict[tuple[bytes, bytes, float], tuple[LossDistribution, int]] = {}
    for distribution, times in parts:
        key = (distribution.masses.tobytes(), distribution.losses.tobytes(), distribution.lost)
        counts[key] = (distribution, counts.get(key, (distribution, 0))[1] + times)
    return list(counts.values())


def _on_one_grid(
    distributions: Sequence[LossGrid], parts: Sequence[tuple[LossDistribution, int]]
) -> list[LossGrid]:
    spread = math.hypot(*(math.sqrt(times) * distribution.epsilon for distribution, times in parts))
    step = max(spread / (8 * _FINE), _FINEST)
    return [distribution.on_grid(step)._within_places() for distribution in distributions]


def sum_losses(parts: Sequence[tuple[float, int]]) -> float:
    """Return the sum of ``epsilon * times`` over all parts, rounded up."""
    paid = [(epsilon, times) for epsilon, times in parts if times]
    if any(math.isinf(epsilon) for epsilon, _ in paid):
        return math.inf
    return ratio_up(sum((times * Fraction(epsilon) for epsilon, times in paid), Fraction(0)))
