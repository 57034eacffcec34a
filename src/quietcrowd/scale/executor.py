"""Who works on partitions: threads of this process, or a cluster; results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from typing_extensions import override

__all__ = [
    "Executor",
    "Pending",
    "ThreadExecutor",
    "in_order",
]

GivenT = TypeVar("GivenT")
JobT = TypeVar("JobT")
S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Executor(Protocol):
    """Who works on partitions.

    A job is a record that knows the store; it stays the same from pass to pass. `work` is one of
    its methods: it takes the job, the index of a partition, and what is given to this pass.
    """

    def each(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[T]:
        """Yield ``work(job, index, given)`` for each of the partitions, in their order."""

    def sums(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[tuple[T, int]]:
        """Yield sums of ``work(job, index, given)``, and of how many partitions each is.

        Every partition is in one of them; here each is one.
        """
        for one in self.each(work, job, indices, given):
            yield one, 1
            del one  # the next one comes


class ThreadExecutor(Executor):
    """Threads of this process; each holds one partition at a time.

    Parameters
    ----------
    threads : int
        How many.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @override
    def each(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[T]:
        if self.threads == 1:  # what is not asked for yet is not held
            yield from (work(job, index, given) for index in indices)
            return
        with ThreadPoolExecutor(self.threads) as pool:

            def start(index: int) -> Future[T]:
                return pool.submit(work, job, index, given)

            yield from in_order(start, indices, self.threads + 1)


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
