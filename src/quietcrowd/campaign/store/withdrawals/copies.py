"""Copies of the journal of withdrawals as SQLite files, and its id.

A random id is shared by a database, its journal, and all copies of both. The first server creates
it. Later servers accept neither another journal nor a new one, unless the operator declares the
journal lost: withdrawn workers would return with a copy.
"""

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from sqlalchemy import inspect, select, text

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, Places, insert_rows
from quietcrowd.campaign.store.withdrawals.journal import (
    LEAVE,
    Departures,
    departure,
    ending,
    metadata,
    missing_journal,
)
from quietcrowd.exceptions import ParameterError

_SOME = 10_000

_ENDING = text(
    "INSERT INTO ending (campaign_id, kind, delete_at) VALUES (:campaign_id, :kind, :delete_at) "
    "ON CONFLICT (campaign_id) DO UPDATE SET kind = excluded.kind, delete_at = excluded.delete_at "
    "WHERE excluded.kind = 'deleted'"
)

_LOST_DEPARTURES = """
SELECT count(*) FROM earlier.departure AS it WHERE NOT EXISTS (
    SELECT 1 FROM departure WHERE campaign_id = it.campaign_id
    AND participant_id = it.participant_id AND credential_hash = it.credential_hash
) AND NOT EXISTS (
    SELECT 1 FROM ending WHERE campaign_id = it.campaign_id
    AND (kind = 'deleted' OR delete_at <= ?)
)
"""
"""Entries of workers are deleted with their campaign or at the end of its retention."""

_LOST_ENDINGS = """
SELECT count(*) FROM earlier.ending AS it WHERE NOT EXISTS (
    SELECT 1 FROM ending WHERE campaign_id = it.campaign_id AND kind IN (it.kind, 'deleted')
)
"""


def copy_journal(journal: Database, target: Path) -> None:
    """Write a consistent copy of a journal to a new SQLite file, ordered by keys."""
    copy = Database.open(f"sqlite:///{target}")
    with closing(copy), journal.read() as source:
        known = inspect(source)
        with copy.write() as connection:
            metadata.create_all(connection)
            for table in metadata.sorted_tables:
                if not known.has_table(table.name):  # of an older version
                    continue
                rows = source.execute(select(table).order_by(*table.primary_key))
                for some in rows.partitions(_SOME):
                    insert_rows(connection, table, [tuple(row) for row in some])
    with closing(sqlite3.connect(target)) as raw:
        raw.execute("PRAGMA journal_mode=DELETE")  # leave no separate log file


def entries_of(copy: Path) -> int:
    """Return the number of entries of a copy: workers and campaigns."""
    with closing(_opened(copy)) as raw:
        return sum(
            int(raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table in (departure.name, ending.name)
        )


def lost_entries(copy: Path, earlier: Path, now: float) -> int:
    """Count entries of an earlier copy that a new one lacks before the end of retention."""
    with closing(_opened(copy)) as raw:
        raw.execute("ATTACH ? AS earlier", (_url(earlier),))
        [departures] = raw.execute(_LOST_DEPARTURES, (int(now),)).fetchone()
        [endings] = raw.execute(_LOST_ENDINGS).fetchone()
    return int(departures) + int(endings)


def merge_journal(journal: Database, copy: Path) -> None:
    """Add the entries of a copy to a journal, and delete none."""
    with closing(_opened(copy)) as raw, journal.write() as connection:
        raw.row_factory = sqlite3.Row
        for table, statement in ((departure, LEAVE), (ending, _ENDING)):
            columns = ", ".join(table.columns.keys())
            rows = raw.execute(f"SELECT {columns} FROM {table.name}")
            while some := rows.fetchmany(_SOME):
                connection.execute(statement, [dict(row) for row in some])


def _opened(copy: Path) -> sqlite3.Connection:
    return sqlite3.connect(_url(copy), uri=True)


def _url(copy: Path) -> str:
    return f"file:{quote(str(copy.absolute()))}?mode=ro&immutable=1"


_BYTES = 16
_TAKE = text("INSERT INTO journal (line, id) VALUES ('', :id) ON CONFLICT DO NOTHING")
_REPLACE = text("UPDATE journal SET id = :id")


def journal_of(held: Database) -> bytes | None:
    """Return the journal id stored in a database or a journal; None if it has none yet."""
    with held.read() as connection:
        return connection.scalar(select(tables.journal.c.id))


def matching_departures(settings: Places, database: Database) -> Departures:
    """Open the journal of a migrated database, and give both an id if they have none.

    If servers start at once, the first id written to the journal counts. Raises `ParameterError` if
    the database has another journal.
    """
    known = journal_of(database)
    missing = None if known is None else missing_journal(settings)
    if missing is not None:
        _raise_lost(f"{missing} does not exist")
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            return departures
        found = journal_of(departures.journal)
        if known is not None and found != known:
            shown = departures.journal.url.set(query={}).render_as_string()
            _raise_lost(f"{shown} is {'a new journal' if found is None else 'another journal'}")
        taken = _take(departures.journal, secrets.token_bytes(_BYTES))
        if _take(database, taken) != taken:
            _raise_lost("another server has just selected another journal")
    except BaseException:
        departures.close()
        raise
    return departures


def replace_journal(settings: Places, database: Database, copies: Sequence[Path] = ()) -> bool:
    """Accept an existing or new journal instead of a lost one; return whether one was lost.

    The entries of `copies` of the lost journal are added, and a new journal gets its id.
    """
    departures = Departures.open(settings, database)
    try:
        if departures.journal is None:
            raise ParameterError("campaign.no-departures-to-lose")
        known = journal_of(database)
        for copy in copies:
            merge_journal(departures.journal, copy)
        new = known if copies and known is not None else secrets.token_bytes(_BYTES)
        taken = _take(departures.journal, new)
        if known is not None and known != taken:
            with database.write() as connection:
                connection.execute(_REPLACE, {"id": taken})
        return known not in (None, taken)
    finally:
        departures.close()


def leave_journal(database: Database) -> None:
    """Replace the journal id of a database without a journal: later servers refuse it."""
    if journal_of(database) is not None:
        with database.write() as connection:
            connection.execute(_REPLACE, {"id": secrets.token_bytes(_BYTES)})


def _take(held: Database, new: bytes) -> bytes:
    with held.write() as connection:
        connection.execute(_TAKE, {"id": new})
        found: bytes = connection.execute(select(tables.journal.c.id)).scalar_one()
        return found


def _raise_lost(found: str) -> NoReturn:
    raise ParameterError("campaign.journal-lost", found=found)
