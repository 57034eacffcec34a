"""Whole-numbered Laplace noise as a function of given random bytes, in a fixed number of steps.

The noise is the difference of two geometric numbers G with ``P(G = g)`` proportional to
``exp(-g / scale)``. The binary digits of such a number are independent, and digit i is 1 with
probability ``1 / (1 + exp(2**i / scale))``: so every digit takes one comparison of a 256-bit word
with a public threshold, and neither the number of steps nor that of bytes depends on the noise.
(A sampler that rejects and repeats takes a time that tells of the noise.) Derivation and distance
from the exact law: ``docs/theory/memoisation.md``.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache

__all__ = ["laplace_bytes", "laplace_noise", "laplace_thresholds"]

WORD_BYTES = 32
WORD = 2 ** (8 * WORD_BYTES)

REACH = 128
"""Geometric numbers end at so many scales or more; beyond them lie e^-128 or less."""

_CONTEXT = Context(prec=100)


@lru_cache
def laplace_thresholds(scale: float) -> tuple[int, ...]:
    """Return, lowest digit first, how many of the 2^256 words make a binary digit 1.

    Parameters
    ----------
    scale : float
        Of the noise, in steps, at least 1; taken as the exact rational number that the float is.

    Examples
    --------
    >>> [round(threshold / 2**256, 4) for threshold in laplace_thresholds(4.0)[:4]]
    [0.4378, 0.3775, 0.2689, 0.1192]
    """
    digits = 0
    while 2**digits < REACH * scale:
        digits += 1
    with localcontext(_CONTEXT):  # whatever the program has set
        powers = [Decimal(2**digit) / Decimal(scale) for digit in range(digits)]
        return tuple(int(WORD / (1 + power.exp())) for power in powers)


def laplace_bytes(scale: float) -> int:
    """Return how many random bytes one number takes."""
    return 2 * WORD_BYTES * len(laplace_thresholds(scale))


def laplace_noise(scale: float, given: bytes) -> int:
    """Return the noise that `given` stands for.

    Parameters
    ----------
    scale : float
        In steps.
    given : bytes
        `laplace_bytes` of them, uniform.

    Returns
    -------
    int
        The law differs from the discrete Laplace law by less than 2^-183 in total variation.

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
