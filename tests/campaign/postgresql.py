"""A PostgreSQL server of one's own, for as long as the tests or a benchmark run."""

import os
import pwd
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from attrs import frozen
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG
from tests.programs import finished

HOW_TO_GET_IT = (
    "PostgreSQL is not installed: nothing is tested on it. make postgresql installs it on Debian, "
    "as root or with sudo; elsewhere put its initdb on the PATH"
)
DEBIAN = Path(os.environ.get("QUIETCROWD_POSTGRESQL", "/usr/lib/postgresql"))
"""Where Debian's packages put the programs, by version."""

_PATIENTLY = ("-w", "-t", f"{LONG:.0f}")
"""Without it, pg_ctl gives up after a minute."""


def runner() -> list[str]:
    """Return what stands before a command of PostgreSQL: as root it refuses to run."""
    if os.geteuid():
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    return ["runuser", "-u", "postgres" if "postgres" in names else "nobody", "--"]


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None where none can be run."""
    places = sorted(DEBIAN.glob("*/bin"), key=_version, reverse=True)
    for name in ("pg_config", "initdb"):  # of which the first names the folder of all
        if (found := shutil.which(name)) is not None:
            places.insert(0, _folder(Path(found)))
    return next((place for place in places if _runs(place)), None)


def _version(place: Path) -> float:
    name = place.parent.name
    return float(name) if name.replace(".", "", 1).isdigit() else 0.0


def _folder(program: Path) -> Path:
    if program.name == "initdb":
        return program.resolve().parent
    return Path(finished(program, "--bindir").output.strip())


def _runs(folder: Path) -> bool:
    programs = [folder / name for name in ("initdb", "pg_ctl", "postgres")]
    return all(program.exists() for program in programs) and not any(
        finished(*runner(), program, "--version", cwd="/").status for program in programs
    )


@frozen(kw_only=True)
class Postgresql:
    """A server, its programs, and the folder in which it lives."""

    programs: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        """The URL of a database that is empty at first."""
        return self._url("postgres")

    def new_database(self) -> str:
        """Return the URL of a database of one's own, where nobody else leaves anything."""
        name = f"own_{secrets.token_hex(8)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://quietcrowd@127.0.0.1:{self.port}/{database}"

    @property
    def process(self) -> int:
        """The id of the process whose children are all others."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def create(self) -> None:
        """Make the files."""
        self._run("initdb", "-U", "quietcrowd", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")

    def start(self) -> None:
        """Start, and return once it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} "
        options += f"-c unix_socket_directories={self.folder}"
        self._run("pg_ctl", *_PATIENTLY, "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop, and return once it is gone."""
        self._run("pg_ctl", *_PATIENTLY, "-m", mode, "stop")

    def _run(self, program: str, *words: str) -> None:
        command = (*runner(), self.programs / program, "-D", self.folder / "data", *words)
        finished(*command, check=True, cwd="/")


@contextmanager
def postgresql(programs: Path) -> Iterator[Postgresql]:
    """Give a server that runs."""
    # The folder for temporary files of root may be closed to others.
    place = None if os.geteuid() else "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="quietcrowd-postgresql-", dir=place))
    if command := runner():
        shutil.chown(folder, command[2])
    server = Postgresql(programs=programs, folder=folder, port=free_port())
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
