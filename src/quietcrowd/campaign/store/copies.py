"""Copies of a database in use: a file for SQLite, a dump for PostgreSQL."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, create_private
from quietcrowd.campaign.store.failures import explain
from quietcrowd.exceptions import ParameterError

WHEN = "%Y%m%dT%H%M%SZ"  # format of the UTC time in the name of a copy
_SERVICE = "quietcrowd"


def copy_name(database: Database, now: float) -> str:
    """Return the name of a copy made at `now` (seconds since 1970)."""
    when = datetime.fromtimestamp(now, UTC).strftime(WHEN)
    ending = ".dump" if database.path is None else ""
    return f"{stem_of(database)}.copy-{when}{ending}"


def stem_of(database: Database) -> str:
    """Return the beginning of the names of a database's copies."""
    return str(database.url.database) if database.path is None else database.path.name


def copy_to(database: Database, target: Path) -> dict[str, int]:
    """Write a consistent copy to a new file with mode 0600, and return its number of rows by table.

    It is an SQLite database or a dump for pg_restore. Raises `ParameterError` if that is
    impossible.
    """
    if not target.parent.is_dir():
        raise ParameterError("campaign.backup-folder-missing", parent=target.parent)
    if database.path is not None:
        database.backup(target)
        return _count_rows_of(target)
    program = _program("pg_dump")
    try:
        if database.behind_pooler():
            raise ParameterError("campaign.connection-pooler")
        with database.read() as connection:  # the snapshot makes dump and counts agree
            snapshot = connection.scalar(text("SELECT pg_export_snapshot()"))
            _pg_dump(database, program, target, str(snapshot))
            return _count_rows(connection)
    except DBAPIError as error:
        raise ParameterError("campaign.postgresql-not-copied", reason=explain(error)) from None


def _count_rows_of(copy: Path) -> dict[str, int]:
    url = f"file:{quote(str(copy.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(url, uri=True)) as raw:
        there = {name for (name,) in raw.execute("SELECT name FROM sqlite_master")}
        return {
            name: int(raw.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
            for name in tables.metadata.tables
            if name in there
        }


def _count_rows(connection: Connection) -> dict[str, int]:
    there = set(inspect(connection).get_table_names())
    return {
        table.name: int(connection.scalar(select(func.count()).select_from(table)) or 0)
        for table in tables.metadata.sorted_tables
        if table.name in there
    }


def _pg_dump(database: Database, program: str, target: Path, snapshot: str) -> None:
    try:
        create_private(target)
    except FileExistsError:
        raise ParameterError("campaign.target-exists", target=target) from None
    words = [f"--snapshot={snapshot}", "--format=custom", "--no-owner"]
    try:
        _run(database, [program, *words, f"--file={target.absolute()}"])
    except BaseException:
        target.unlink()
        raise


def pg_restore(database: Database, dump: Path) -> None:
    """Fill an empty database with a dump, in one transaction; may raise `ParameterError`."""
    words = ["--no-owner", "--single-transaction", "--exit-on-error"]
    _run(database, [_program("pg_restore"), *words, str(dump.absolute())])


def _program(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise ParameterError("campaign.program-missing", name=name)
    return program


def _run(database: Database, words: Sequence[str]) -> None:
    with _service(database) as environment:
        done = subprocess.run(
            [*words, f"--dbname=service={_SERVICE}"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
    if done.returncode:
        name = Path(words[0]).name
        reason = done.stderr.strip().rpartition(f"{name}: error: ")[2].partition("\n")[0]
        raise ParameterError(
            "campaign.program-failed", name=name, reason=reason or "it printed no reason"
        )


@contextmanager
def _service(database: Database) -> Iterator[dict[str, str]]:
    """Yield an environment with the URL in a file: every user can read a program's arguments."""
    url = database.url
    found = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    found |= {"dbname": url.database, **{name: str(value) for name, value in url.query.items()}}
    lines = [f"{name}={value}" for name, value in found.items() if value is not None]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "services"
        create_private(file)
        file.write_text("\n".join([f"[{_SERVICE}]", *lines, ""]))
        yield {**os.environ, "PGSERVICEFILE": str(file)}
