"""Open a database for one server at a time, with the tables of this version.

A server creates the tables of a new database. It does not change those of a database with data:
only `migrate` does. An empty or missing database is new unless remains of an earlier one exist.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from glob import escape
from pathlib import Path

from alembic import command
from alembic.util import CommandError
from sqlalchemy import Connection, Table, func, inspect, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import confirm_clock, read_clock
from quietcrowd.campaign.store.database import Database, Places, create_private
from quietcrowd.campaign.store.failures import DAMAGED, explain
from quietcrowd.campaign.store.releases import recount
from quietcrowd.campaign.store.replay import replay
from quietcrowd.campaign.store.revisions import (
    Revision,
    configuration,
    found_revision,
    newest_revision,
    pending_revisions,
    standing_of,
)
from quietcrowd.campaign.store.withdrawals.copies import (
    leave_journal,
    matching_departures,
    replace_journal,
)
from quietcrowd.campaign.store.withdrawals.journal import departure, ending, place_of_departures
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.private_files import file_lock


def require_first_start(database: Database, settings: Places) -> None:
    """Raise `ParameterError` if the database is empty or missing, but a server used it before."""
    left = left_behind(database, settings) if is_empty(database) else []
    if left:
        shown = database.path or database.url.set(query={}).render_as_string()
        raise ParameterError("campaign.database-missing", shown=shown, left=", ".join(left))


def is_empty(database: Database) -> bool:
    """Return whether a database is missing, or has no campaign and never had a journal."""
    if _is_missing(database):
        return True
    with database.read() as connection:
        known = inspect(connection)
        for table in (tables.campaign, tables.journal):
            if known.has_table(table.name) and _count(connection, table):
                return False
    return True


def left_behind(database: Database, settings: Places) -> list[str]:
    """Describe the remains of an earlier start, for an empty database."""
    left = _of_journal(settings, bare := _is_bare(database))
    if bare and database.path is not None:
        path = database.path
        copies = sorted(path.parent.glob(f"{escape(path.name)}.copy-*"))
        marks = [_marker(path), path.with_name(f"{path.name}-wal")]
        left += [f"{one} exists" for one in (*copies[-1:], *marks) if one.exists()]
    return left


def mark_started(database: Database) -> None:
    """Create an empty file next to an SQLite database, as a mark that a server has used it."""
    if database.path is not None and not _marker(database.path).exists():
        create_private(_marker(database.path))


def _marker(path: Path) -> Path:
    return path.with_name(f"{path.name}.started")


def _is_missing(database: Database) -> bool:
    path = database.path
    return path is not None and not (path.exists() and path.stat().st_size)


def _is_bare(database: Database) -> bool:
    if _is_missing(database):
        return True
    with database.read() as connection:
        return not inspect(connection).has_table(tables.campaign.name)


def _of_journal(settings: Places, bare: bool) -> list[str]:
    place = place_of_departures(settings)
    if place is None:
        return []
    with closing(Database.open(place)) as journal:
        if _is_missing(journal):
            return []
        shown = journal.path or journal.url.set(query={}).render_as_string()
        with journal.read() as connection:
            known = inspect(connection)
            entries, ids = (
                sum(_count(connection, one) for one in kinds if known.has_table(one.name))
                for kinds in ((departure, ending), (tables.journal,))
            )
    if entries:
        return [f"the journal {shown} has {entries:,} entries"]
    return [f"the journal {shown} belongs to a database"] if ids and bare else []


def _count(connection: Connection, table: Table) -> int:
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)


_LOCK = 7_117_202  # of PostgreSQL, for servers that migrate at once

_TAKING = 0.3
"""Seconds to lock all tables. Writers wait at most this long. It is less than PostgreSQL's default
delay before it checks for deadlocks."""

_LARGEST_ANEW = 2**26  # largest SQLite file, in bytes, that a server rewrites in memory
_PATIENCE = 60.0  # seconds until a migration gives up waiting for tables in use


def migrate(database: Database) -> None:
    """Create or update the tables; tables of a newer compatible version stay unchanged.

    PostgreSQL servers may run, and wait while tables change.
    """
    with _one_sentence(database):
        until = time.monotonic() + _PATIENCE
        while not _upgraded(database):
            if time.monotonic() > until:
                raise ParameterError("campaign.database-busy")
            time.sleep(_TAKING)


def pending(database: Database) -> list[Revision]:
    """Return the revisions that a database lacks, the first one first; errors as in `migrate`."""
    with _one_sentence(database), database.read() as connection:
        return pending_revisions(found_revision(connection))


def require_current(database: Database) -> None:
    """Create the tables of a new database; raise `FormatError` if it must be migrated."""
    with _one_sentence(database), database.read() as connection:
        found = found_revision(connection)
    standing = standing_of(found)
    if standing == "older":
        raise FormatError("campaign.database-outdated", found=found, newest=newest_revision())
    if standing == "new":
        migrate(database)


def require_current_while_serving(database: Database, settings: Places) -> None:
    """Call `require_current` without interfering with a running server."""
    with _one_sentence(database):
        require_first_start(database, settings)
        with database.read() as connection:
            found = found_revision(connection)
    with only_server(database.path if found is None else None):
        require_current(database)


@contextmanager
def _one_sentence(database: Database) -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        shown = database.url.set(query={}).render_as_string()  # the query may contain a password
        raise ParameterError(
            "campaign.database-unusable", shown=shown, reason=explain(error)
        ) from None


def _upgraded(database: Database) -> bool:
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
                "campaign.database-not-migrated", newest=newest_revision(), error=error
            ) from None
    return True


def _took_tables(connection: Connection) -> bool:
    """Lock all tables of PostgreSQL or, to avoid deadlocks, none; campaigns first, as in writes."""
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
    """Lock an SQLite file, or raise `ParameterError`; PostgreSQL (None) needs no lock."""
    with ExitStack() as held:
        if database is not None:
            try:
                held.enter_context(
                    file_lock(database.with_name(f"{database.name}.lock"), wait=False)
                )
            except BlockingIOError:
                raise ParameterError("campaign.database-served", database=database) from None
        yield


@contextmanager
def ready_database(settings: Places, clock: Callable[[], float] = time.time) -> Iterator[Database]:
    """Yield the locked database of a server, after replaying the journal."""
    size, seconds = settings.pool_size, settings.pool_seconds
    database = Database.open(settings.database, pool_size=size, pool_seconds=seconds)
    with only_server(database.path):
        try:
            with _one_sentence(database):
                require_first_start(database, settings)
                require_current(database)
                if _is_small(database) and not database.is_intact():
                    raise ParameterError(
                        "campaign.database-damaged", path=database.path, damaged=DAMAGED
                    )
                with closing(matching_departures(settings, database)) as departures:
                    if departures.journal is None:
                        leave_journal(database)
                    seen = read_clock(clock(), database, departures.journal)
                    if seen.seen is None:  # later days are stored after a second reading
                        confirm_clock(seen.now, database, departures.journal)
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
    """Accept that the journal is lost; return whether it was. The server must not run."""
    with closing(Database.open(settings.database)) as database, only_server(database.path):
        with _one_sentence(database):
            require_first_start(database, settings)
        require_current(database)
        return replace_journal(settings, database)


def begin_new(settings: Places) -> list[str] | None:
    """Create a database despite remains, and return their descriptions; None if there is one."""
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


def _is_small(database: Database) -> bool:
    return database.path is not None and database.path.stat().st_size <= _LARGEST_ANEW


def _write_anew(database: Database) -> None:
    if _is_small(database):
        database.write_anew()
