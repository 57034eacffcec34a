"""The hybrid mechanism: the piecewise one or Duchi's, by a coin."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.bounded_law import BITS
from quietcrowd.mechanisms.bounded_numbers import BoundedNumbers
from quietcrowd.mechanisms.exact_coins import decaying

__all__ = ["HybridMechanism"]

LEAST_EPSILON = 0.609352
"""From it on the coin helps: where the largest variance with it is that of Duchi's mechanism."""


@frozen(kw_only=True, slots=False)
class HybridMechanism(BoundedNumbers):
    """Report as the piecewise mechanism does, or, with probability ``exp(-epsilon / 2)``, as Duchi.

    With that coin the variance is nearly the same for all answers, and in the worst case less than
    that of either, on the default grid up to an epsilon of 8: beyond, the windows of the piecewise
    mechanism are a few steps wide, and it has less. Duchi's two numbers are moved to the nearest
    ones of the piecewise mechanism, and all of them together so that reports are unbiased. Up to an
    epsilon of 0.609 it is Duchi's alone.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Privacy loss of one answer at most, natural logarithm, above 0 and at most 16.
    step : float, optional
        Of the grid, a power of two that makes at most 2^16 steps; see `Grid.over`.

    Raises
    ------
    ParameterError
        Where the domain holds less than two numbers, epsilon is out of its range or too small for
        the grid, or the step is no power of two or makes too many steps.

    Guarantee
    ---------
    Pure and exact: the logarithm of a ratio of two integer weights, rounded up, a little less than
    epsilon. It holds for an answer against another one. Missing answers are not reported: who
    answered which task shows.

    References
    ----------
    N. Wang et al., "Collecting and Analyzing Multidimensional Data with Local Differential
    Privacy", ICDE 2019, Section III-C. On the grid: ``docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = HybridMechanism(domain=Interval(low=-1, high=1), epsilon=1.0)
    >>> round(mechanism.channel.variance, 2)
    4.29
    """

    name: ClassVar[str] = "hybrid"

    @property
    @override
    def window_share(self) -> Fraction:
        if self.epsilon < LEAST_EPSILON:
            return Fraction(0)
        return 1 - Fraction(decaying(Fraction(self.epsilon) / 2)(BITS), 2**BITS)
