"""Random numbers that can be had again: a function of a secret key and of what they are for.

SHAKE-256 over a secret key of 256 bits and a label gives bytes that nobody without the key can tell
from fresh ones. The same label gives the same bytes; other labels give independent ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from itertools import count
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.mechanisms.randomness import WordSource

__all__ = ["KEY_BYTES", "Label", "Secret"]

KEY_BYTES = 32
"""Length of a key: as much as the operating system's own generator is seeded with."""

Label = tuple[str | int, ...]
"""What random bytes are for."""


@frozen(kw_only=True, eq=False)
class Secret:
    """A key, and the public context that its random numbers are for.

    Attributes
    ----------
    key : bytearray, 32 bytes
        Known to one device. It is not printed.
    context : str
        Public; the same key gives other numbers in another context.
    """

    key: bytearray = field(repr=False, converter=bytearray)
    context: str

    @classmethod
    def draw(cls, context: str) -> Secret:
        """Return a secret with a fresh key from the operating system."""
        return cls(key=os.urandom(KEY_BYTES), context=context)

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or written elsewhere: what is not known of cannot be destroyed."""
        raise TypeError("a key is neither copied nor pickled: open the memo again")

    @property
    def forgotten(self) -> bool:
        """Whether `forget` was called."""
        return not self.key

    def forget(self) -> None:
        """Overwrite the key in memory; nothing can be drawn any more.

        Copies that Python made on the way stay in memory until it is used for something else.
        """
        self.key[:] = bytes(len(self.key))
        self.key.clear()

    def give(self, label: Label, size: int) -> bytes:
        """Return the bytes of a label.

        Parameters
        ----------
        label : tuple of str and int
            What they are for.
        size : int
            How many. Fewer bytes of the same label are the first of more.

        Raises
        ------
        ValueError
            Where the key was forgotten.
        """
        if self.forgotten:
            raise ValueError("the key was forgotten")
        context = hashlib.sha256(self.context.encode()).digest()
        text = json.dumps(label).encode()
        return hashlib.shake_256(bytes(self.key) + context + text).digest(size)

    def word(self, *label: str | int) -> int:
        """Return the 32-bit word of a label."""
        return int.from_bytes(self.give(label, 4), "little")

    def words(self, *label: str | int) -> WordSource:
        """Return a source of words, the same ones whenever it is made for this label."""
        calls = count()

        def source(size: int) -> npt.NDArray[np.uint32]:
            given = self.give((*label, next(calls)), 4 * size)
            return np.frombuffer(given, dtype="<u4").astype(np.uint32)

        return source
