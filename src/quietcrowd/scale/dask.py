"""An executor on a Dask cluster with access to the store's directory."""

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
from quietcrowd.inference.model import add_up
from quietcrowd.scale.executor import Executor, Work, in_order
from quietcrowd.validation import one_line

if TYPE_CHECKING:
    from distributed import Client, Future

GivenT = TypeVar("GivenT")
JobT = TypeVar("JobT")
T = TypeVar("T")

MOST_AT_ONCE = 16
"""The most partitions per Dask task; the task adds their results."""

TASKS_PER_THREAD = 2
"""Dask tasks per thread and pass, unless `MOST_AT_ONCE` requires more."""

ALIKE = ("quietcrowd", "numpy")
"""Packages that must have the same version everywhere, because they determine the result's bits."""

MOST_SHARED = "1 TB"
"""Dask warns of larger values; the arguments of a pass may be large."""


class DaskExecutor(Executor):
    """An executor on a Dask cluster, whose `client` it does not close.

    Each worker receives a job once, and the arguments of a pass once per pass. A partition goes to
    the worker that had it before, or to another if that one is lost or busy. Workers add results.
    The work of a lost worker is repeated and gives the same result. While the cluster has no
    worker, it waits for `patience` seconds.
    """

    def __init__(self, client: Client, patience: float = 60.0) -> None:
        self.client, self.patience = client, patience
        self._owners: dict[int, str] = {}
        self._alike: set[str] = set()
        self._job: tuple[Any, Any] = (None, None)

    @override
    def each(
        self, work: Work[JobT, GivenT, T], job: JobT, indices: Sequence[int], given: GivenT
    ) -> Iterator[T]:
        for result, _ in self._results(work, job, indices, given, 1):
            yield result

    @override
    def sums(
        self, work: Work[JobT, GivenT, T], job: JobT, indices: Sequence[int], given: GivenT
    ) -> Iterator[tuple[T, int]]:
        """Yield sums over partitions that belong to one worker; see `Executor.sums`."""
        for result, group in self._results(work, job, indices, given, MOST_AT_ONCE):
            yield result, len(group)

    def _results(
        self,
        work: Work[JobT, GivenT, T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
        most: int,
    ) -> Iterator[tuple[T, tuple[int, ...]]]:
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
                workers=[self._owners[group[0]]],  # the preferred owner
                allow_other_workers=True,
                pure=False,
            )
            return _Pending(future=future, group=group, executor=self)

        yield from in_order(start, self._groups(indices, size), TASKS_PER_THREAD * threads)

    def _groups(self, indices: Sequence[int], size: int) -> list[tuple[int, ...]]:
        """Return groups of at most `size` partitions of one worker, alternating between workers."""
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
        """Assign each partition to a present worker, and return the number of threads."""
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
        try:
            while not (threads := dict(self.client.nthreads())):
                self.client.wait_for_workers(1, timeout=self.patience)
            versions = {} if self._alike.issuperset(threads) else self._versions()
        except (OSError, RuntimeError, AttributeError) as error:
            raise self._lost(f"it has no worker: {error}") from None
        self._check(versions)
        return threads

    def _versions(self) -> dict[str, dict[str, Any]]:
        found = self.client.get_versions(packages=ALIKE)
        workers = found.pop("workers")
        return {name: one["packages"] for name, one in {**found, **workers}.items()}

    def _check(self, versions: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise if versions differ: the result could have other bits, or the work could fail."""
        for name, theirs in versions.items():
            for package in ALIKE:
                own, other = versions["client"][package], theirs.get(package)
                if own != other and (package == "quietcrowd" or name != "scheduler"):
                    raise ConnectionError(
                        f"{name} of the cluster has {package} {other}, but this process has {own}. "
                        f"Install {package} {own} there"
                    )
        self._alike.update(versions)

    def _share(self, value: Any) -> Future[Any]:
        """Submit a value as the result of a task, so that the cluster recomputes it if it is lost.

        A scattered value would stay lost, and its broadcast hangs if a worker is lost meanwhile.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": MOST_SHARED}):
            return self.client.submit(_same, value, pure=False, priority=1)

    def forget(self) -> None:
        """Release the last job."""
        self._job = (None, None)

    def _lost(self, reason: str) -> ConnectionError:
        self.forget()
        return ConnectionError(f"the cluster at {self.client} was lost: {reason}")


@frozen(kw_only=True)
class _Pending(Generic[T]):
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
                raise self.executor._lost(one_line(error)) from None

    def cancel(self) -> None:
        self.future.cancel()


@frozen(kw_only=True)
class _Sent:
    """A pickled job; the task unpickles it, so that it can report errors."""

    data: bytes = field(eq=False, repr=False)
    token: str = field(factory=lambda: uuid4().hex)


@lru_cache(maxsize=4)
def _open(sent: _Sent) -> Any:
    from distributed import get_worker

    try:
        return pickle.loads(sent.data)
    except (OSError, FormatError) as error:
        raise FormatError(
            "scale.store-not-seen", address=get_worker().address, error=error
        ) from None


def _same(value: T) -> T:
    return value


def _work_on(
    group: Sequence[int], work: Callable[[Any, int, Any], Any], sent: _Sent, given: Any
) -> Any:
    job = _open(sent)
    return add_up(work(job, index, given) for index in group)
