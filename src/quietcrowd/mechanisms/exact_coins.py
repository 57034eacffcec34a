"""Coins whose chance is an irrational number, thrown exactly with random words.

A coin of chance p shows heads where a uniform number, read from words of 32 bits as its binary
digits, is less than p. The first word settles nearly every throw: it is compared with the first 32
digits of p. Only where they are equal, once in 2^32 throws, the next word is compared with the next
32 digits, and so on, however many it takes: no chance is rounded. A page's code does the same, word
by word: ``docs/theory/exact-noise.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.mechanisms.randomness import WordSource

__all__ = [
    "Chance",
    "decaying",
    "first_digits",
    "logistic",
    "settle",
    "settled",
    "shows_heads",
    "throw",
]

Chance: TypeAlias = Callable[[int], int]
"""Gives ``floor(p 2**n)``, the first n binary digits of a chance p."""

WORD_BITS = 32

GUARD = 20
"""Decimal digits beyond those that are wanted."""


def decaying(rate: Fraction) -> Chance:
    """Return the chance ``exp(-rate)``; `rate` above 0."""
    return lambda bits: _digits(rate, bits, lambda power: 1 / power)


def logistic(rate: Fraction) -> Chance:
    """Return the chance ``1 / (1 + exp(rate))``; `rate` above 0."""
    return lambda bits: _digits(rate, bits, lambda power: 1 / (1 + power))


def first_digits(chance: Chance) -> int:
    """Return what a first word is compared with."""
    return chance(WORD_BITS)


def settle(chance: Chance, words: WordSource) -> bool:
    """Return whether the coin shows heads, given that the first word was equal to its digits.

    Parameters
    ----------
    chance : Chance
        Of heads.
    words : WordSource
        Where further words come from, one at a time.
    """
    bits, drawn = WORD_BITS, first_digits(chance)
    while True:
        bits += WORD_BITS
        drawn = drawn << WORD_BITS | int(words(1)[0])
        digits = chance(bits)
        if drawn != digits:
            return drawn < digits


def shows_heads(word: int, chance: Chance, words: WordSource) -> bool:
    """Return whether one coin shows heads, given its first word."""
    digits = first_digits(chance)
    return settle(chance, words) if word == digits else word < digits


def throw(chance: Chance, words: WordSource) -> bool:
    """Return whether one coin shows heads."""
    return shows_heads(int(words(1)[0]), chance, words)


def settled(
    drawn: npt.NDArray[np.uint32],
    digits: npt.NDArray[np.uint32],
    chance_of: Callable[[int], Chance],
    words: WordSource,
) -> npt.NDArray[np.bool_]:
    """Return which coins show heads, given their first words.

    Parameters
    ----------
    drawn : ndarray of uint32, shape (throws, coins)
        First words.
    digits : ndarray of uint32, shape (coins,)
        First digits of each coin.
    chance_of : callable
        Gives the chance of a coin by its place.
    words : WordSource
        Where further words come from: for each throw that is not settled, in order.
    """
    heads: npt.NDArray[np.bool_] = drawn < digits
    for row, coin in np.argwhere(drawn == digits):
        heads[row, coin] = settle(chance_of(int(coin)), words)
    return heads


def _digits(rate: Fraction, bits: int, of_power: Callable[[Decimal], Decimal]) -> int:
    """Return ``floor(p 2**bits)`` for p a function of ``exp(rate)``, to the last digit.

    More decimal digits are taken until the error cannot matter: p is irrational, so they end.
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
