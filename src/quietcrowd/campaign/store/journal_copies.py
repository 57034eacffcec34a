"""Copies of the journal of withdrawals: files of SQLite, compared with one another and merged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import inspect, select, text

from quietcrowd.campaign.store.database import Database, insert_rows
from quietcrowd.campaign.store.departures import departure, ending, metadata

__all__ = ["copy_journal", "entries_of", "lost_entries", "merge_journal"]

_SOME = 10_000
"""Rows that are read at once."""

_DEPARTURE = text(
    "INSERT INTO departure (campaign_id, participant_id, credential_hash) "
    "VALUES (:campaign_id, :participant_id, :credential_hash) ON CONFLICT DO NOTHING"
)

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
"""Entries of workers go when their campaign is deleted, or its retention ends."""

_LOST_ENDINGS = """
SELECT count(*) FROM earlier.ending AS it WHERE NOT EXISTS (
    SELECT 1 FROM ending WHERE campaign_id = it.campaign_id AND kind IN (it.kind, 'deleted')
)
"""


def copy_journal(journal: Database, target: Path) -> None:
    """Write one state of a journal to a new file of SQLite, whatever the journal is kept in.

    Rows are written in the order of their keys, so the file does not show who withdrew when.
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
        raw.execute("PRAGMA journal_mode=DELETE")  # one file


def entries_of(copy: Path) -> int:
    """Return how many workers and campaigns a copy has."""
    with closing(_opened(copy)) as raw:
        return sum(
            int(raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table in (departure.name, ending.name)
        )


def lost_entries(copy: Path, earlier: Path, now: float) -> int:
    """Return how many entries of an earlier copy a new one lacks without a reason.

    Parameters
    ----------
    copy, earlier : Path
        As `copy_journal` writes them.
    now : float
        Seconds since 1970, as of `Clock.trusted`: retention that has ended is a reason.
    """
    with closing(_opened(copy)) as raw:
        raw.execute("ATTACH ? AS earlier", (_url(earlier),))
        [departures] = raw.execute(_LOST_DEPARTURES, (int(now),)).fetchone()
        [endings] = raw.execute(_LOST_ENDINGS).fetchone()
    return int(departures) + int(endings)


def merge_journal(journal: Database, copy: Path) -> None:
    """Add the entries of a copy to a journal, which loses none of its own."""
    with closing(_opened(copy)) as raw, journal.write() as connection:
        raw.row_factory = sqlite3.Row
        for table, statement in ((departure, _DEPARTURE), (ending, _ENDING)):
            columns = ", ".join(table.columns.keys())
            rows = raw.execute(f"SELECT {columns} FROM {table.name}")
            while some := rows.fetchmany(_SOME):
                connection.execute(statement, [dict(row) for row in some])


def _opened(copy: Path) -> sqlite3.Connection:
    """Open a copy that nothing changes."""
    return sqlite3.connect(_url(copy), uri=True)


def _url(copy: Path) -> str:
    return f"file:{quote(str(copy.absolute()))}?mode=ro&immutable=1"
