"""Coins with irrational chances, thrown exactly with random words.

A coin of chance p shows heads if a uniform number, read from 32-bit words as its binary digits, is
less than p. The first word is compared with the first 32 digits of p. Only if they are equal, once
in 2^32 throws, is the next word compared with the next 32 digits, and so on. No chance is rounded.
The web page's code does the same, word by word: ``research/docs/theory/exact-noise.md``.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.mechanisms.randomness import WordSource

Chance: TypeAlias = Callable[[int], int]
"""Maps n to ``floor(p 2**n)``, the first n binary digits of a chance p."""

WORD_BITS = 32

GUARD = 20
"""Decimal digits beyond those requested."""


def decaying(rate: Fraction) -> Chance:
    """Return the chance ``exp(-rate)``; `rate` is above 0."""
    return lambda bits: _digits(rate, bits, lambda power: 1 / power)


def logistic(rate: Fraction) -> Chance:
    """Return the chance ``1 / (1 + exp(rate))``; `rate` is above 0."""
    return lambda bits: _digits(rate, bits, lambda power: 1 / (1 + power))


def first_digits(chance: Chance) -> int:
    """Return the number that a first word is compared with."""
    return chance(WORD_BITS)


def resolve_coin(chance: Chance, words: WordSource) -> bool:
    """Return whether a coin shows heads whose first word equaled its digits, word by word."""
    bits, drawn = WORD_BITS, first_digits(chance)
    while True:
        bits += WORD_BITS
        drawn = drawn << WORD_BITS | int(words(1)[0])
        digits = chance(bits)
        if drawn != digits:
            return drawn < digits


def shows_heads(word: int, chance: Chance, words: WordSource) -> bool:
    """Return whether a coin shows heads, given its first word."""
    digits = first_digits(chance)
    return resolve_coin(chance, words) if word == digits else word < digits


def throw(chance: Chance, words: WordSource) -> bool:
    """Return whether one coin shows heads."""
    return shows_heads(int(words(1)[0]), chance, words)


def resolve_coins(
    drawn: npt.NDArray[np.uint32],
    digits: npt.NDArray[np.uint32],
    chance_of: Callable[[int], Chance],
    words: WordSource,
) -> npt.NDArray[np.bool_]:
    """Return which coins show heads, given their first words.

    `drawn` has the shape (throws, coins), `digits`, the first digits of each coin, the shape
    (coins,). `chance_of` maps the place of a coin to its chance. Undecided throws take further
    words in order.
    """
    heads: npt.NDArray[np.bool_] = drawn < digits
    for row, coin in np.argwhere(drawn == digits):
        heads[row, coin] = resolve_coin(chance_of(int(coin)), words)
    return heads


def _digits(rate: Fraction, bits: int, of_power: Callable[[Decimal], Decimal]) -> int:
    """Return ``floor(p 2**bits)``, exactly, for p a function of ``exp(rate)``.

    The precision doubles until the error cannot matter; it ends because p is irrational.
    """
    precision = GUARD + bits // 3
    while True:
        with localcontext(Context(prec=precision)):
            power = (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
            scaled = of_power(power) * 2**bits
            error = Decimal(10) ** (GUARD // 2 - precision) * (1 + abs(scaled)) * (1 + int(rate))
            low, high = int(scaled - error), int(scaled + error)
        if low == high:
            return low
        precision *= 2
