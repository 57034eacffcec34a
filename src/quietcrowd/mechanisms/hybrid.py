"""The hybrid mechanism for numbers: piecewise or Duchi's, by a coin."""

from fractions import Fraction
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.bounded_numbers import BoundedNumbers
from quietcrowd.mechanisms.channels.bounded_law import BITS
from quietcrowd.mechanisms.channels.coins import decaying

LEAST_EPSILON = 0.609352
"""From here on the coin helps: the largest variance with it equals that of Duchi's mechanism."""


@frozen(kw_only=True, slots=False)
class HybridMechanism(BoundedNumbers):
    """Hybrid mechanism: piecewise or, with probability ``exp(-epsilon / 2)``, Duchi's.

    The variance is nearly the same for all answers. In the worst case it is below that of either,
    on the default grid up to an epsilon of 8. Beyond, the windows of the piecewise mechanism are a
    few steps wide, and its variance is smaller. Duchi's two numbers move to the nearest ones of the
    piecewise mechanism, and all numbers shift together so that reports are unbiased. Up to an
    epsilon of 0.609 the mechanism is Duchi's.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Largest privacy loss of one answer, natural logarithm, above 0 and at most 16.
    step : float, optional
        Step of the grid, a power of two that makes at most 2^16 steps; see `Grid.over`.

    Raises
    ------
    ParameterError
        If an argument is invalid, or epsilon is too small for the grid.

    Guarantee
    ---------
    Pure and exact: the logarithm of a ratio of two integer weights, rounded up, slightly less than
    epsilon. It protects an answer against another one. Participation is not protected, since
    missing answers are not reported.

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
