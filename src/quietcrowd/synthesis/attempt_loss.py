"""What attempts to release synthetic numbers lose: one of them, and many together.

An attempt chooses one of a task's claims by its weight, blurs it to a candidate, and counts the
claims in the candidate's bucket: those that could have given it about as likely as the one chosen,
within a factor gamma. It releases the candidate with a probability that rises with the count; else
it says nothing but that it failed. Neighbours differ in the value of one claim. The laws of the
choice, of the blur and of the test are held in integers, so that the loss is that of what runs.
Derivation and checks: ``docs/theory/pris-crowd.md``. (The test without the drop is that of
Bindschaedler et al., PVLDB 2017.)
"""

from __future__ import annotations

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

__all__ = ["Attempt", "compose_curve", "composed_delta", "composed_epsilon"]

_ALIKE = 1e-6
"""Floats that differ by less are told apart in integers."""

SHARES = (1.0, 0.9, 0.5, 0.1)
"""Parts of a delta that the single releases may take; what remains serves the composition."""

MOST_COMPOSED = 10**6
"""The losses of more releases are added up."""

_SLACK = 1e-6
"""More than the relative rounding error of the sums below."""


@frozen(kw_only=True, slots=False)
class Attempt:
    """What the loss of one attempt depends on.

    Attributes
    ----------
    passes : sequence of int
        The weight, out of `total`, with which a candidate with 0, 1, 2, ... claims in its bucket is
        released: never falling; the last one is that of any larger number.
    total : int
        What a weight of 1 is.
    gamma : Fraction
        The largest ratio of two likelihoods in one bucket, at least 1.
    most, least : Fraction
        Bounds of the weights by which claims are chosen, above 0.
    claims : int
        How many claims a task has at most; public.

    Examples
    --------
    >>> quarter = Fraction(1, 4)
    >>> attempt = Attempt(passes=[1, 2, 4, 4], total=8, gamma=Fraction(4), most=quarter,
    ...     least=quarter, claims=4)
    >>> round(attempt.epsilon(delta=0.0625), 4), round(attempt.delta(epsilon=1.8), 4)
    (1.7918, 0.0625)
    """

    passes: Sequence[int]
    total: int
    gamma: Fraction
    most: Fraction
    least: Fraction
    claims: int

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon of one attempt at a delta, rounded up.

        Infinite where candidates pass more often than `delta` allows though no other claim could
        have given them, or where candidates are never dropped.
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
        """Return a delta of one attempt at an epsilon, rounded up.

        1 where `epsilon` is less than what failing tells.
        """
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
        """How many numbers of other claims in a bucket are to be looked at; then nothing rises."""
        return min(self.claims, len(self.passes) + 1)

    @cached_property
    def _levels(self) -> npt.NDArray[np.float64]:
        """Probabilities of passing with 0, 1, ... claims."""
        levels = np.array(self.passes, np.float64) / self.total
        return levels[np.minimum(np.arange(self._counts + 1), len(levels) - 1)]

    def _worst_counts(self, delta: float) -> list[int]:
        """Return the numbers of other claims, from 1 on, among which the largest loss is."""
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
        """Return exp of the loss where a bucket of so many others loses a claim; None: no bound.

        `spare` is what the loss need not cover.
        """
        lost = self._lost(others) - spare
        needed = self._pass(others + 1) + lost / (others * self._others(lost))
        if needed <= 0:
            return Fraction(1)
        return needed / self._pass(others) if self._pass(others) else None

    def _others(self, lost: Fraction | int) -> Fraction:
        """Return how likely another claim of the bucket gives the candidate, to a claim's weight.

        The least that it can be where something is lost, the most where something is to spare.
        """
        return self.least / self.gamma if lost > 0 else self.most * self.gamma

    @property
    def _never(self) -> Fraction:
        """The probability that a candidate fails, whatever its count."""
        return 1 - self._pass(len(self.passes))

    @cached_property
    def _failure_factor(self) -> Fraction:
        """By how much failing can become more likely, where it is always possible."""
        steps = (1 - self._levels[:-1]) / (1 - self._levels[1:])
        near = np.flatnonzero(steps >= steps.max() * (1 - _ALIKE))
        most = max((1 - self._pass(int(o))) / (1 - self._pass(int(o) + 1)) for o in near)
        return most * (1 - self.most) + self.most / self._never

    def _pass(self, count: int) -> Fraction:
        return Fraction(int(self.passes[min(count, len(self.passes) - 1)]), self.total)

    def _lost(self, others: int) -> Fraction:
        """Return how likely a claim gives a candidate that passes with so many others."""
        return self.most * self._pass(others + 1)


def composed_delta(epsilon: float, count: int, steps: int) -> float:
    """Return the delta at which `count` losses of `epsilon` make ``(count - 2 steps) epsilon``.

    Parameters
    ----------
    epsilon : float
        Of each release, finite, at least 0.
    count : int
        How many.
    steps : int
        From 0 (their sum, no delta) to ``count // 2``.

    References
    ----------
    P. Kairouz, S. Oh, P. Viswanath, "The Composition Theorem for Differential Privacy", ICML 2015,
    Theorem 3.3: the smallest that holds for all mechanisms of that loss.

    Examples
    --------
    >>> composed_delta(0.1, 60, 0)
    0.0
    >>> round(composed_delta(0.1, 60, 20), 5)
    0.00269
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
    """Return the loss of `count` releases together, each of (epsilon, delta), rounded up.

    Parameters
    ----------
    epsilon, delta : float
        Of each release.
    count : int
        How many, at least 1.
    total_delta : float
        Of the pair that results, below 1.

    Returns
    -------
    float
        At most ``count * epsilon``; infinite where the deltas alone exceed `total_delta`.

    References
    ----------
    As `composed_delta`.

    Examples
    --------
    >>> composed_epsilon(2.0, 0.0, 3, 0.0)
    6.0
    >>> round(composed_epsilon(0.05, 0.0, 60, 1e-6), 2)
    1.7
    """
    kept = -math.expm1(count * math.log1p(-delta)) * (1 + _SLACK) if delta < 1 else 1.0
    if delta * count <= total_delta < kept:
        kept = total_delta  # a sum of deltas is always enough, without any slack
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
    """Return the least loss found of `count` releases that each trade epsilon against delta.

    Parameters
    ----------
    epsilon_at : callable
        Loss of one release but for a given delta.
    count : int
        How many, at least 1.
    total_delta : float
        Of the pair that results.
    """
    each = [share * total_delta / count for share in SHARES]
    return min(composed_epsilon(epsilon_at(delta), delta, count, total_delta) for delta in each)
