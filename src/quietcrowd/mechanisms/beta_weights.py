"""A truncated beta law as a table of 1,024 whole weights, from whole numbers alone.

With ``p = others w / T`` for a weight w out of ``T = 2**32``, the beta law of whole shapes has, up
to a factor, the distribution function

    G(x) = sum over j of (-1)^j C(beta - 1, j) x^(alpha + j) T^(beta - 1 - j) / (alpha + j)

at ``x = others w``; times the least common multiple of all alpha + j it is a whole number. So which
weight is the least above a quantile is decided exactly, on every computer alike
(``docs/theory/two-layer.md``).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

from quietcrowd.mechanisms.channel import TOTAL

__all__ = ["STEPS", "beta_high", "beta_weights"]

STEPS = 1024
"""How many weights there are to draw from; all equally likely."""


def _distribution(others: int, alpha: int, beta: int) -> Callable[[int], int]:
    """Return the distribution function by the weight, up to a factor: whole numbers."""
    common = math.lcm(*range(alpha, alpha + beta))
    factors: list[int] = [
        (1, -1)[j % 2] * math.comb(beta - 1, j) * (common // (alpha + j)) * TOTAL ** (beta - 1 - j)
        for j in range(beta)
    ]

    def below(weight: int) -> int:
        x, total = others * weight, 0
        for factor in reversed(factors):
            total = total * x + factor
        return total * int(x**alpha)

    return below


@lru_cache(maxsize=64)
def beta_weights(others: int, low: int, high: int, alpha: int, beta: int) -> tuple[int, ...]:
    """Return the weights, in order.

    Each is the least whole number with at least ``(2 i + 1) / 2048`` of the law, truncated to
    ``low .. high``, below it; the largest are a little more, so that the mean is whole.

    Parameters
    ----------
    others : int
        How many values a report can have besides the one that is kept.
    low, high : int
        Bounds of the weight out of 2^32, ``low <= high <= 2^32 / others``.
    alpha, beta : int
        Shapes, at least 1.
    """
    below = _distribution(others, alpha, beta)
    start = below(low)
    whole = below(high) - start
    weights, least = [], low
    for i in range(STEPS):
        if whole:
            wanted = 2 * STEPS * start + (2 * i + 1) * whole
            room = range(least, high + 1)
            least += bisect_left(room, wanted, key=lambda weight: 2 * STEPS * below(weight))
        weights.append(least)
    missing = -sum(weights) % STEPS
    for place in reversed(range(STEPS)):
        added = min(high - weights[place], missing)
        weights[place] += added
        missing -= added
    return tuple(weights)


def beta_high(others: int, low: int, most: int, mean: float, alpha: int, beta: int) -> int | None:
    """Return the least upper bound up to `most` with which the mean flip probability is `mean`.

    Parameters
    ----------
    others, low, alpha, beta : int
        See `beta_weights`.
    most : int
        The largest upper bound.
    mean : float
        Wanted, of the law truncated from `low` on, before it is a table.

    Returns
    -------
    int or None
        None where the mean stays below.
    """
    below, moment = _distribution(others, alpha, beta), _distribution(others, alpha + 1, beta)
    # Both have a factor of their own; a mean is the share of the moments in the law, in 1 / T.
    own = math.lcm(*range(alpha, alpha + beta))
    of_moment = math.lcm(*range(alpha + 1, alpha + 1 + beta)) * TOTAL
    over, under = float(mean).as_integer_ratio()

    def reaches(high: int) -> bool:
        law, first = below(high) - below(low), moment(high) - moment(low)
        return (
            first * own * under >= over * law * of_moment if law else others * high >= mean * TOTAL
        )

    place = bisect_left(range(low, most + 1), True, key=reaches)
    return low + place if low + place <= most else None
