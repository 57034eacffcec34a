"""Sources of random words.

A mechanism asks for 32-bit words, from the operating system, a simulation or a secret. Real reports
use `system_words`; a NumPy generator is only for simulations.

A secret's words are SHAKE-256 of a 256-bit key, a context and a label. To anyone without the key
they are indistinguishable from fresh words. Different labels give independent words.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from itertools import count
from typing import NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.validation import check_whole

WordSource: TypeAlias = Callable[[int], npt.NDArray[np.uint32]]
"""Returns ``n`` independent uniform 32-bit words."""

Randomness: TypeAlias = np.random.Generator | WordSource | None
"""Random words, exactly as given; None for those of the operating system. A generator is for a
simulation, which is fast and may draw floats."""

RandomState: TypeAlias = int | np.random.Generator
"""A seed, or a generator."""


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Return the generator of a seed, or a generator itself; raise ParameterError for others."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))


def seed_of(random_state: RandomState) -> int:
    """Return a seed, or one that a generator draws; raise ParameterError for others."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    check_whole("random_state", random_state, 0)
    return int(random_state)


def system_words(count: int) -> npt.NDArray[np.uint32]:
    """Return `count` words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(4 * count), dtype="<u4").astype(np.uint32, copy=False)


def word_source(rng: Randomness) -> WordSource:
    """Return words of the operating system for None, or of a generator; a source as it is."""
    if rng is None:
        return system_words
    if not isinstance(rng, np.random.Generator):
        return rng
    return lambda count: rng.integers(0, 2**32, size=count, dtype=np.uint32)


def uniform_integers(words: WordSource, low: int, high: int, count: int) -> npt.NDArray[np.uint64]:
    """Return `count` integers, exactly uniform on ``low .. high``, both included.

    ``0 <= low <= high <= 2**32``. Two words make a 64-bit number. Numbers at or above the largest
    multiple of the range's size are redrawn, with a probability below 2^-31.
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


def words_in_turn(words: npt.NDArray[np.uint32]) -> WordSource:
    """Return a source that returns the given words in order."""
    taken = 0

    def source(count: int) -> npt.NDArray[np.uint32]:
        nonlocal taken
        taken += count
        return words[taken - count : taken]

    return source


KEY_BYTES = 32
"""Length of a key, equal to that of the seed of the operating system's generator."""


@frozen(kw_only=True, eq=False)
class Secret:
    """A 256-bit key of one device, and the public context of its random numbers.

    The key is not printed. In another context the same key gives other numbers.
    """

    key: bytearray = field(repr=False, converter=bytearray)
    context: str

    @classmethod
    def draw(cls, context: str) -> Secret:
        """Return a secret with a fresh key from the operating system."""
        return cls(key=os.urandom(KEY_BYTES), context=context)

    def __reduce__(self) -> NoReturn:
        """Reject copying and pickling: an unknown copy cannot be destroyed."""
        raise TypeError("a key cannot be copied or pickled. Open the memo again")

    @property
    def forgotten(self) -> bool:
        """Whether `forget` was called."""
        return not self.key

    def forget(self) -> None:
        """Overwrite the key in memory; no further numbers can be drawn.

        Copies that Python made on the way remain in memory until it is reused.
        """
        self.key[:] = bytes(len(self.key))
        self.key.clear()

    def give(self, label: tuple[str | int, ...], size: int) -> bytes:
        """Return `size` bytes of a label; a shorter output is a prefix of a longer one."""
        if self.forgotten:
            raise ValueError("the key was forgotten")
        context = hashlib.sha256(self.context.encode()).digest()
        text = json.dumps(label).encode()
        return hashlib.shake_256(bytes(self.key) + context + text).digest(size)

    def word(self, *label: str | int) -> int:
        """Return the 32-bit word of a label."""
        return int.from_bytes(self.give(label, 4), "little")

    def words(self, *label: str | int) -> WordSource:
        """Return a source of words that is the same each time it is made for this label."""
        calls = count()

        def source(size: int) -> npt.NDArray[np.uint32]:
            given = self.give((*label, next(calls)), 4 * size)
            return np.frombuffer(given, dtype="<u4").astype(np.uint32)

        return source
