"""A PostgreSQL server of one's own, for as long as the tests run."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.campaign.ports import free_port

HOW_TO_GET_IT = "PostgreSQL is not installed: apt-get install postgresql, or put initdb on the PATH"


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs."""
    if (found := shutil.which("initdb")) is not None:
        return Path(found).parent
    if (config := shutil.which("pg_config")) is not None:
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        if (Path(told.stdout.strip()) / "initdb").exists():
            return Path(told.stdout.strip())
    return max(
        (place.parent for place in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None
    )


@contextmanager
def postgresql(programs: Path) -> Iterator[str]:
    """Give the URL of an empty database."""
    # As root, which it refuses to run as, it runs as the user that came with it.
    runner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="quietcrowd-postgresql-"))
    if runner:
        shutil.chown(folder, "postgres")
    port = free_port()
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    data = ["-D", str(folder / "data")]

    def run(program: str, *words: str) -> None:
        subprocess.run(
            [*runner, str(programs / program), *data, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            cwd="/",
        )

    run("initdb", "-U", "quietcrowd", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    run("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://quietcrowd@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
