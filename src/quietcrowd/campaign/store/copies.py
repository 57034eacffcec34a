"""Copies of a database: made while it is served, named by when, and deleted after so many days."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.exc import OperationalError

from quietcrowd.campaign.store.database import Database, create_private
from quietcrowd.exceptions import ParameterError

__all__ = ["copy_name", "copy_to", "delete_old_copies", "pg_dump", "replace_newest_copy"]

_WHEN = "%Y%m%dT%H%M%SZ"
_STAMP = r"\.copy-(\d{8}T\d{6}Z)(?:\.dump|-wal)?"

_SERVICE = "quietcrowd"


def copy_name(database: Database, now: float) -> str:
    """Return how a copy is called that is made now: after its database, and when, in UTC.

    Parameters
    ----------
    database : Database
        Of which it is.
    now : float
        Seconds since 1970.
    """
    when = datetime.fromtimestamp(now, UTC).strftime(_WHEN)
    ending = ".dump" if database.path is None else ""
    return f"{_stem(database)}.copy-{when}{ending}"


def _stem(database: Database) -> str:
    return str(database.url.database) if database.path is None else database.path.name


def copy_to(database: Database, target: Path) -> None:
    """Write a copy of one state of a database to a new file, while others go on.

    It is its owner's alone: a database of SQLite, or what pg_dump writes for pg_restore.

    Raises
    ------
    ParameterError
        Where the file exists or cannot be made, or pg_dump is missing or fails.
    """
    if not target.parent.is_dir():
        raise ParameterError(f"there is no folder {target.parent}: create it first")
    if database.path is None:
        pg_dump(database, target)
    else:
        database.backup(target)


def replace_newest_copy(database: Database, folder: Path) -> Path:
    """Copy a database of which no older copy is of use, in place of the one before; return where.

    There is one copy at any moment, the former or the new one, and it is its owner's alone.

    Parameters
    ----------
    database : Database
        Such as the journal of who left.
    folder : Path
        Where the copy lies.

    Raises
    ------
    ParameterError
        As of `copy_to`.
    """
    ending = ".dump" if database.path is None else ""
    target = folder / f"{_stem(database)}.newest{ending}"
    with TemporaryDirectory(dir=folder, prefix=f".{target.name}.") as place:
        new = Path(place) / target.name
        copy_to(database, new)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.replace(target)
    return target


def delete_old_copies(database: Database, folder: Path, days: int, now: float) -> list[Path]:
    """Delete the copies in a folder that are older, by their names, and return which.

    Parameters
    ----------
    database : Database
        Of which they are: copies of others stay.
    folder : Path
        Where `copy_name` named them.
    days : int
        How old they may be.
    now : float
        Seconds since 1970.
    """
    oldest = datetime.fromtimestamp(now, UTC) - timedelta(days=days)
    ours = re.compile(re.escape(_stem(database)) + _STAMP, re.ASCII)
    over = []
    for file in sorted(folder.iterdir()):
        named = ours.fullmatch(file.name)
        if named and _made(named[1], default=oldest) < oldest:
            file.unlink()
            over.append(file)
    return over


def _made(when: str, default: datetime) -> datetime:
    try:
        return datetime.strptime(when, _WHEN).replace(tzinfo=UTC)
    except ValueError:  # no such day: nobody's copy
        return default


def pg_dump(database: Database, target: Path) -> None:
    """Write what pg_dump says of a database, in its custom format, to a new file.

    Raises
    ------
    ParameterError
        Where the file exists, pg_dump is missing or fails, or the URL is that of a pooler.
    """
    program = shutil.which("pg_dump")
    if program is None:
        raise ParameterError(
            "pg_dump is not on the PATH: install PostgreSQL's client programs, or copy the "
            "database by other means (campaign migrate has --no-backup then)"
        )
    with suppress(OperationalError):  # pg_dump reports it
        if database.behind_pooler():
            raise ParameterError(
                "this URL leads to a connection pooler such as PgBouncer. pg_dump would leave its "
                "settings on connections of the server: name PostgreSQL's own host and port with "
                "--database and --departures"
            )
    try:
        create_private(target)
    except FileExistsError:
        raise ParameterError(f"{target} exists already: a backup overwrites nothing") from None
    words = [program, "--format=custom", "--no-owner", f"--file={target.absolute()}"]
    with _service(database) as environment:
        done = subprocess.run(
            [*words, f"--dbname=service={_SERVICE}"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
    if done.returncode:
        target.unlink()
        reason = done.stderr.strip().rpartition("pg_dump: error: ")[2].partition("\n")[0]
        raise ParameterError(f"pg_dump made no copy: {reason or 'it says nothing'}")


@contextmanager
def _service(database: Database) -> Iterator[dict[str, str]]:
    """Give an environment in which PostgreSQL's programs find a database.

    It stands in a file, as a password among a program's words can be read by everyone.
    """
    url = database.url
    found = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    found |= {"dbname": url.database, **{name: str(value) for name, value in url.query.items()}}
    lines = [f"{name}={value}" for name, value in found.items() if value is not None]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "services"
        create_private(file)
        file.write_text("\n".join([f"[{_SERVICE}]", *lines, ""]))
        yield {**os.environ, "PGSERVICEFILE": str(file)}
