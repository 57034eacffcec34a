"""Discrete Laplace noise, drawn exactly.

``P(Z = z)`` is proportional to ``exp(-|z| / scale)``. For two answers at most d steps apart, the
probabilities of every report differ by a factor of at most ``exp(d / scale)``, exactly. The
rounding of floats would reveal answers (Mironov, CCS 2012).

`laplace_noise` computes the noise from given random bytes, as the difference of two geometric
numbers. Their binary digits are independent, and digit i is 1 with probability
``1 / (1 + exp(2**i / scale))``. Each digit takes one comparison of a 256-bit word with a public
threshold. So the numbers of steps and bytes do not depend on the noise, unlike those of a rejection
sampler. Derivation and error: ``research/docs/theory/memoisation.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.coins import (
    Chance,
    decaying,
    first_digits,
    logistic,
    resolve_coins,
    throw,
)
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.reading import real
from quietcrowd.mechanisms.randomness import Randomness, WordSource, word_source
from quietcrowd.privacy.rounding import least_meant, ratio_up
from quietcrowd.validation import check_positive

Floats: TypeAlias = npt.NDArray[np.float64]

REACH = 64
"""Devices cut noise off beyond this many scales, which has a probability below 10^-27."""

BLOCK = 2**16
"""Simulated values per block."""

EXACT_BLOCK = 2**12
"""Exact values per block."""

LARGEST_POWER = 46

DRAWN_REACH = 32
"""Geometric numbers beyond this many scales have a rest in addition to their binary digits."""

WORD_BYTES = 32
WORD = 2 ** (8 * WORD_BYTES)

MEMO_REACH = 128
"""Limit of geometric numbers from given bytes, in scales; a mass of at most e^-128 lies beyond."""

_CONTEXT = Context(prec=100)


class Noise(ABC):
    """Distribution of integer noise on the places of a grid, symmetric about 0."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale in steps; a mass below 10^-27 lies beyond 64 scales."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance in squared steps."""

    @property
    def laplace_scale(self) -> float | None:
        """Scale, if this is discrete Laplace noise of a public scale; else None."""
        return None

    @property
    def reach(self) -> int:
        """Number of steps from 0 at which devices of a campaign cut noise off."""
        return math.ceil(REACH * self.scale)

    @abstractmethod
    def log_mass(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``ln P(Z = z)`` for every z of an array."""

    @abstractmethod
    def below(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``P(Z < z)`` for every z of an array."""

    def within(self, share: float) -> int:
        """Return the least distance, in steps, that contains a `share` of noise or more."""
        inside, enough = -1, self.reach
        while enough - inside > 1:
            middle = (inside + enough) // 2
            if 2 * float(self.below(np.array([-middle]))[0]) <= 1 - share:
                enough = middle
            else:
                inside = middle
        return enough


@frozen(kw_only=True)
class Shift:
    """Additive noise: a report is the answer's place on a grid plus independent noise.

    Reports are counted in steps of the grid, and so is the noise.
    """

    grid: Grid
    noise: Noise

    @property
    def scale(self) -> float:
        """Scale of the noise, in the unit of the answers."""
        return self.grid.step * self.noise.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared units of the answers."""
        return self.grid.step**2 * self.noise.variance


@frozen(kw_only=True)
class DiscreteLaplace(Noise):
    """Discrete Laplace noise on the whole numbers.

    `scale` is in steps, as the exact rational number that the float is. For the distribution see C.
    Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020,
    and for the sampler ``research/docs/theory/exact-noise.md``.

    Examples
    --------
    >>> noise = DiscreteLaplace.for_loss(1152, epsilon=0.5)
    >>> noise.scale, noise.loss(1152)
    (2304.0, 0.5)
    """

    scale: float

    @classmethod
    def for_loss(cls, distance: Fraction | int, epsilon: float) -> DiscreteLaplace:
        """Return the least noise that hides `distance` steps at a loss of at most `epsilon`.

        The loss exceeds neither the float nor the decimal that it prints as.
        """
        check_positive("epsilon", epsilon)
        wanted = Fraction(distance) / least_meant(epsilon)
        if not 1 <= wanted <= 2**LARGEST_POWER:
            power = wanted.numerator.bit_length() - wanted.denominator.bit_length()
            size = "large" if wanted < 1 else "small"
            raise ParameterError(
                "mechanisms.epsilon-needs-other-noise",
                epsilon=epsilon,
                size=size,
                power=power,
                largest_power=LARGEST_POWER,
            )
        return cls(scale=ratio_up(wanted))

    @classmethod
    def read(cls, scale: Any) -> DiscreteLaplace:
        """Return the noise of a channel document; raise ParameterError for an invalid scale."""
        return cls(scale=real("noise_scale", scale, 1, 2**LARGEST_POWER))

    def loss(self, distance: Fraction | int) -> float:
        """Return the privacy loss between two numbers `distance` steps apart, rounded up."""
        return ratio_up(Fraction(distance) / Fraction(self.scale))

    @property
    def variance(self) -> float:
        """Variance in squared steps: ``2 q / (1 - q)^2`` with ``q = exp(-1 / scale)``."""
        half = math.sinh(0.5 / self.scale)
        return 0.5 / (half * half)

    @property
    @override
    def laplace_scale(self) -> float:
        return self.scale

    def log_mass(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``-|z| / scale + ln tanh(1 / (2 scale))``; see `Noise.log_mass`."""
        logs: Floats = math.log(math.tanh(0.5 / self.scale)) - np.abs(steps) / self.scale
        return logs

    def below(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``P(Z < z)``; see `Noise.below`."""
        away = np.where(steps <= 0, 1.0 - steps, 1.0 * steps)
        tail = np.exp(-away / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.where(steps <= 0, tail, 1 - tail)

    def sample(self, count: int, rng: Randomness) -> npt.NDArray[np.int64]:
        """Draw `count` independent values.

        A NumPy generator gives a fast simulation in floats; anything else draws exactly. The
        sampler sees no answer: the caller adds the noise.
        """
        if not isinstance(rng, np.random.Generator):
            return self.draw(count, word_source(rng))
        noise = np.empty(count, np.int64)
        for start in range(0, count, BLOCK):
            block = noise[start : start + BLOCK]
            up, down = (rng.standard_exponential(len(block)) for _ in range(2))
            block[:] = np.floor(up * self.scale) - np.floor(down * self.scale)
        return noise

    def draw(self, count: int, words: WordSource) -> npt.NDArray[np.int64]:
        """Draw `count` independent values exactly, from random words.

        A value is the difference of two geometric numbers. Their D lowest binary digits are
        independent coins. The rest, in units of 2^D, is geometric again and almost always 0. So a
        value takes ``2 (D + 1)`` words, and almost never more.

        `EXACT_BLOCK` values at a time read the first word of every coin. Per value, the digits of
        the first number come lowest first, then its rest, then the second number. Undecided coins
        then read further words in order, and after them the numbers with a rest.
        """
        parts = [
            _draw_block(self.scale, min(EXACT_BLOCK, count - start), words)
            for start in range(0, count, EXACT_BLOCK)
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])


def _draw_block(scale: float, count: int, words: WordSource) -> npt.NDArray[np.int64]:
    digits, first = _binary_digits(scale), _first_words(scale)
    drawn = words(2 * count * (digits + 1)).reshape(2 * count, digits + 1)
    heads = resolve_coins(drawn, np.array(first, np.uint32), partial(_coin, scale), words)
    numbers = heads[:, :digits].astype(np.int64) @ (1 << np.arange(digits, dtype=np.int64))
    for place in np.flatnonzero(heads[:, digits]):
        rest = 1
        while throw(_coin(scale, digits), words):
            rest += 1
        numbers[place] += rest << digits
    pairs = numbers.reshape(count, 2)
    return pairs[:, 0] - pairs[:, 1]


def _binary_digits(scale: float) -> int:
    """Return D; a geometric number is ``2**D`` or more with probability at most e^-32."""
    digits = 0
    while 2**digits < DRAWN_REACH * scale:
        digits += 1
    return digits


@lru_cache(maxsize=64)
def _first_words(scale: float) -> tuple[int, ...]:
    return tuple(first_digits(_coin(scale, place)) for place in range(_binary_digits(scale) + 1))


def _coin(scale: float, digit: int) -> Chance:
    """Return the chance that a binary digit is 1; after the last digit, that there is a rest."""
    rate = Fraction(2**digit) / Fraction(scale)
    return decaying(rate) if digit == _binary_digits(scale) else logistic(rate)


@lru_cache
def laplace_thresholds(scale: float) -> tuple[int, ...]:
    """Return the number of the 2^256 words that make a binary digit 1, lowest digit first.

    `scale` is in steps, at least 1, and counts as the exact rational number that the float is.

    Examples
    --------
    >>> [round(threshold / 2**256, 4) for threshold in laplace_thresholds(4.0)[:4]]
    [0.4378, 0.3775, 0.2689, 0.1192]
    """
    digits = 0
    while 2**digits < MEMO_REACH * scale:
        digits += 1
    with localcontext(_CONTEXT):  # independent of the program's context
        powers = [Decimal(2**digit) / Decimal(scale) for digit in range(digits)]
        return tuple(int(WORD / (1 + power.exp())) for power in powers)


def laplace_bytes(scale: float) -> int:
    """Return the number of random bytes that `laplace_noise` needs."""
    return 2 * WORD_BYTES * len(laplace_thresholds(scale))


def laplace_noise(scale: float, given: bytes) -> int:
    """Return the noise in steps that `given`, `laplace_bytes` uniform bytes, determine.

    Its distribution differs from the discrete Laplace distribution by less than 2^-183 in total
    variation.

    Examples
    --------
    >>> laplace_noise(4.0, bytes(288) + bytes([255]) * 288)  # all digits up, none down
    511
    """
    thresholds = laplace_thresholds(scale)
    digits = [
        int.from_bytes(given[start : start + WORD_BYTES], "little") < threshold
        for start, threshold in zip(range(0, len(given), WORD_BYTES), 2 * thresholds, strict=True)
    ]
    up, down = digits[: len(thresholds)], digits[len(thresholds) :]
    return sum(
        (int(u) - int(d)) << place for place, (u, d) in enumerate(zip(up, down, strict=True))
    )
