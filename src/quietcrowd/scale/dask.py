"""A Dask cluster that works on partitions; its workers see the folder of the store themselves."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from attrs import field, frozen
from typing_extensions import override

from quietcrowd.exceptions import FormatError
from quietcrowd.inference.passes import add_up
from quietcrowd.scale.executor import Executor, in_order

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["DaskExecutor"]

GivenT = TypeVar("GivenT")
JobT = TypeVar("JobT")
T = TypeVar("T")

MOST_AT_ONCE = 16
"""So many partitions at most are worked on by one task, and their results added."""

TASKS_PER_THREAD = 2
"""So many tasks a thread has in a pass, unless that makes them too large."""

ALIKE = ("quietcrowd", "numpy")
"""What must be of one version everywhere: it makes the bits of the result."""

MOST_SHARED = "1 TB"
"""Dask warns of values beyond; what a pass is given is as large as it has to be."""


class DaskExecutor(Executor):
    """A Dask cluster: a task passes over a few partitions, or over one where its result is kept.

    A job goes to each worker once, and what is given to a pass once a pass. A partition goes to
    the worker that had it before, or to another one where that one is lost or busy. Results are
    added on the workers. What a lost worker had, others do again, to the same result.

    Parameters
    ----------
    client : distributed.Client
        It stays open.
    patience : float
        How long to wait where there is no worker at all, in seconds.
    """

    def __init__(self, client: Client, patience: float = 60.0) -> None:
        self.client, self.patience = client, patience
        self._owners: dict[int, str] = {}
        self._alike: set[str] = set()
        self._job: tuple[Any, Any] = (None, None)

    @override
    def each(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[T]:
        for result, _ in self._results(work, job, indices, given, 1):
            yield result

    @override
    def sums(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[tuple[T, int]]:
        """Yield sums of partitions that one worker has; see `Executor`."""
        for result, group in self._results(work, job, indices, given, MOST_AT_ONCE):
            yield result, len(group)

    def _results(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
        most: int,
    ) -> Iterator[tuple[T, tuple[int, ...]]]:
        """Yield sums over groups of at most `most` partitions, and which these are."""
        threads = self._assign(indices)
        size = max(1, min(most, math.ceil(len(indices) / (TASKS_PER_THREAD * threads))))
        if self._job[0] is not job:
            self._job = job, self._share(_Sent(data=pickle.dumps(job)))
        sent, shared = self._job[1], self._share(given)

        def start(group: tuple[int, ...]) -> _Pending[T]:
            future = self.client.submit(
                _work_on,
                group,
                work,
                sent,
                shared,
                workers=[self._owners[group[0]]],  # who had them
                allow_other_workers=True,
                pure=False,
            )
            return _Pending(future=future, group=group, executor=self)

        yield from in_order(start, self._groups(indices, size), TASKS_PER_THREAD * threads)

    def _groups(self, indices: Sequence[int], size: int) -> list[tuple[int, ...]]:
        """Return groups of partitions of one worker each, from all workers in turn."""
        if size == 1:
            return [(index,) for index in indices]
        owned: dict[str, list[int]] = {}
        for index in indices:
            owned.setdefault(self._owners[index], []).append(index)
        cut = [
            [tuple(own[start : start + size]) for start in range(0, len(own), size)]
            for own in owned.values()
        ]
        return [group for turn in zip_longest(*cut) for group in turn if group]

    def _assign(self, indices: Sequence[int]) -> int:
        """Give each partition a worker that is there; return how many threads there are."""
        threads = self._wait_for_workers()
        load = dict.fromkeys(sorted(threads), 0.0)
        for index in indices:
            owner = self._owners.get(index)
            if owner not in threads:
                owner = min(load, key=load.__getitem__)
                self._owners[index] = owner
            load[owner] += 1 / threads[owner]
        return sum(threads.values())

    def _wait_for_workers(self) -> dict[str, int]:
        """Return the workers that there are, with their threads, once there is one."""
        try:
            while not (threads := dict(self.client.nthreads())):
                self.client.wait_for_workers(1, timeout=self.patience)
            versions = {} if self._alike.issuperset(threads) else self._versions()
        except (OSError, RuntimeError, AttributeError) as error:
            raise self._lost(f"it has no worker: {error}") from None
        self._check(versions)
        return threads

    def _versions(self) -> dict[str, dict[str, Any]]:
        """Return what is installed: at the client, at the scheduler, and at each worker."""
        found = self.client.get_versions(packages=ALIKE)
        workers = found.pop("workers")
        return {name: one["packages"] for name, one in {**found, **workers}.items()}

    def _check(self, versions: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise where one has something else installed; it would find other bits, or end."""
        for name, theirs in versions.items():
            for package in ALIKE:
                own, other = versions["client"][package], theirs.get(package)
                if own != other and (package == "quietcrowd" or name != "scheduler"):
                    raise ConnectionError(
                        f"{name} of the cluster has {package} {other}, this process {own}: install "
                        f"{package} {own} there"
                    )
        self._alike.update(versions)

    def _share(self, value: Any) -> Future[Any]:
        """Give a value to the cluster; whoever needs it gets it from whoever has it.

        It is the result of a task, which is done again where all who had it were lost. A value
        that is scattered would be lost then, and its broadcast never ends if a worker is lost in
        the middle of it.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": MOST_SHARED}):
            return self.client.submit(_same, value, pure=False, priority=1)

    def forget(self) -> None:
        """Let go of what the cluster was given for the last job."""
        self._job = (None, None)

    def _lost(self, reason: str) -> ConnectionError:
        self.forget()
        return ConnectionError(f"the cluster at {self.client} was lost: {reason}")


@frozen(kw_only=True)
class _Pending(Generic[T]):
    """A group of partitions that is worked on."""

    future: Any
    group: tuple[int, ...]
    executor: DaskExecutor

    def result(self) -> tuple[T, tuple[int, ...]]:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        while True:
            try:
                return self.future.result(timeout=self.executor.patience), self.group
            except TimeoutError:
                if self.future.status == "error":  # the work itself raised it
                    raise
                self.executor._wait_for_workers()
            except (CancelledError, KilledWorker, CommClosedError) as error:
                raise self.executor._lost(" ".join(str(error).split())) from None

    def cancel(self) -> None:
        self.future.cancel()


@frozen(kw_only=True)
class _Sent:
    """A job as bytes: a task opens it, where an error can be told."""

    data: bytes = field(eq=False, repr=False)
    token: str = field(factory=lambda: uuid4().hex)


@lru_cache(maxsize=4)
def _open(sent: _Sent) -> Any:
    """Return the job, once in each worker."""
    from distributed import get_worker

    try:
        return pickle.loads(sent.data)
    except (OSError, FormatError) as error:
        raise FormatError(
            f"the worker {get_worker().address} of the cluster does not see the store: {error}. "
            "All workers need the same folder under the same path."
        ) from None


def _same(value: T) -> T:
    return value


def _work_on(
    group: Sequence[int], work: Callable[[Any, int, Any], Any], sent: _Sent, given: Any
) -> Any:
    """Return the sum of the work on some partitions, one after the other."""
    job = _open(sent)
    return add_up(work(job, index, given) for index in group)
