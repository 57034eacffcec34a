"""Logarithms and exponentials that err on the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction

__all__ = [
    "as_entered",
    "decimal_up",
    "exp_of",
    "least_meant",
    "log_ratio_up",
    "ratio_up",
    "round_up",
    "show_loss",
]

_CONTEXT = Context(prec=60)
_SLACK = Decimal(10) ** -50
_DUST = Decimal("0.999999999999")


def round_up(value: Decimal) -> float:
    """Return the smallest float that is not below `value`."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def ratio_up(ratio: Fraction) -> float:
    """Return the smallest float that is not below a ratio of integers."""
    nearest = float(ratio)
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)


def as_entered(number: float) -> Fraction:
    """Return the shortest decimal that a float prints as: 0.1 is one tenth, which no float is."""
    return Fraction(repr(float(number)))


def decimal_up(ratio: Fraction) -> float:
    """Return the least float whose decimal, as it prints, is not below a ratio.

    So a sum is at most a decimal that was entered exactly if the floats compare in the same way.
    """
    nearest = float(ratio)
    return nearest if as_entered(nearest) >= ratio else math.nextafter(nearest, math.inf)


def least_meant(number: float) -> Fraction:
    """Return the lesser of a float and of the decimal that it prints as."""
    return min(Fraction(number), as_entered(number))


def log_ratio_up(ratio: Fraction) -> float:
    """Return ln of a ratio of integers, at least 1, rounded up to a float; 0 for 1."""
    if ratio == 1:
        return 0.0
    quotient = _CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return round_up(_CONTEXT.add(_CONTEXT.ln(quotient), _SLACK))


def exp_of(exponent: Decimal) -> Decimal:
    """Return exp to 50 digits, rounded down; exp(0) is 1 exactly."""
    if not exponent:
        return Decimal(1)
    return _CONTEXT.multiply(_CONTEXT.exp(exponent), _CONTEXT.subtract(Decimal(1), _SLACK))


def show_loss(epsilon: float, digits: int = 4) -> str:
    """Print a loss with a few significant digits, rounded up: "at most" must be true.

    But for one part in 10^12: 0.1, which is no float, prints as 0.1.
    """
    if not math.isfinite(epsilon) or epsilon == 0:
        return f"{epsilon:g}"
    shown = _CONTEXT.multiply(Decimal(epsilon), _DUST)
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING)):
        return f"{float(+shown):.{digits}g}"
