"""Servers in processes of their own."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from attrs import define, field, frozen
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG

from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.requesters import issue_key


@frozen
class ServerProcess:
    """A process that serves, and where."""

    process: subprocess.Popen
    port: int
    log: Path

    @property
    def base_url(self) -> str:
        return base_url(self.port)


def base_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/api/v1"


def wait_until_ready(url: str, still_there=lambda: True) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + LONG
    while time.monotonic() < until and still_there():
        try:
            assert httpx.get(f"{url}/readyz", verify=PLAIN).status_code == 200
            return
        except httpx.TransportError:
            time.sleep(0.01)
    raise AssertionError("the server does not start")


@contextmanager
def server_process(
    database: str, log: Path, *options: str, files: int | None = None
) -> Iterator[ServerProcess]:
    """Give what ``quietcrowd serve`` starts, once it answers; at the end it is killed.

    All workers join from one place, and are not limited. It may have so many files open.
    """
    limit = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
    port = free_port()
    words = ["serve", "--port", str(port), "--database", database, "--joins-per-minute", "0"]
    words += options
    if database.startswith("postgresql") and "--departures" not in options:
        words += ["--departures", f"sqlite:///{log.absolute().parent}/departures.db"]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*limit, sys.executable, "-m", "quietcrowd", *words],
            stderr=errors,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        ) as process,
    ):
        started = ServerProcess(process, port, log)
        try:
            wait_until_ready(started.base_url, lambda: process.poll() is None)
            yield started
        finally:
            process.kill()


def new_key(url: str) -> str:
    """Return a requester's key of a database, which is brought up to date."""
    database = Database.open(url)
    migrate(database)
    key = issue_key(database, f"requester {secrets.token_hex(8)}")
    database.close()
    return key


# Imports take longer than all else: they are made once, and servers are forked from there.
NURSERY = """
import json, os, signal, sys
import psycopg, sqlite3
from quietcrowd.campaign.server.app import serve
from quietcrowd.campaign.server.settings import Settings

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    database, port, log = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
        unlimited = {"requests_per_second": 0, "joins_per_minute": 0}
        serve(Settings(database=database, port=port, infer=False, **unlimited))
        os._exit(0)
    print(child, flush=True)
"""


@define
class Nursery:
    """A process that starts servers, without limits of how often one may ask."""

    _process: subprocess.Popen = field(init=False)

    def __enter__(self) -> "Nursery":
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def start(self, database: str, port: int, log: Path) -> int:
        """Return the id of a server that answers."""
        self._process.stdin.write(json.dumps([database, port, str(log)]) + "\n")
        self._process.stdin.flush()
        server = int(self._process.stdout.readline())
        wait_until_ready(base_url(port))
        return server

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
