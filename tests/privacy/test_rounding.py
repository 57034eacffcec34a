import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.privacy.rounding import exp_of, log_ratio_up, round_up, show_loss


@given(st.decimals(-1000, 1000, allow_nan=False, places=30))
def test_round_up_is_the_next_float(value):
    rounded = round_up(value)
    assert Decimal(rounded) >= value
    assert Decimal(math.nextafter(rounded, -math.inf)) < value


@given(st.integers(1, 2**32), st.integers(1, 2**32))
def test_logarithm_is_never_below(one, other):
    ratio = Fraction(max(one, other), min(one, other))
    value = log_ratio_up(ratio)
    assert value >= 0
    assert math.isclose(value, math.log(ratio), rel_tol=1e-12, abs_tol=1e-15)
    assert (value == 0) == (ratio == 1)
    with localcontext(Context(prec=80)):
        assert Decimal(value) >= (Decimal(ratio.numerator) / ratio.denominator).ln()


@given(st.floats(0, 16))
def test_exponential(value):
    assert math.isclose(exp_of(Decimal(value)), math.exp(value), rel_tol=1e-13)


@given(st.floats(1e-6, 1e6), st.integers(1, 6))
def test_a_shown_loss_is_never_below_by_more_than_dust(loss, digits):
    shown = float(show_loss(loss, digits))
    assert loss * (1 - 1e-11) <= shown <= loss * (1 + 10 ** (1 - digits) + 1e-11)
