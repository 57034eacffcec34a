"""Distribution of a bounded numeric report, in integer weights.

An answer is a place on a public grid; reports have slightly more places. For each answer the
weights of the reports sum to 2^32, so that one uniform word draws a report. The loss is ln of the
largest ratio of two weights, as in a `TableChannel`. The table has a closed form and is never
built. It is the sum of three parts:

- ``base`` for every report;
- ``lift`` for each report in a window of ``window`` places, which begins at the answer's place;
- at each of two places, the ends, ``least``, plus ``slope`` for each step between the answer and
  the other end.

The window without ends is the piecewise mechanism, the ends without a window are Duchi's. The mean
of a report is linear in the answer, so the reports can be scaled to be unbiased. Derivation:
``research/docs/theory/bounded-number-mechanisms.md``.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.coins import decaying
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.report_domains import Numbers

TOTAL = 2**32
"""Sum of the weights of an answer, which is the number of 32-bit words."""

MOST_STEPS = 2**16
"""With more steps of the grid, weights out of 2^32 would be too coarse."""

MOST_EPSILON = 16.0
"""Weights out of 2^32 have no useful precision for a larger loss."""

BITS = 96
"""Binary digits of exp(-epsilon), which is rounded up, towards more noise."""

Integers: TypeAlias = npt.NDArray[np.int64]
Places: TypeAlias = npt.NDArray[Any] | int


@frozen(kw_only=True, slots=False)
class BoundedDistribution:
    """Weights of all reports given an answer; they sum to 2^32 for each.

    Every report has the weight `base`. An answer gives `lift` more to the `window` reports from its
    own place on. There are ``steps + window`` reports, or two if `window` is 0. The two `ends` are
    symmetric about the middle. Given the answer a, the first has ``least + slope (steps - a)``
    more, the second ``least + slope a``.
    """

    grid: Grid
    base: int
    window: int
    lift: int
    ends: tuple[int, int]
    least: int
    slope: int

    @classmethod
    def for_loss(cls, grid: Grid, epsilon: float, share: Fraction) -> Self:
        """Return the weights for a loss of at most epsilon, above 0 and at most 16.

        `share`, 0 to 1, is the probability of the part with the window; the ends have the rest.
        Raises ParameterError if the grid has more than 2^16 steps, or epsilon is too small for the
        weights.
        """
        if grid.steps > MOST_STEPS:
            raise ParameterError(
                "mechanisms.too-many-steps", step=grid.step, steps=grid.steps, most_steps=MOST_STEPS
            )
        decay = decaying(Fraction(epsilon))(BITS) + 1
        ratio = Fraction(2**BITS - decay, decay)  # exp(epsilon) - 1, rounded down
        base, window, lift, reports = 0, 0, 0, 2
        if share:
            half = decaying(Fraction(epsilon) / 2)(BITS)
            window = min(max((2 * grid.steps * half + 2**BITS) >> (BITS + 1), 1), grid.steps)
            reports = grid.steps + window
            base, lift = _window_weights(int(share * TOTAL), reports, window, ratio)
            ratio = Fraction(lift, base)
        rest = TOTAL - base * reports - lift * window
        slope = int(rest * ratio / (grid.steps * (ratio + 2))) if share < 1 else 0
        if (share and lift < 1) or (share < 1 and slope < 1):
            raise ParameterError(
                "mechanisms.epsilon-too-small-for-steps", epsilon=epsilon, steps=grid.steps
            )
        first = 0
        if share and slope:
            half_apart = Fraction(lift * window, TOTAL - rest) * Fraction(rest, 2 * slope)
            first = max(int(Fraction(reports, 2) - half_apart), 0)
        return cls(
            grid=grid,
            base=base,
            window=window,
            lift=lift,
            ends=(first, reports - 1 - first),
            least=(rest - slope * grid.steps) // 2,
            slope=slope,
        )

    def check(self) -> None:
        """Raise ParameterError unless the weights sum to 2^32 and their loss is at most 16.

        Also raises if the numbers of reports exceed the range of floats, or do not depend on the
        answer.
        """
        total = self.windows + 2 * self.least + self.slope * self.steps
        first, last = self.ends
        parts = (
            (self.window > 0) == (self.base > 0) == (self.lift > 0)
            and self.window <= self.steps <= MOST_STEPS
            and 0 <= first < last == self.reports - 1 - first
            and self.window + self.slope > 0
            and (self.least > 0 or not self.slope)
        )
        try:
            if parts and total == TOTAL and self.epsilon <= MOST_EPSILON:
                _ = self.numbers
                return
        except (ArithmeticError, ParameterError):
            pass
        raise ParameterError("mechanisms.channel-weights-invalid", most_epsilon=MOST_EPSILON)

    @property
    def steps(self) -> int:
        """Number of steps of the answers' grid."""
        return self.grid.steps

    @property
    def reports(self) -> int:
        """Number of possible reports."""
        return self.steps + self.window if self.window else 2

    @property
    def windows(self) -> int:
        """Total weight of base and window."""
        return self.base * self.reports + self.lift * self.window

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of a report, ln of the largest ratio of two of its weights, rounded up."""
        far = Fraction(self.base + self.lift, self.base) if self.lift else Fraction(1)
        ends = Fraction(self.least + self.slope * self.steps, self.least) if self.slope else far
        return log_ratio_up(max(far, ends))

    @cached_property
    def loss(self) -> LossDistribution:
        """Loss distribution of the two farthest answers, which are the worst at every epsilon.

        With both a window and ends it is an upper bound: a report is assumed to show its part, too.
        """
        lifted, high = self.base + self.lift, self.least + self.slope * self.steps
        ahead, behind = lifted * self.window, self.base * self.window
        even = self.base * (self.reports - 2 * self.window) if self.window else 0
        first = np.array([ahead, behind, even, high, self.least], np.float64) / TOTAL
        second = np.array([behind, ahead, even, self.least, high], np.float64) / TOTAL
        return LossDistribution.of_pair(first, second, self.epsilon)

    @cached_property
    def step(self) -> Fraction:
        """Distance of the numbers of neighboring reports, in the unit of the answers."""
        rise = self.lift * self.window + self.slope * (self.ends[1] - self.ends[0])
        return Fraction(self.grid.step) * TOTAL / rise

    @cached_property
    def origin(self) -> Fraction:
        """Number of the first report, by which reports are unbiased."""
        return Fraction(self.grid.low) - self.step * self._moment(0, 1)

    @cached_property
    def numbers(self) -> Numbers:
        """Domain of the reports, with the floats nearest to `origin` and `step`."""
        return Numbers(origin=float(self.origin), step=float(self.step), count=self.reports)

    def variance(self, place: int) -> float:
        """Return the variance of a report given the answer at a place, as the nearest float."""
        return float(self.step**2 * self._spread(place))

    def variance_share(self, place: int) -> float:
        """Return `variance` in squared widths of the grid, which may exceed the range of floats."""
        return float((self.step / Fraction(self.grid.width)) ** 2 * self._spread(place))

    @cached_property
    def most_variance(self) -> float:
        """Largest variance over all answers.

        As a symmetric quadratic function of the place, it is that of an end or of the middle.
        """
        return max(self.variance(0), self.variance(self.steps // 2))

    @cached_property
    def most_deviation(self) -> float:
        """Root of `most_variance`, even if floats cannot represent the square."""
        spread = max(self._spread(0), self._spread(self.steps // 2))
        return float(self.step) * math.sqrt(spread)

    def _spread(self, place: int) -> Fraction:
        """Return the variance of a report given the answer at a place, in squared places."""
        return self._moment(place, 2) - self._moment(place, 1) ** 2

    def _moment(self, place: int, power: int) -> Fraction:
        """Return the mean of the first or second power of a report, in places."""
        weights = (self.least + self.slope * (self.steps - place), self.least + self.slope * place)
        total = self.base * _powers(self.reports, power)
        total += self.lift * (_powers(place + self.window, power) - _powers(place, power))
        total += sum(w * end**power for w, end in zip(weights, self.ends, strict=True))
        return Fraction(total, TOTAL)

    def weights(self, reports: Places, answers: Places) -> Integers:
        """Return the weight of each report given its answer; places broadcast, others weigh 0."""
        own, given = np.asarray(reports, np.int64), np.asarray(answers, np.int64)
        inside = (own >= given) & (own < given + self.window)
        weights = self.base + self.lift * inside
        for end, apart in zip(self.ends, (self.steps - given, given), strict=True):
            weights = weights + (own == end) * (self.least + self.slope * apart)
        found: Integers = np.where((own >= 0) & (own < self.reports), weights, 0)
        return found

    def drawn(self, answers: npt.NDArray[Any], words: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
        """Return the reports that 32-bit words draw, as `Numbers` stores them.

        `answers` are places and have the shape (n,) of `words`. The lowest words draw from the
        base, report by report. Then come the window, place by place, the first end and the second.
        """
        given, left = answers.astype(np.int64), words.astype(np.int64)
        beyond = left - self.base * self.reports
        inside = given + beyond // max(self.lift, 1)
        first = self.least + self.slope * (self.steps - given)
        at_end = np.where(beyond - self.lift * self.window < first, *self.ends)
        own = np.where(left < self.windows, inside, at_end)
        reports = np.where(beyond < 0, left // max(self.base, 1), own)
        return reports.astype(self.numbers.dtype)

    def describe(self) -> dict[str, int | list[int]]:
        """Return the integers, JSON-ready."""
        return {
            "base": self.base,
            "window": self.window,
            "lift": self.lift,
            "ends": list(self.ends),
            "least": self.least,
            "slope": self.slope,
        }


def _window_weights(total: int, reports: int, window: int, ratio: Fraction) -> tuple[int, int]:
    """Return base and lift with ``lift <= ratio base`` that leave an even rest of `total`."""
    total -= total % 2
    base = -int(-total // (reports + window * ratio))
    lift = (total - base * reports) // window
    return base, lift - (base * reports + lift * window) % 2


def _powers(count: int, power: int) -> int:
    """Return the sum of a power, 1 or 2, of the whole numbers below `count`."""
    if power == 1:
        return count * (count - 1) // 2
    return (count - 1) * count * (2 * count - 1) // 6
