"""Connect to a Dask cluster, or start one on this machine."""

import asyncio
import logging
import re
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Any

from quietcrowd.exceptions import MissingExtraError, ParameterError
from quietcrowd.inference.loop import available_threads
from quietcrowd.scale.dask import DaskExecutor

_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")

CONNECTING = 10.0
"""Seconds until a scheduler must answer."""

SILENT = logging.CRITICAL + 1
"""A log level above CRITICAL: the executor itself reports the errors that end a run."""

LOCAL = {
    "distributed.admin.tick.interval": "1s",
    "distributed.deploy.lost-worker-timeout": "100 days",
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.worker.profile.enabled": False,
}
"""Settings of a local cluster: no dashboard, and a lost process is restarted.

The allocator keeps the memory of a pass for the next pass; thresholds are in bytes.
"""

LEAVE_INTERRUPTS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""Worker processes run this first: only the process that started them handles Ctrl-C."""


def check_scheduler(scheduler: str) -> None:
    """Raise ParameterError or MissingExtraError as `connect` does, without connecting."""
    if _LOCAL.fullmatch(scheduler) is None and "://" not in scheduler:
        raise ParameterError("scale.scheduler-unknown", scheduler=scheduler)
    if find_spec("distributed") is None:
        raise MissingExtraError(
            "extras.missing", subject="a cluster needs Dask's distributed", extra="scale"
        )


@contextmanager
def connect(scheduler: str = "local") -> Iterator[DaskExecutor]:
    """Connect to a Dask cluster, or start one on this machine; close it on exit.

    Parameters
    ----------
    scheduler : str
        ``tcp://host:port`` of a scheduler. Its workers must see the directories of stores under
        the same paths and have the same version of quietcrowd. ``local`` or ``local:N`` starts N
        processes with one thread each; on one machine, threads of one process are at least as fast.

    Raises
    ------
    ParameterError
        If `scheduler` has another form.
    ConnectionError
        If no scheduler answers there.
    MissingExtraError
        If Dask's distributed is not installed.
    """
    check_scheduler(scheduler)
    from distributed import Client

    local = _LOCAL.fullmatch(scheduler)
    if local is None:
        _greet(scheduler)
        client = Client(scheduler, timeout=CONNECTING, set_as_default=False)
        with _working(client) as executor:
            yield executor
        return
    with _local_cluster(int(local[1] or available_threads())) as cluster:
        client = Client(cluster, set_as_default=False, direct_to_workers=True)
        with _working(client) as executor:
            yield executor


def _greet(scheduler: str) -> None:
    """Raise unless a Dask scheduler answers: a client that fails to start cannot be closed."""
    from distributed.comm import connect as connect_to
    from distributed.security import Security

    async def greet() -> None:
        own = Security().get_connection_args("client")
        greeting = connect_to(scheduler, timeout=CONNECTING, **own)
        await (await asyncio.wait_for(greeting, 2 * CONNECTING)).close()

    try:
        with ThreadPoolExecutor(1) as pool:  # this thread may already run an event loop
            pool.submit(asyncio.run, greet()).result()
    except Exception as error:  # another kind of server may cause any error
        reason = str(error) or "another service listens there"
        raise ConnectionError(f"no Dask scheduler answers at {scheduler}: {reason}") from None


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM, because a cluster that is only half started cannot be closed.

    Processes that start meanwhile inherit a blocked SIGINT: Ctrl-C is for their parent.
    """
    caught: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handlers[number] = signal.signal(number, lambda received, _: caught.append(received))
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # starting it later would unblock SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if caught:
            signal.raise_signal(caught[0])


@contextmanager
def _working(client: Any) -> Iterator[DaskExecutor]:
    from distributed.utils import silence_logging_cmgr

    executor = DaskExecutor(client)
    with silence_logging_cmgr(SILENT, root="distributed.client"), client:
        try:
            yield executor
        finally:
            executor.forget()


@contextmanager
def _local_cluster(workers: int) -> Iterator[Any]:
    """Start a scheduler and worker processes that listen on the loopback address only."""
    import dask
    from distributed import Nanny, Scheduler, SpecCluster

    own = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    worker = {**own, "nthreads": 1, "memory_limit": 0, "silence_logs": SILENT}
    worker["preload"] = [LEAVE_INTERRUPTS]
    with dask.config.set(LOCAL):
        cluster = None
        try:
            with _interrupts_later():
                cluster = SpecCluster(
                    scheduler={"cls": Scheduler, "options": {**own, "port": 0}},
                    workers={name: {"cls": Nanny, "options": worker} for name in range(workers)},
                    silence_logs=SILENT,
                )
            yield cluster
        finally:
            if cluster is not None:
                with suppress(KeyError):  # close() fails for workers that ended earlier
                    cluster.close()
