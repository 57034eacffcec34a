"""Detection of a first start: a missing or empty database without remains of an earlier one."""

from __future__ import annotations

from contextlib import closing
from glob import escape
from pathlib import Path

from sqlalchemy import Connection, Table, func, inspect, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, Places, create_private
from quietcrowd.campaign.store.withdrawals.journal import departure, ending, place_of_departures
from quietcrowd.exceptions import ParameterError


def require_first_start(database: Database, settings: Places) -> None:
    """Raise `ParameterError` if an empty or missing database is not that of a first start."""
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
    """Return whether a database has no tables; `campaign key` creates some."""
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
