"""Coins of irrational chances, thrown exactly."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.mechanisms.channels.coins import (
    decaying,
    first_digits,
    logistic,
    resolve_coin,
    resolve_coins,
    shows_heads,
    throw,
)
from quietcrowd.mechanisms.randomness import words_in_turn

RATES = st.fractions(min_value=Fraction(1, 2**40), max_value=60).filter(lambda rate: rate > 0)


def words(*values):
    return words_in_turn(np.array(values, np.uint32))


def no_words(_):
    raise AssertionError("no further word is needed")


@given(RATES, st.sampled_from([1, 32, 64, 96, 300]))
def test_digits_are_those_of_the_chance(rate, bits):
    with localcontext(prec=200):
        power = (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        for chance, p in ((decaying(rate), 1 / power), (logistic(rate), 1 / (1 + power))):
            assert chance(bits) == int(p * 2**bits)


@given(RATES)
def test_more_digits_begin_with_the_fewer(rate):
    for chance in (decaying(rate), logistic(rate)):
        for fewer, more in pairwise((32, 64, 96, 128)):
            assert chance(more) >> (more - fewer) == chance(fewer)


def test_the_first_word_settles_a_throw_unless_it_is_equal():
    chance = decaying(Fraction(1, 3))
    digits = first_digits(chance)
    assert shows_heads(digits - 1, chance, no_words)
    assert not shows_heads(digits + 1, chance, no_words)
    assert throw(chance, words(digits - 1))
    assert not throw(chance, words(2**32 - 1))


@pytest.mark.parametrize("equal", [0, 1, 3])
def test_equal_words_are_followed_by_others(equal):
    chance = logistic(Fraction(5, 7))
    digits = chance(32 * (equal + 2))
    following = [(digits >> 32 * place) & (2**32 - 1) for place in range(equal, -1, -1)]
    last = following[-1]
    assert resolve_coin(chance, words(*following[:-1], last - 1))
    assert not resolve_coin(chance, words(*following[:-1], last + 1))


def test_many_throws_take_further_words_in_order():
    coins = [decaying(Fraction(1, 2)), logistic(Fraction(2))]
    digits = np.array([first_digits(coin) for coin in coins], np.uint32)
    drawn = np.array([[0, 2**32 - 1], digits, digits + 1], np.uint32)
    second = [coin(64) & (2**32 - 1) for coin in coins]
    heads = resolve_coins(drawn, digits, coins.__getitem__, words(second[0] - 1, second[1] + 1))
    assert heads.tolist() == [[True, False], [True, False], [False, False]]
