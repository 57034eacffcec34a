"""Copies of the journal of withdrawals as SQLite files: write, compare and merge them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import inspect, select, text

from quietcrowd.campaign.store.database import Database, insert_rows
from quietcrowd.campaign.store.withdrawals.journal import LEAVE, departure, ending, metadata

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
    """Write a consistent copy of a journal, in SQLite or PostgreSQL, to a new SQLite file.

    Rows are ordered by their keys, so the file does not reveal the order of withdrawals.
    """
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
    """Return the number of entries of an earlier copy that a new copy lacks without a reason.

    The end of retention by `now`, the seconds since 1970 of `Clock.trusted`, is a reason.
    """
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
