"""Binomial probabilities without `scipy.stats`, which is slow to import."""

from bisect import bisect_left
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = int | float | npt.NDArray[np.float64] | npt.NDArray[np.int64]


def at_least(least: Numbers, count: Numbers, chance: Numbers) -> Any:
    """Return ``P(Bin(count, chance) >= least)``; arguments broadcast."""
    from scipy.special import betainc  # imported here to keep SciPy off workers' devices

    least, count = np.asarray(least), np.asarray(count)
    inside = (least >= 1) & (least <= count)
    safe = np.where(inside, least, 1.0)
    tails: Any = betainc(safe, np.where(inside, count - safe + 1, 1.0), chance)
    return np.where(inside, tails, np.where(least < 1, 1.0, 0.0))


def at_most(most: Numbers, count: Numbers, chance: Numbers) -> Any:
    """Return ``P(Bin(count, chance) <= most)``; arguments broadcast."""
    from scipy.special import betaincc

    most, count = np.asarray(most), np.asarray(count)
    inside = (most >= 0) & (most < count)
    safe = np.where(inside, most, 0.0)
    tails: Any = betaincc(safe + 1, np.where(inside, count - safe, 1.0), chance)
    return np.where(inside, tails, np.where(most < 0, 0.0, 1.0))


def likely_range(count: int, chance: float, missed: float) -> tuple[int, int]:
    """Return the `missed` and ``1 - missed`` quantiles of ``Bin(count, chance)``."""
    numbers = range(count + 1)
    low = bisect_left(numbers, True, key=lambda k: bool(at_most(k, count, chance) >= missed))
    high = bisect_left(numbers, True, key=lambda k: bool(at_least(k + 1, count, chance) <= missed))
    return low, high


def range_chances(
    low: int, high: int, count: int, chance: float
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the probabilities of `low` to `high`, and the total probability of all other values.

    Their relative error is below 1e-15 times the length of the range.
    """
    missed = float(at_most(low - 1, count, chance) + at_least(high + 1, count, chance))
    odds = chance / (1 - chance)
    mode = min(max(int((count + 1) * chance), low), high)
    up, down = np.arange(mode, high, dtype=float), np.arange(mode, low, -1, dtype=float)
    above = np.cumprod((count - up) / (up + 1) * odds)
    below = np.cumprod(down / ((count - down + 1) * odds))
    relative = np.concatenate([below[::-1], [1.0], above])
    return relative * ((1 - missed) / relative.sum()), missed
