"""No number of a mechanism or a guarantee depends on the decimal arithmetic that a program sets."""

from decimal import ROUND_DOWN, ROUND_UP, Decimal, localcontext
from fractions import Fraction

import pytest

from quietcrowd.mechanisms.channels.base import other_weight_for
from quietcrowd.mechanisms.channels.noise import laplace_thresholds
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd.privacy.rounding import exp_of, log_ratio_up
from quietcrowd.privacy.two_layer.flips import cell_epsilon
from quietcrowd.privacy.two_layer.weights import drawn_cell_epsilon, drawn_row_epsilon

WEIGHTS = range(10**8, 2**31, 10**8)
NUMBERS = {
    "a weight": lambda: other_weight_for(4, 1.234),
    "thresholds": lambda: laplace_thresholds.__wrapped__(1.7),
    "an exponential": lambda: exp_of(Decimal("1.2345678901")),
    "a logarithm": lambda: log_ratio_up(Fraction(2**32 - 1, 3)),
    "a shown loss": lambda: show_loss(1.23456789012),
    "a flip that is shared": lambda: cell_epsilon(277, labels=2, low=0, high=2**31, total=2**32),
    "a cell of a drawn weight": lambda: drawn_cell_epsilon(50, weights=WEIGHTS, others=1),
    "a row of drawn weights": lambda: drawn_row_epsilon(50, weights=WEIGHTS, others=1, null=True),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("rounding", [ROUND_DOWN, ROUND_UP])
def test_a_program_may_calculate_as_it_likes(name, rounding):
    usual = NUMBERS[name]()
    with localcontext(prec=4, rounding=rounding):
        assert NUMBERS[name]() == usual
