"""Privacy loss of one attempt to release a synthetic claim, and of many.

An attempt samples one of a task's claims by weight and blurs it to a candidate. It releases the
candidate with a probability that increases with the number of claims in the candidate's bucket;
otherwise it reports only the failure. Neighbors differ in the value of one claim. All distributions
have integer weights, so that the loss is that of the code. Derivation:
``research/docs/theory/pris-crowd.md``. Without the drop, the test is that of Bindschaedler et al.,
PVLDB 2017.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.privacy.rounding import exp_of, log_ratio_up, ratio_up

_ALIKE = 1e-6
"""Floats with a smaller relative difference are compared exactly, as fractions."""

SHARES = (1.0, 0.9, 0.5, 0.1)
"""Fractions of delta for the single releases; the rest serves their composition."""

MOST_COMPOSED = 10**6
"""With more releases, losses are added."""

_SLACK = 1e-6
"""Bound of the relative rounding error of the sums below."""


@frozen(kw_only=True, slots=False)
class Attempt:
    """Properties of an attempt that determine its privacy loss.

    ``passes[c] / total`` is the probability of releasing a candidate with c claims in its bucket.
    It never decreases; the last entry is for any larger count. `gamma`, at least 1, is the largest
    ratio of two likelihoods in a bucket. `most` and `least`, above 0, bound the weights of claims.
    `claims` is the public maximum of claims per task.
    """

    passes: Sequence[int]
    total: int
    gamma: Fraction
    most: Fraction
    least: Fraction
    claims: int

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon of one attempt at a delta, rounded up.

        It is infinite if candidates that no other claim could have produced pass more often than
        `delta` allows, or if candidates are never dropped.
        """
        spare = Fraction(delta)
        if self._never == 0 or self._lost(0) > spare:
            return math.inf
        largest = self._failure_factor
        for others in self._worst_counts(delta):
            factor = self._factor(others, spare)
            if factor is None:
                return math.inf
            largest = max(largest, factor)
        return log_ratio_up(largest)

    def delta(self, epsilon: float) -> float:
        """Return a delta of one attempt at an epsilon, rounded up; 1 if a failure reveals more."""
        factor = Fraction(exp_of(Decimal(epsilon)))
        if self._never == 0 or factor < self._failure_factor:
            return 1.0
        worst = Fraction(0)
        for others in range(self._counts):
            beyond = self._pass(others + 1) - factor * self._pass(others)
            worst = max(worst, self._lost(others) + others * self._others(-beyond) * beyond)
        return min(1.0, ratio_up(worst))

    @property
    def _counts(self) -> int:
        """Number of counts of other claims in a bucket to examine; larger counts behave alike."""
        return min(self.claims, len(self.passes) + 1)

    @cached_property
    def _levels(self) -> npt.NDArray[np.float64]:
        levels = np.array(self.passes, np.float64) / self.total
        return levels[np.minimum(np.arange(self._counts + 1), len(levels) - 1)]

    def _worst_counts(self, delta: float) -> list[int]:
        """Return counts of other claims, at least 1, that include the one of the largest loss."""
        others, less, more = np.arange(1, self._counts), self._levels[1:-1], self._levels[2:]
        lost = float(self.most) * more - delta
        shared = others * np.where(lost > 0, *(float(self._others(sign)) for sign in (1, -1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = (more + lost / shared) / less
        bounded = less > 0
        largest = factors[bounded].max(initial=0.0)
        unsure = ~bounded & (more > 0)
        return [int(other) for other in others[unsure | (factors >= largest * (1 - _ALIKE))]]

    def _factor(self, others: int, spare: Fraction) -> Fraction | None:
        """Return exp(loss) if a claim leaves a bucket with `others` others; None if unbounded.

        `spare` is the probability that delta covers.
        """
        lost = self._lost(others) - spare
        needed = self._pass(others + 1) + lost / (others * self._others(lost))
        if needed <= 0:
            return Fraction(1)
        return needed / self._pass(others) if self._pass(others) else None

    def _others(self, lost: Fraction | int) -> Fraction:
        """Bound weight times likelihood of another claim in the bucket, from below if `lost` > 0.

        Otherwise the bound is from above. Likelihoods are relative to that of the removed claim.
        """
        return self.least / self.gamma if lost > 0 else self.most * self.gamma

    @property
    def _never(self) -> Fraction:
        """Least probability that a candidate fails, over all counts."""
        return 1 - self._pass(len(self.passes))

    @cached_property
    def _failure_factor(self) -> Fraction:
        """Largest factor by which the probability of failure can increase."""
        steps = (1 - self._levels[:-1]) / (1 - self._levels[1:])
        near = np.flatnonzero(steps >= steps.max() * (1 - _ALIKE))
        most = max((1 - self._pass(int(o))) / (1 - self._pass(int(o) + 1)) for o in near)
        return most * (1 - self.most) + self.most / self._never

    def _pass(self, count: int) -> Fraction:
        return Fraction(int(self.passes[min(count, len(self.passes) - 1)]), self.total)

    def _lost(self, others: int) -> Fraction:
        """Bound the probability to sample a claim and release its candidate, given other claims."""
        return self.most * self._pass(others + 1)


def composed_delta(epsilon: float, count: int, steps: int) -> float:
    """Return the least delta of ``(count - 2 steps) epsilon`` for `count` losses of `epsilon`.

    `steps` is between 0, for the sum of losses at delta 0, and ``count // 2``. The delta holds for
    all mechanisms with this loss (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3).
    """
    if steps == 0 or epsilon == 0:
        return 0.0
    place = np.arange(steps)
    later = place[1:]
    ways = np.concatenate([[0.0], np.cumsum(np.log((count - later + 1) / later))])
    lead = (count - place) * epsilon - count * np.logaddexp(0.0, epsilon)
    gap = -np.expm1(-2 * (steps - place) * epsilon)
    return float(min(1.0, np.exp(ways + lead + np.log(gap)).sum() * (1 + _SLACK)))


def composed_epsilon(epsilon: float, delta: float, count: int, total_delta: float) -> float:
    """Return the loss of `count` (epsilon, delta) releases at `total_delta`, rounded up.

    It is at most ``count * epsilon``, and infinite if the deltas together exceed `total_delta`,
    which is below 1. Source: see `composed_delta`.
    """
    kept = -math.expm1(count * math.log1p(-delta)) * (1 + _SLACK) if delta < 1 else 1.0
    if delta * count <= total_delta < kept:
        kept = total_delta  # the sum of deltas always suffices, without slack
    if kept > total_delta or math.isinf(epsilon):
        return math.inf
    spare = (total_delta - kept) / (1 - kept)
    low, high = 0, count // 2 if count <= MOST_COMPOSED else 0
    while low < high:
        middle = (low + high + 1) // 2
        if composed_delta(epsilon, count, middle) <= spare:
            low = middle
        else:
            high = middle - 1
    return add_losses(epsilon, count - 2 * low)


def compose_curve(epsilon_at: Callable[[float], float], count: int, total_delta: float) -> float:
    """Return the least loss found for `count` releases that trade epsilon against delta."""
    each = [share * total_delta / count for share in SHARES]
    return min(composed_epsilon(epsilon_at(delta), delta, count, total_delta) for delta in each)
