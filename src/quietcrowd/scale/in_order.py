"""Work side by side whose results come in order, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

__all__ = ["Pending", "in_order"]

S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """A result that is being worked on: a future."""

    def result(self) -> T_co:
        """Wait for the result and return it."""

    def cancel(self) -> Any:
        """Let the work be, unless it has begun."""


def in_order(start: Callable[[S], Pending[T]], items: Iterable[S], ahead: int) -> Iterator[T]:
    """Yield the result of each item; no more than `ahead` are worked on or wait to be yielded."""
    running: deque[Pending[T]] = deque()
    try:
        for item in items:
            if len(running) == ahead:
                yield running.popleft().result()
            running.append(start(item))
        while running:
            yield running.popleft().result()
    finally:
        for pending in running:
            pending.cancel()
