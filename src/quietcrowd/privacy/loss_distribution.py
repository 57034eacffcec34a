"""Privacy losses on a grid, and what many of them come to.

Independent releases add their losses, so that the law of the sum is a convolution. Every step of
the arithmetic errs on the safe side: masses are upper bounds, losses are never rounded down.
Derivation and checks: ``docs/theory/accounting.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.loss_law import LossLaw
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.validation import check_whole

__all__ = ["LossDistribution", "compose_laws", "compose_losses", "grid_step", "sum_losses"]

_UNIT = 2.0**-52
_TAIL = 1e-20
"""Probability that is given up at each end in each convolution."""

_FINE = 1024
"""Steps of the largest loss of a single release."""

_MOST_PLACES = 2**15
_FINEST = 1e-9


@frozen(kw_only=True, eq=False)
class LossDistribution:
    """Probabilities of losses on a grid, under the worst two rows of answers.

    Attributes
    ----------
    step : float
        Of the grid; a loss is a whole number of steps.
    first : int
        The least loss, in steps.
    masses : ndarray, shape (losses,)
        Upper bounds on the probabilities of the losses from `first` on.
    lost : float
        Upper bound on the probability of an infinite loss.

    Examples
    --------
    >>> from quietcrowd.privacy.loss_law import pure_law
    >>> one = LossDistribution.of_law(pure_law(1.0), step=1.0)
    >>> round(one.repeated(50).epsilon(1e-6), 2)
    47.65
    """

    step: float
    first: int
    masses: npt.NDArray[np.float64]
    lost: float

    @classmethod
    def of_law(cls, law: LossLaw, step: float) -> LossDistribution:
        """Put a law on a grid.

        A loss between two places is split over them so that P and Q both keep their probability:
        who is told which of the two it was knows more, never less.

        Parameters
        ----------
        law : LossLaw
            The loss of one release.
        step : float
            Of the grid, above 0.
        """
        if not len(law.masses):
            return cls(step=step, first=0, masses=np.zeros(1), lost=min(1.0, law.lost))
        below = np.floor(law.losses / step)
        away = np.clip(law.losses - below * step, 0.0, step)
        away = np.minimum(away + 4 * _UNIT * np.abs(law.losses), step)
        exact = np.abs(np.rint(law.losses / step) * step - law.losses) == 0
        below = np.where(exact, np.rint(law.losses / step), below)
        away = np.where(exact, 0.0, away)
        upper = law.masses * np.minimum(np.expm1(-away) / math.expm1(-step) * (1 + 8 * _UNIT), 1.0)
        lower = (law.masses - upper) * (1 + _UNIT)
        places = below.astype(np.int64)
        first = int(places.min())
        masses = np.zeros(int(places.max()) - first + 2)
        np.add.at(masses, places - first, lower)
        np.add.at(masses, places - first + 1, upper)
        masses *= 1 + (len(law.masses) + 4) * _UNIT
        if not masses[-1]:
            masses = masses[:-1]
        return cls(step=step, first=first, masses=masses, lost=law.lost)

    def compose(self, other: LossDistribution) -> LossDistribution:
        """Return the law of the sum of two independent losses.

        Raises
        ------
        ParameterError
            Where the grids differ.
        """
        if self.step != other.step:
            raise ParameterError(
                f"losses on one grid can be added: the steps are {self.step!r} and {other.step!r}. "
                "Make both with the same step."
            )
        masses = np.convolve(self.masses, other.masses)
        masses *= 1 + (min(len(self.masses), len(other.masses)) + 4) * _UNIT
        lost = (self.lost + other.lost * (1 - self.lost)) * (1 + 4 * _UNIT) + _TAIL
        return LossDistribution(
            step=self.step, first=self.first + other.first, masses=masses, lost=min(1.0, lost)
        )._without_tails()

    def _without_tails(self) -> LossDistribution:
        """Return the law with the unlikely high losses lost, and the unlikely low ones raised."""
        low = int(np.searchsorted(np.cumsum(self.masses), _TAIL))
        high = int(np.searchsorted(np.cumsum(self.masses[::-1]), _TAIL))
        if low + high >= len(self.masses):
            return self
        masses = self.masses[low : len(self.masses) - high].copy()
        masses[0] += self.masses[:low].sum() * (1 + _UNIT * (low + 4))
        lost = self.lost + float(self.masses[len(self.masses) - high :].sum())
        return LossDistribution(
            step=self.step, first=self.first + low, masses=masses, lost=min(1.0, lost)
        )

    def repeated(self, count: int) -> LossDistribution:
        """Return the law of the sum of `count` independent losses like this one.

        Raises
        ------
        ParameterError
            Unless `count` is a whole number, at least 1.
        """
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
        """Return the least delta at `epsilon`, rounded up: the sum of max(0, P - exp(epsilon) Q).

        Parameters
        ----------
        epsilon : float
            At least 0.
        """
        losses = self._losses
        above = int(np.searchsorted(losses, epsilon))
        excess = self.masses[above:] * -np.expm1(epsilon - losses[above:])
        return min(1.0, self.lost + float(excess.sum()) * (1 + (len(excess) + 8) * _UNIT))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon found whose delta is at most `delta`; infinity if none is.

        Parameters
        ----------
        delta : float
            From 0 to 1.
        """
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


def grid_step(parts: Sequence[tuple[LossLaw, int]]) -> float:
    """Return the step of a grid for laws that are to be composed, each a number of times.

    Where every loss is 0, E or -E the grid is that of E, and nothing is rounded.
    """
    largest = max(law.epsilon for law, _ in parts)
    if largest <= _FINEST:
        return _FINEST
    if all(law.epsilon == largest and law.is_even for law, _ in parts):
        return largest
    count = sum(times for _, times in parts)
    smallest = min(law.epsilon for law, _ in parts)
    spread = math.sqrt(sum(times * law.epsilon**2 for law, times in parts))
    wanted = min(largest * math.sqrt(count) / _FINE, smallest / 2)
    parts_of_largest = max(1, math.floor(largest / max(wanted, 20 * spread / _MOST_PLACES)))
    return math.nextafter(largest / parts_of_largest, math.inf)


def compose_losses(parts: Sequence[tuple[LossLaw, int]], delta: float) -> float:
    """Return what independent releases lose together, rounded up.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        Each law, and how many releases have it.
    delta : float
        Of the pair (epsilon, delta); 0 for the pure loss, which is a sum.

    Returns
    -------
    float
        Never more than the sum of the pure losses.
    """
    pure = sum_losses([(law.pure_epsilon, times) for law, times in parts])
    useful = [(law, times) for law, times in parts if times and (law.epsilon or law.lost)]
    if delta == 0 or not useful:
        return pure
    together = compose_laws(useful)
    return pure if together is None else min(pure, together.epsilon(delta))


def compose_laws(parts: Sequence[tuple[LossLaw, int]]) -> LossDistribution | None:
    """Return a law that dominates what independent releases lose together.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        Each law, and how many releases have it; at least one, each at least once.

    Returns
    -------
    LossDistribution or None
        None where a law has no bound.
    """
    if any(math.isinf(law.epsilon) for law, _ in parts):
        return None
    step = grid_step([(law, times) for law, times in parts if law.epsilon] or parts)
    together: LossDistribution | None = None
    for law, times in parts:
        each = LossDistribution.of_law(law, step).repeated(times)
        together = each if together is None else together.compose(each)
    return together


def sum_losses(parts: Sequence[tuple[float, int]]) -> float:
    """Return a sum of losses, each a number of times, rounded up."""
    paid = [(epsilon, times) for epsilon, times in parts if times]
    if any(math.isinf(epsilon) for epsilon, _ in paid):
        return math.inf
    return ratio_up(sum((times * Fraction(epsilon) for epsilon, times in paid), Fraction(0)))
