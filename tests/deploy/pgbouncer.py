"""Debian's PgBouncer in transaction mode, before a PostgreSQL of the tests."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from tests.campaign.ports import free_port
from tests.campaign.postgresql import Postgresql, runner
from tests.campaign.waiting import in_time
from tests.programs import finished, running

HOW_TO_GET_IT = (
    "PgBouncer is not installed: nothing is tested behind it. make pgbouncer installs it on "
    "Debian, as root or with sudo; elsewhere put it on the PATH"
)
CONFIGURATION = """\
[databases]
* = host=127.0.0.1 port={behind} user=quietcrowd
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
"""


def find_pgbouncer() -> Path | None:
    """Return the program, or None if none runs."""
    found = shutil.which("pgbouncer")
    if found is None:
        return None
    return None if finished(found, "--version").status else Path(found)


@contextmanager
def pgbouncer(program: Path, behind: Postgresql, connections: int) -> Iterator[int]:
    """Run PgBouncer with a number of connections to PostgreSQL; give its port."""
    folder = Path(tempfile.mkdtemp(prefix="quietcrowd-pgbouncer-"))
    if command := runner():
        shutil.chown(folder, command[2])
    port = free_port()
    file = folder / "pgbouncer.ini"
    file.write_text(CONFIGURATION.format(behind=behind.port, port=port, connections=connections))
    log = folder / "log"
    try:
        with (
            log.open("w") as errors,
            running(*runner(), program, file, stderr=errors, cwd="/") as server,
        ):
            assert in_time(lambda: _answers(port) or server.has_ended)
            assert not server.has_ended, log.read_text()
            yield port
    finally:
        shutil.rmtree(folder)


def _answers(port: int) -> bool:
    try:
        psycopg.connect(host="127.0.0.1", port=port, user="quietcrowd", dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True
