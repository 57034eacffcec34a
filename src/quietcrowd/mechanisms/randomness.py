"""Where random words come from.

A mechanism asks for 32-bit words and does not know whether the operating system or a simulation
gives them. Real reports take `system_words`; a NumPy generator is for simulations alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["WordSource", "system_words", "uniform_integers", "word_source"]

WordSource: TypeAlias = Callable[[int], npt.NDArray[np.uint32]]
"""Gives ``n`` independent uniform 32-bit words."""


def system_words(count: int) -> npt.NDArray[np.uint32]:
    """Return `count` words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(4 * count), dtype="<u4").astype(np.uint32, copy=False)


def word_source(rng: np.random.Generator | None) -> WordSource:
    """Return the operating system's words, or those of `rng` for a simulation."""
    if rng is None:
        return system_words
    return lambda count: rng.integers(0, 2**32, size=count, dtype=np.uint32)


def uniform_integers(words: WordSource, low: int, high: int, count: int) -> npt.NDArray[np.uint64]:
    """Return `count` integers, uniform on ``low .. high``, exactly.

    Parameters
    ----------
    words : WordSource
        Where the randomness comes from.
    low, high : int
        Both included; ``0 <= low <= high <= 2**32``.
    count : int
        How many.

    Notes
    -----
    Two words make a 64-bit number; numbers at or above the largest multiple of the range's size
    are drawn again. That happens with probability below 2^-31.
    """
    size = high - low + 1
    limit = 2**64 // size * size  # may be 2^64 itself
    result = np.empty(count, np.uint64)
    open_places = np.arange(count)
    while len(open_places):
        drawn = words(2 * len(open_places)).view(np.uint64)
        fits = drawn <= np.uint64(limit - 1)
        result[open_places[fits]] = drawn[fits] % np.uint64(size)
        open_places = open_places[~fits]
    return result + np.uint64(low)
