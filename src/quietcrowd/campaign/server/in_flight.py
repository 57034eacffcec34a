"""What is worked on at once: requests, and bytes of their bodies and of answers not yet taken."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from attrs import define, field, frozen

__all__ = ["ANONYMOUS", "BUSY", "NEWCOMER", "InFlight", "WaitingAnswer"]

BUSY = "Send the same again in a moment."

ANONYMOUS = b""
"""Stands for all who show nothing for themselves, or nothing that is known."""

NEWCOMER = b"newcomer"
"""Stands for all who join."""

_SHARE = 4
"""Which part of all bytes may be of one."""

_TOGETHER = {ANONYMOUS: 4, NEWCOMER: 2}
"""Which part of all requests may be of those who count as one: a room of people joins at once."""

_PATIENCE = 10.0
"""Seconds that an answer may wait to be taken although others need its room."""


@frozen(kw_only=True, eq=False)
class WaitingAnswer:
    """An answer that somebody takes.

    Attributes
    ----------
    cut_off : callable
        Ends its connection.
    since : float
        When the first of it was sent.
    """

    cut_off: Callable[[], None]
    since: float = field(factory=time.monotonic)


@define(kw_only=True)
class InFlight:
    """Requests that are worked on, in one event loop, until their answers are taken.

    Attributes
    ----------
    requests : int
        Most of them at once.
    size : int
        Most bytes of their bodies, and of answers that wait to be taken, at once.
    each : int
        Most of them at once of one key or credential, so that nobody who takes answers slowly
        keeps the others from being served; and a quarter of all bytes.
    """

    requests: int
    size: int
    each: int
    _requests: int = field(default=0, init=False)
    _size: int = field(default=0, init=False)
    _of: Counter[bytes] = field(factory=Counter, init=False)
    _size_of: Counter[bytes] = field(factory=Counter, init=False)
    _answers: dict[WaitingAnswer, int] = field(factory=dict, init=False)

    @property
    def worked_on(self) -> int:
        """How many requests are worked on now."""
        return self._requests

    def has_room(self, size: int) -> bool:
        """Return whether one more request may be worked on.

        Parameters
        ----------
        size : int
            Bytes of its body.
        """
        return self._requests < self.requests and self._has_bytes(size)

    def has_share(self, credential: bytes) -> bool:
        """Return whether one more request with this key or credential may be worked on.

        Those who show nothing that is known share a quarter of all, and those who join half.
        """
        part = _TOGETHER.get(credential)
        most = self.each if part is None else max(1, self.requests // part)
        return self._of[credential] < most and self._size_of[credential] < self._share

    def enter(self, size: int, credential: bytes) -> None:
        """Count a request."""
        self._requests += 1
        self._of[credential] += 1
        self._grow(size, credential)

    def leave(self, size: int, credential: bytes) -> None:
        """Count a request no more."""
        self._requests -= 1
        self._of[credential] -= 1
        self._grow(-size, credential)
        for counted in (self._of, self._size_of):
            if not counted[credential]:
                del counted[credential]

    def hold(self, answer: WaitingAnswer, size: int, credential: bytes) -> bool:
        """Count bytes of an answer that waits to be taken, and return whether there is room.

        A key or credential has its share; an answer that is larger than that waits alone.

        Parameters
        ----------
        answer : WaitingAnswer
            Which one.
        size : int
            Bytes of it more.
        credential : bytes
            Of its request.
        """
        if self._size_of[credential] and self._size_of[credential] + size > self._share:
            return False
        if self._answers and not self._has_bytes(size):
            return False
        self.count(answer, size, credential)
        return True

    def count(self, answer: WaitingAnswer, size: int, credential: bytes) -> None:
        """Count bytes of an answer, more or, below zero, fewer, whether there is room or not."""
        self._answers[answer] = self._answers.get(answer, 0) + size
        if not self._answers[answer]:
            del self._answers[answer]
        self._grow(size, credential)

    def cut_off_slow(self) -> None:
        """End the answers that have long had time to be taken: others need the room."""
        now = time.monotonic()
        for answer in list(self._answers):
            if now - answer.since > _PATIENCE:
                answer.cut_off()

    @property
    def _share(self) -> int:
        return self.size // _SHARE

    def _has_bytes(self, size: int) -> bool:
        return self._size + size <= self.size

    def _grow(self, size: int, credential: bytes) -> None:
        self._size += size
        self._size_of[credential] += size
