"""Executors apply work to partitions, in threads or on a cluster, and yield results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias, TypeVar

from typing_extensions import override

GivenT = TypeVar("GivenT")
JobT = TypeVar("JobT")
S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Work: TypeAlias = Callable[[JobT, int, GivenT], T]
"""A method of a job, called with the index of a partition and the arguments of the pass."""


class Executor(Protocol):
    """Interface that applies work to partitions; a job stays the same from pass to pass."""

    def each(
        self, work: Work[JobT, GivenT, T], job: JobT, indices: Sequence[int], given: GivenT
    ) -> Iterator[T]:
        """Yield ``work(job, index, given)`` for each partition, in order."""

    def sums(
        self, work: Work[JobT, GivenT, T], job: JobT, indices: Sequence[int], given: GivenT
    ) -> Iterator[tuple[T, int]]:
        """Yield sums of ``work(job, index, given)`` over partitions, each in one, and how many."""
        for one in self.each(work, job, indices, given):
            yield one, 1
            del one  # frees memory before the next one


class ThreadExecutor(Executor):
    """An executor with `threads` threads of this process; each has one partition at a time."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @override
    def each(
        self, work: Work[JobT, GivenT, T], job: JobT, indices: Sequence[int], given: GivenT
    ) -> Iterator[T]:
        if self.threads == 1:  # computes results only on demand
            yield from (work(job, index, given) for index in indices)
            return
        with ThreadPoolExecutor(self.threads) as pool:

            def start(index: int) -> Future[T]:
                return pool.submit(work, job, index, given)

            yield from in_order(start, indices, self.threads + 1)


class Pending(Protocol[T_co]):
    """A future: a result that is not there yet."""

    def result(self) -> T_co:
        """Wait for the result and return it."""

    def cancel(self) -> Any:
        """Cancel the work unless it has begun."""


def in_order(start: Callable[[S], Pending[T]], items: Iterable[S], ahead: int) -> Iterator[T]:
    """Yield the result of each item in order, with at most `ahead` items in progress or waiting."""
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
