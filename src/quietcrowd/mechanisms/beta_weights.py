"""Truncated beta distributions as tables of 1,024 integer weights, computed exactly.

With ``p = others w / T`` for a weight w out of ``T = 2**32``, the beta distribution with integer
shapes has, up to a factor, the distribution function

    G(x) = sum over j of (-1)^j C(beta - 1, j) x^(alpha + j) T^(beta - 1 - j) / (alpha + j)

at ``x = others w``. Multiplied by the least common multiple of all alpha + j it is an integer, so
quantiles are exact and the same on every computer (``docs/theory/two-layer.md``).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

from quietcrowd.mechanisms.channel import TOTAL

__all__ = ["STEPS", "beta_high", "beta_weights"]

STEPS = 1024
"""Number of equally likely weights in a table."""


def _distribution(others: int, alpha: int, beta: int) -> Callable[[int], int]:
    """Return the distribution function of the weight, up to a factor, as integers."""
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
    """Return the quantiles of a truncated beta distribution as integer weights, in order.

    Each is the least integer with at least ``(2 i + 1) / 2048`` of the distribution, truncated to
    ``low .. high``, below it. The largest are raised slightly to make the mean whole. `others` is
    the number of possible reports except the answer, ``low <= high <= 2^32 / others``. The shapes
    are at least 1.
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
    """Return the least upper bound, at most `most`, that makes the mean flip probability `mean`.

    The mean is that of the distribution truncated from `low` on, before it becomes a table. None if
    it stays below `mean`. For the other parameters see `beta_weights`.
    """
    below, moment = _distribution(others, alpha, beta), _distribution(others, alpha + 1, beta)
    # Each function has its own factor. The mean is moment over probability, in units of 1 / T.
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
