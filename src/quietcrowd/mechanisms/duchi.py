"""Duchi's mechanism: one of two numbers, and the answer is how likely which of them is."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.bounded_numbers import BoundedNumbers

__all__ = ["DuchiMechanism"]


@frozen(kw_only=True, slots=False)
class DuchiMechanism(BoundedNumbers):
    """Report one of two numbers, one below the domain and one above it.

    On answers from -1 to 1 the report is C or -C, with
    ``C = (exp(epsilon) + 1) / (exp(epsilon) - 1)``, and C has the probability ``1/2 + x / (2 C)``
    for an answer x. A report is a single bit. Of the mechanisms for numbers here with a pure loss
    it has the smallest variance in the worst case at an epsilon below 0.609; unbiased reports of
    more than two numbers can have a little less.

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
    J. C. Duchi, M. I. Jordan, M. J. Wainwright, "Minimax Optimal Procedures for Locally Private
    Estimation", Journal of the American Statistical Association 113, 2018; N. Wang et al., ICDE
    2019, Algorithm 1. On the grid: ``docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = DuchiMechanism(domain=Interval(low=-1, high=1), epsilon=1.0)
    >>> round(mechanism.channel.variance, 3), mechanism.report_domain.count
    (4.683, 2)
    """

    name: ClassVar[str] = "duchi"

    @property
    @override
    def window_share(self) -> Fraction:
        return Fraction(0)
