"""Work in threads whose results come in order, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_order"]

S = TypeVar("S")
T = TypeVar("T")


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[S], T], items: Iterable[S], ahead: int
) -> Iterator[T]:
    """Yield the result of each item; no more than `ahead` are worked on or wait to be yielded."""
    running: deque[Future[T]] = deque()
    try:
        for item in items:
            if len(running) == ahead:
                yield running.popleft().result()
            running.append(pool.submit(work, item))
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()
