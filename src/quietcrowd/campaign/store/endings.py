"""Record in the journal that a campaign ends, before the database does; revert it on failure.

A requester who is told that closing or deleting failed finds the campaign unchanged, even after a
restart.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, event, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, if_it_fails
from quietcrowd.campaign.store.departures import Departures, Ending

__all__ = ["keep_ending", "kept_until"]


def keep_ending(
    connection: Connection,
    departures: Departures,
    row: Any,
    kind: Ending,
    delete_at: int | None = None,
) -> None:
    """Record that a campaign is closed or deleted, and revert the record if the transaction fails.

    Call it in a transaction of `Database.write`, with the campaign locked and `row` read before the
    change. The record is on the disk when this returns; for `delete_at` see `Departures.end`.

    A rollback reverts the record before the lock is released. After a failed commit the campaign is
    read again, as the commit may have succeeded. If the database is unreachable then, the record
    stays and the next server that starts ends the campaign.
    """
    event.listen(connection, "rollback", lambda _: _take_back(departures, row))
    if_it_fails(connection, lambda database: _look_again(database, departures, row.id))
    departures.end(row.id, kind, delete_at)


def kept_until(row: Any) -> int | None:
    """Return the end of retention of a closed campaign (a row of its table); 0 if it is over."""
    over = row.delete_at is None and row.retention_days is not None
    return 0 if over else row.delete_at


def _take_back(departures: Departures, row: Any) -> None:
    closed = row.state == "closed"
    departures.take_back(row.id, closed=closed, delete_at=kept_until(row) if closed else None)


def _look_again(database: Database, departures: Departures, campaign: bytes) -> None:
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with suppress(*UNAVAILABLE), database.write() as connection:
        row = connection.execute(wanted.with_for_update()).one_or_none()
        if row is not None:
            _take_back(departures, row)
