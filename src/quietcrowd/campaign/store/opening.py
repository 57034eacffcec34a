"""Opening a database: by one server at a time, and with the tables that this version knows.

A server makes the tables of a new database. It changes none of a database that holds something:
`migrate` does, when somebody asks for it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from alembic import command
from alembic.util import CommandError
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import observe_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.failures import DAMAGED, explain
from quietcrowd.campaign.store.first_start import (
    is_empty,
    left_behind,
    mark_started,
    require_first_start,
)
from quietcrowd.campaign.store.journal_ids import (
    leave_journal,
    matching_departures,
    replace_journal,
)
from quietcrowd.campaign.store.places import Places
from quietcrowd.campaign.store.recounts import recount
from quietcrowd.campaign.store.replay import replay
from quietcrowd.campaign.store.revisions import (
    Revision,
    configuration,
    found_revision,
    newest_revision,
    pending_revisions,
    standing_of,
)
from quietcrowd.campaign.terms.file_lock import file_lock
from quietcrowd.exceptions import FormatError, ParameterError

__all__ = [
    "accept_loss",
    "begin_new",
    "migrate",
    "only_server",
    "pending",
    "ready_beside_server",
    "ready_database",
    "require_current",
]

_LOCK = 7_117_202
"""Of PostgreSQL: two servers that start at once migrate one after the other."""

_TAKING = 0.3
"""Seconds in which all tables have to be had: so long those who write wait at most, and no longer
than PostgreSQL waits before it looks for those who wait for each other."""

_LARGEST_ANEW = 2**26
"""Bytes of an SQLite file up to which a server writes it anew, in memory."""

_PATIENCE = 60.0
"""Seconds after which tables that others are busy with are given up."""


def migrate(database: Database) -> None:
    """Create the tables, or bring older ones up to date; more than this version knows stays.

    Servers of PostgreSQL go on meanwhile: they wait while tables are changed.

    Raises
    ------
    FormatError
        Where the database was made by a newer version.
    ParameterError
        Where it cannot be reached, is no database, or others are busy with its tables for a minute.
    """
    with _one_sentence(database):
        until = time.monotonic() + _PATIENCE
        while not _upgraded(database):
            if time.monotonic() > until:
                raise ParameterError(
                    "somebody has been reading or writing for a minute, as an export or pg_dump "
                    "does: nothing was changed. Try again once that has ended."
                )
            time.sleep(_TAKING)


def pending(database: Database) -> list[Revision]:
    """Return the revisions that a database does not have yet, the first one first.

    Raises
    ------
    FormatError, ParameterError
        As of `migrate`.
    """
    with _one_sentence(database), database.read() as connection:
        return pending_revisions(found_revision(connection))


def require_current(database: Database) -> None:
    """See to it that a database has the tables of this version; a new one gets them.

    Raises
    ------
    FormatError
        Where it was made by a newer version, or holds something and is older.
    ParameterError
        Where it cannot be reached, or is no database.
    """
    with _one_sentence(database), database.read() as connection:
        found = found_revision(connection)
    standing = standing_of(found)
    if standing == "older":
        raise FormatError(
            f"the database is of revision {found}, and this version needs {newest_revision()}: "
            "quietcrowd campaign migrate copies it and brings it up to date."
        )
    if standing == "new":
        migrate(database)


def ready_beside_server(database: Database, settings: Places) -> None:
    """Do as `require_current`; no tables are made below a server.

    Raises
    ------
    FormatError
        As of `require_current`.
    ParameterError
        Where it cannot be reached, is no database, is new and a server has it, or is missing: see
        `require_first_start`.
    """
    with _one_sentence(database):
        require_first_start(database, settings)
        with database.read() as connection:
            found = found_revision(connection)
    with only_server(database.path if found is None else None):
        require_current(database)


@contextmanager
def _one_sentence(database: Database) -> Iterator[None]:
    """Tell in one sentence where a database cannot be used."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        shown = database.url.set(query={}).render_as_string()  # a query may hold a password
        raise ParameterError(f"the database {shown} cannot be used: {explain(error)}") from None


def _upgraded(database: Database) -> bool:
    """Bring a database up to date; return False where others were busy with its tables."""
    config = configuration()
    with database.write() as connection:
        if database.path is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if standing_of(found_revision(connection)) in ("current", "newer"):
            return True
        if database.path is None and not _took_tables(connection):
            return False
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise FormatError(
                f"the database cannot be brought to revision {newest_revision()}: {error}."
            ) from None
    return True


def _took_tables(connection: Connection) -> bool:
    """Take all tables of PostgreSQL for oneself, or none: halfway others would wait for each other.

    Who writes takes campaigns first, so that they are first here.
    """
    there = set(inspect(connection).get_table_names())
    names = [table.name for table in tables.metadata.sorted_tables if table.name in there]
    if not names:
        return True
    connection.execute(text(f"SET LOCAL statement_timeout = {int(_TAKING * 1_000)}"))
    try:
        with connection.begin_nested():
            connection.execute(text(f"LOCK TABLE {', '.join(names)} IN ACCESS EXCLUSIVE MODE"))
    except OperationalError:
        return False
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    return True


@contextmanager
def only_server(database: Path | None) -> Iterator[None]:
    """Hold the lock of an SQLite file; None, a server database, needs none.

    Raises
    ------
    ParameterError
        Where another server holds it.
    """
    with ExitStack() as held:
        if database is not None:
            try:
                held.enter_context(
                    file_lock(database.with_name(f"{database.name}.lock"), wait=False)
                )
            except BlockingIOError:
                raise ParameterError(
                    f"{database} is served by another process already: stop that one first. For "
                    "several processes take PostgreSQL."
                ) from None
        yield


@contextmanager
def ready_database(settings: Places, clock: Callable[[], float] = time.time) -> Iterator[Database]:
    """Give the database of a server: locked where it is a file, and without those who left it.

    Parameters
    ----------
    settings : Places
        Of the server.
    clock : callable
        Returns seconds since 1970.

    Raises
    ------
    ParameterError, FormatError
        Where it cannot be opened, is served already, was made by a newer version, or is older, is
        damaged or missing, or the journal that says who left is not its own.
    """
    size, seconds = settings.pool_size, settings.pool_seconds
    database = Database.open(settings.database, pool_size=size, pool_seconds=seconds)
    with only_server(database.path):
        try:
            with _one_sentence(database):
                require_first_start(database, settings)
                require_current(database)
                _require_intact(database)
                with closing(matching_departures(settings, database)) as departures:
                    if departures.journal is None:
                        leave_journal(database)
                    seen = observe_clock(clock(), database, departures.journal)
                    replay(database, departures, seen.trusted)
                recount(database)
                _write_anew(database)
            mark_started(database)
            try:
                yield database
            finally:
                _write_anew(database)
        finally:
            database.close()


def accept_loss(settings: Places) -> bool:
    """Take it that the journal of who left was lost; return whether it was.

    Parameters
    ----------
    settings : Places
        Of a server, which does not run.

    Raises
    ------
    ParameterError, FormatError
        As of `ready_database` and `replace_journal`.
    """
    with closing(Database.open(settings.database)) as database, only_server(database.path):
        with _one_sentence(database):
            require_first_start(database, settings)
        require_current(database)
        return replace_journal(settings, database)


def begin_new(settings: Places) -> list[str] | None:
    """Make a new database although something is left of an earlier start.

    Parameters
    ----------
    settings : Places
        Of a server, which does not run.

    Returns
    -------
    list of str or None
        What is left behind, in words; None if there is a database.

    Raises
    ------
    ParameterError, FormatError
        As of `ready_database`.
    """
    with closing(Database.open(settings.database)) as database, only_server(database.path):
        with _one_sentence(database):
            if not is_empty(database):
                return None
            left = left_behind(database, settings)
            _set_aside_wal(database)
            require_current(database)
            matching_departures(settings, database).close()
        return left


def _set_aside_wal(database: Database) -> None:
    """Rename a write-ahead log without its database: SQLite would delete it."""
    if database.path is not None:
        wal = database.path.with_name(f"{database.path.name}-wal")
        if wal.exists():
            wal.rename(wal.with_name(f"{wal.name}.left"))


def _require_intact(database: Database) -> None:
    """Refuse a damaged file of SQLite; a large one is checked while it is served."""
    small = database.path is not None and database.path.stat().st_size <= _LARGEST_ANEW
    if small and not database.is_intact():
        raise ParameterError(f"the database {database.path} cannot be used: {DAMAGED}")


def _write_anew(database: Database) -> None:
    """Put rows of a file in the order of their keys, where that takes a moment; see `Database`."""
    if database.path is not None and database.path.stat().st_size <= _LARGEST_ANEW:
        database.write_anew()
