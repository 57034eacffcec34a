"""That a campaign is closed or deleted, kept outside of the database: first, and only if it is.

Whoever is told that it failed finds the campaign as it was, also after the next start of a server.
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
    """Keep that a campaign ends, on the disk when this returns; taken back if it does not.

    Where the transaction is rolled back, that is before others can have the campaign. Where its
    commit fails the campaign is looked at again: it may be deleted all the same. If the database
    cannot be reached then either, it stays kept, and is done as the next server starts.

    Parameters
    ----------
    connection : Connection
        In a transaction of `Database.write`, with the campaign locked.
    departures : Departures
        Where it is kept.
    row : Row
        Of the table of campaigns, as it is before.
    kind : str
        Closed or deleted.
    delete_at : int, optional
        As of `Departures.end`.
    """
    event.listen(connection, "rollback", lambda _: _take_back(departures, row))
    if_it_fails(connection, lambda database: _look_again(database, departures, row.id))
    departures.end(row.id, kind, delete_at)


def kept_until(row: Any) -> int | None:
    """Return when all of workers goes of a closed campaign, a row of its table; 0: it is gone."""
    over = row.delete_at is None and row.retention_days is not None
    return 0 if over else row.delete_at


def _take_back(departures: Departures, row: Any) -> None:
    closed = row.state == "closed"
    departures.take_back(row.id, closed=closed, delete_at=kept_until(row) if closed else None)


def _look_again(database: Database, departures: Departures, campaign: bytes) -> None:
    """Take back that a campaign ended unless the database says so."""
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with suppress(*UNAVAILABLE), database.write() as connection:
        row = connection.execute(wanted.with_for_update()).one_or_none()
        if row is not None:
            _take_back(departures, row)
