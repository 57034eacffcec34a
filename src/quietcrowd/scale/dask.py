"""A Dask cluster that works on partitions; its workers see the folder of the store themselves."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, reduce
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from attrs import field, frozen

from quietcrowd.exceptions import FormatError, MissingExtraError, ParameterError
from quietcrowd.inference.sweep import available_threads
from quietcrowd.scale.in_order import in_order

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["DaskExecutor", "connect"]

GivenT = TypeVar("GivenT")
JobT = TypeVar("JobT")
T = TypeVar("T")

ADDED_AT_ONCE = 8
"""So many results are added on the worker that has them."""

MOST_SHARED = "1 TB"
"""Dask warns of values beyond; what a pass is given is as large as it has to be."""

CONNECTING = 10.0
"""Seconds that a scheduler has to answer."""


class DaskExecutor:
    """A Dask cluster: one future per partition and pass.

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
        self._job: tuple[Any, Any] = (None, None)

    def each(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[T]:
        """See `Executor`."""
        for result, _ in self._results(work, job, indices, given, 1):
            yield result

    def sums(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
    ) -> Iterator[tuple[T, int]]:
        """See `Executor`; a sum is of partitions that one worker has."""
        for result, group in self._results(work, job, indices, given, ADDED_AT_ONCE):
            yield result, len(group)

    def _results(
        self,
        work: Callable[[JobT, int, GivenT], T],
        job: JobT,
        indices: Sequence[int],
        given: GivenT,
        size: int,
    ) -> Iterator[tuple[T, tuple[int, ...]]]:
        """Yield sums over groups of at most `size` partitions, and which these are."""
        threads = self._assign(indices)
        if self._job[0] is not job:
            self._job = job, self._share(_Sent(data=pickle.dumps(job)))
        sent, shared = self._job[1], self._share(given)

        def start(group: tuple[int, ...]) -> _Pending[T]:
            future = self._start(work, sent, group, shared)
            return _Pending(future=future, group=group, executor=self)

        yield from in_order(start, self._groups(indices, size), 2 * threads)

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

    def _start(self, work: Any, sent: Any, group: tuple[int, ...], given: Any) -> Future[Any]:
        """Start the work on a group of partitions; the future is of the sum."""
        place: dict[str, Any] = {
            "workers": [self._owners[group[0]]],
            "allow_other_workers": True,
            "pure": False,
        }
        parts = self.client.map(_apply, group, work=work, sent=sent, given=given, **place)
        if len(parts) == 1:
            return parts[0]
        return self.client.submit(_add_up, parts, priority=1, **place)

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
            return threads
        except (OSError, RuntimeError, AttributeError) as error:
            raise self._lost(f"it has no worker: {error}") from None

    def _share(self, value: Any) -> Future[Any]:
        """Give a value to the cluster; whoever needs it gets it from whoever has it.

        It is the result of a task, which is done again where all who had it were lost. A value
        that is scattered would be lost then, and its broadcast never ends if a worker is lost in
        the middle of it.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": MOST_SHARED}):
            return self.client.submit(_same, value, pure=False, priority=1)

    def _lost(self, reason: str) -> ConnectionError:
        self._job = (None, None)
        return ConnectionError(f"the cluster at {self.client} was lost: {reason}")


@frozen(kw_only=True)
class _Pending(Generic[T]):
    """A group of partitions that is worked on."""

    future: Any
    group: tuple[int, ...]
    executor: DaskExecutor

    def result(self) -> tuple[T, tuple[int, ...]]:
        from distributed import CancelledError, KilledWorker

        while True:
            try:
                return self.future.result(timeout=self.executor.patience), self.group
            except TimeoutError:
                if self.future.status == "error":  # the work itself raised it
                    raise
                self.executor._wait_for_workers()
            except (CancelledError, KilledWorker) as error:
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


def _apply(index: int, *, work: Callable[[Any, int, Any], T], sent: _Sent, given: Any) -> T:
    return work(_open(sent), index, given)


def _add_up(parts: Sequence[Any]) -> Any:
    return reduce(add, parts)


@contextmanager
def connect(scheduler: str = "local") -> Iterator[DaskExecutor]:
    """Connect to a Dask cluster, or start one on this machine; it is left or ended afterwards.

    Parameters
    ----------
    scheduler : str
        ``tcp://host:port`` of a scheduler, whose workers see the folders of stores under the same
        paths and have the same quietcrowd; ``local``, or ``local:N`` for N processes with one
        thread each: on one machine threads of a single process are as fast or faster.

    Raises
    ------
    ParameterError
        Where `scheduler` is neither.
    ConnectionError
        Where no scheduler answers there.
    MissingExtraError
        Where Dask's distributed is not installed.
    """
    local = re.fullmatch(r"local(?::([1-9][0-9]{0,3}))?", scheduler)
    if local is None and "://" not in scheduler:
        raise ParameterError(
            f"scheduler must be tcp://host:port, local, or local:N with N processes; "
            f"got {scheduler!r}"
        )
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError(
            "a cluster needs Dask's distributed: pip install 'quietcrowd[scale]'"
        ) from None
    if local is None:
        try:
            client = Client(scheduler, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConnectionError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        with client:
            yield DaskExecutor(client)
        return
    import dask

    # A worker process that is lost is begun anew for as long as the cluster is there.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "100 days"}):
        cluster = _local_cluster(int(local[1] or available_threads()))
        try:
            with Client(cluster, set_as_default=False) as client:
                yield DaskExecutor(client)
        finally:
            with suppress(KeyError):  # it misses workers that ended before it
                cluster.close()


def _local_cluster(workers: int) -> Any:
    """Start a scheduler and worker processes that this machine alone can reach."""
    from distributed import Nanny, Scheduler, SpecCluster

    own = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    quiet = {**own, "nthreads": 1, "memory_limit": 0, "silence_logs": logging.CRITICAL}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": {**own, "port": 0}},
        workers={name: {"cls": Nanny, "options": quiet} for name in range(workers)},
        silence_logs=logging.CRITICAL,
    )
