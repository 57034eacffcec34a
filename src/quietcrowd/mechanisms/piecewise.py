"""The piecewise mechanism for numbers, with more reports near the answer."""

from fractions import Fraction
from typing import ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.bounded_numbers import BoundedNumbers


@frozen(kw_only=True, slots=False)
class PiecewiseMechanism(BoundedNumbers):
    """Piecewise mechanism: a number, more often from a window about the answer than elsewhere.

    For answers from -1 to 1 a report lies between -C and C, with
    ``C = (exp(epsilon / 2) + 1) / (exp(epsilon / 2) - 1)``. A window of width ``C - 1`` moves with
    the answer; a number in it is ``exp(epsilon)`` times as likely as one outside. Above an epsilon
    of about 1.3 the variance is less than that of Duchi's mechanism. Methods that use the
    distribution gain more, since the windows of many reports soon confine the truth.

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
    Privacy", ICDE 2019, Algorithm 2. On the grid: ``docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = PiecewiseMechanism(domain=Interval(low=-1, high=1), epsilon=2.0)
    >>> round(mechanism.channel.variance, 3), round(mechanism.guarantee().epsilon, 4)
    (1.227, 2.0)
    """

    name: ClassVar[str] = "piecewise"

    @property
    @override
    def window_share(self) -> Fraction:
        return Fraction(1)
