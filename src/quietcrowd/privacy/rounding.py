"""Logarithms, exponentials and sums that round to the safe side."""

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction

_CONTEXT = Context(prec=60)
_SLACK = Decimal(10) ** -50
_DUST = Decimal("0.999999999999")


def round_up(value: Decimal) -> float:
    """Return the smallest float that is at least `value`."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def ratio_up(ratio: Fraction) -> float:
    """Return the smallest float that is at least `ratio`."""
    nearest = float(ratio)
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)


def as_entered(number: float) -> Fraction:
    """Return the shortest decimal that a float prints as; 0.1 becomes exactly one tenth."""
    return Fraction(repr(float(number)))


def decimal_up(ratio: Fraction) -> float:
    """Return the smallest float whose printed decimal is at least `ratio`.

    It compares with an entered limit as the exact ratio does with the entered decimal.
    """
    nearest = float(ratio)
    return nearest if as_entered(nearest) >= ratio else math.nextafter(nearest, math.inf)


def least_meant(number: float) -> Fraction:
    """Return the smaller of a float and the decimal that it prints as."""
    return min(Fraction(number), as_entered(number))


def log_ratio_up(ratio: Fraction) -> float:
    """Return ln of a ratio of at least 1, rounded up; exactly 0 for 1."""
    if ratio == 1:
        return 0.0
    quotient = _CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return round_up(_CONTEXT.add(_CONTEXT.ln(quotient), _SLACK))


def exp_of(exponent: Decimal) -> Decimal:
    """Return exp to 50 digits, rounded down; exp(0) is exactly 1."""
    if not exponent:
        return Decimal(1)
    return _CONTEXT.multiply(_CONTEXT.exp(exponent), _CONTEXT.subtract(Decimal(1), _SLACK))


def show_loss(epsilon: float, digits: int = 4) -> str:
    """Format a loss with a few significant digits, rounded up so that "at most" remains true.

    A relative excess of 1e-12 is ignored: the float 0.1 prints as 0.1.
    """
    if not math.isfinite(epsilon) or epsilon == 0:
        return f"{epsilon:g}"
    shown = _CONTEXT.multiply(Decimal(epsilon), _DUST)
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING)):
        return f"{float(+shown):.{digits}g}"
