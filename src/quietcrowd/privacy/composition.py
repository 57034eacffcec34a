"""What several releases lose together when each of them loses the same at most."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quietcrowd.privacy.guarantee import add_losses

__all__ = ["compose_curve", "composed_delta", "composed_epsilon"]

SHARES = (1.0, 0.9, 0.5, 0.1)
"""Parts of a delta that the single releases may take; what remains serves the composition."""

MOST_COMPOSED = 10**6
"""The losses of more releases are added up."""

_SLACK = 1e-6
"""More than the relative rounding error of the sums below."""


def composed_delta(epsilon: float, count: int, steps: int) -> float:
    """Return the delta at which `count` losses of `epsilon` make ``(count - 2 steps) epsilon``.

    Parameters
    ----------
    epsilon : float
        Of each release, finite, at least 0.
    count : int
        How many.
    steps : int
        From 0 (their sum, no delta) to ``count // 2``.

    References
    ----------
    P. Kairouz, S. Oh, P. Viswanath, "The Composition Theorem for Differential Privacy", ICML 2015,
    Theorem 3.3: the smallest that holds for all mechanisms of that loss.

    Examples
    --------
    >>> composed_delta(0.1, 60, 0)
    0.0
    >>> round(composed_delta(0.1, 60, 20), 5)
    0.00269
    """
    if steps == 0 or epsilon == 0:
        return 0.0
    place = np.arange(steps)
    later = place[1:]
    ways = np.concatenate([[0.0], np.cumsum(np.log((count - later + 1) / later))])
    lead = (count - place) * epsilon - count * np.logaddexp(0.0, epsilon)
    gap = -np.expm1(-2 * (steps - place) * epsilon)
    return float(min(1.0, np.exp(ways + lead + np.log(gap)).sum() * (1 + _SLACK)))


def composed_epsilon(epsilon: float, delta: float, count: int, total_delta: float) -> float:
    """Return the loss of `count` releases together, each of (epsilon, delta), rounded up.

    Parameters
    ----------
    epsilon, delta : float
        Of each release.
    count : int
        How many, at least 1.
    total_delta : float
        Of the pair that results, below 1.

    Returns
    -------
    float
        At most ``count * epsilon``; infinite where the deltas alone exceed `total_delta`.

    References
    ----------
    As `composed_delta`.

    Examples
    --------
    >>> composed_epsilon(2.0, 0.0, 3, 0.0)
    6.0
    >>> round(composed_epsilon(0.05, 0.0, 60, 1e-6), 2)
    1.7
    """
    kept = -math.expm1(count * math.log1p(-delta)) * (1 + _SLACK) if delta < 1 else 1.0
    if delta * count <= total_delta < kept:
        kept = total_delta  # a sum of deltas is always enough, without any slack
    if kept > total_delta or math.isinf(epsilon):
        return math.inf
    spare = (total_delta - kept) / (1 - kept)
    low, high = 0, count // 2 if count <= MOST_COMPOSED else 0
    while low < high:
        middle = (low + high + 1) // 2
        if composed_delta(epsilon, count, middle) <= spare:
            low = middle
        else:
            high = middle - 1
    return add_losses(epsilon, count - 2 * low)


def compose_curve(epsilon_at: Callable[[float], float], count: int, total_delta: float) -> float:
    """Return the least loss found of `count` releases that each trade epsilon against delta.

    Parameters
    ----------
    epsilon_at : callable
        Loss of one release but for a given delta.
    count : int
        How many, at least 1.
    total_delta : float
        Of the pair that results.
    """
    each = [share * total_delta / count for share in SHARES]
    return min(composed_epsilon(epsilon_at(delta), delta, count, total_delta) for delta in each)
