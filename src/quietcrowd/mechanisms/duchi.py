"""Duchi's mechanism for numbers, with two possible reports."""

from fractions import Fraction
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.bounded_numbers import BoundedNumbers


@frozen(kw_only=True, slots=False)
class DuchiMechanism(BoundedNumbers):
    """Duchi's mechanism: one of two numbers, one below the domain and one above it.

    For answers from -1 to 1 the report is C or -C, with
    ``C = (exp(epsilon) + 1) / (exp(epsilon) - 1)``, and C has the probability ``1/2 + x / (2 C)``
    for an answer x. A report is a single bit. Below an epsilon of 0.609 it has the smallest
    worst-case variance of the pure mechanisms for numbers here. Unbiased reports of more than two
    numbers can have slightly less.

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
