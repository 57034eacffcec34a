"""A Dask cluster of two workers on this machine, each in a process of its own."""

import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import frozen
from distributed import Client
from tests.campaign.ports import free_port

from peak_memory import gigabytes_of

WORKERS = 2
PROGRAM = (sys.executable, "-m")
STARTING = 2.0


@frozen
class DaskCluster:
    """Where its scheduler answers, and its processes.

    Attributes
    ----------
    address : str
        Of the scheduler.
    scheduler : int
        Id of the scheduler's process.
    workers : list of int
        Ids of the workers' processes.
    """

    address: str
    scheduler: int
    workers: list[int]

    def peak_gigabytes(self):
        """Return the largest memory that one of the workers, and the scheduler, have had."""
        return max(map(gigabytes_of, self.workers)), gigabytes_of(self.scheduler)


@contextmanager
def dask_cluster(folder: Path):
    """Give a cluster once its workers are there; it ends afterwards."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    quiet = ("--no-dashboard", "--host", "127.0.0.1")
    with (folder / "dask.log").open("w") as log, ExitStack() as stack:

        def start(*words):
            process = stack.enter_context(
                subprocess.Popen([*PROGRAM, *words], stdout=log, stderr=log)
            )
            stack.callback(process.kill)
            return process.pid

        scheduler = start("distributed.cli.dask_scheduler", *quiet, "--port", str(port))
        worker = ("distributed.cli.dask_worker", address, *quiet, "--no-nanny", "--nthreads", "1")
        own = ("--memory-limit", "0", "--local-directory", str(folder))
        workers = [start(*worker, *own) for _ in range(WORKERS)]
        time.sleep(STARTING)
        with Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=60)
        yield DaskCluster(address, scheduler, workers)
