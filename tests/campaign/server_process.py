"""Servers in processes of their own."""

import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import httpx
from attrs import frozen
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG, in_time
from tests.programs import QUIETCROWD, Program, running

from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.requesters import issue_key


@frozen
class ServerProcess:
    """A process that serves, and where."""

    program: Program
    port: int
    log: Path

    @property
    def process(self):
        return self.program.process

    @property
    def base_url(self) -> str:
        return base_url(self.port)


def base_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/api/v1"


def wait_until_ready(url: str, still_there: Callable[[], bool] = lambda: True) -> None:
    """Wait until a server answers."""

    def answers() -> bool:
        try:
            assert httpx.get(f"{url}/readyz", verify=PLAIN, timeout=LONG).status_code == 200
        except httpx.TransportError:
            return False
        return True

    assert in_time(lambda: not still_there() or answers()), "the server does not start"
    assert still_there(), "the server has ended"


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
    if database.startswith("postgresql") and "--withdrawal-log" not in options:
        words += ["--withdrawal-log", f"sqlite:///{log.absolute().parent}/departures.db"]
    with (
        log.open("w") as errors,
        running(
            *(*limit, *QUIETCROWD, *words),
            stderr=errors,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        ) as program,
    ):
        started = ServerProcess(program, port, log)
        wait_until_ready(started.base_url, lambda: not program.has_ended)
        yield started


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


@frozen
class Nursery:
    """A process that starts servers, without limits of how often one may ask."""

    _program: Program

    def start(self, database: str, port: int, log: Path) -> int:
        """Return the id of a server that answers."""
        self._program.tell(json.dumps([database, port, str(log)]))
        server = int(self._program.until("")[-1])
        wait_until_ready(base_url(port))
        return server


@contextmanager
def open_nursery() -> Iterator[Nursery]:
    """Give a nursery; its servers end with it."""
    with running(sys.executable, "-c", NURSERY, stdin=PIPE) as program:
        yield Nursery(program)
