"""The end of a campaign: closing on request or after the last day, and retention of workers' data.

The journal records that a campaign ends before the database does, and reverts it on failure. A
requester who is told that closing or deleting failed finds the campaign unchanged, even after a
restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, event, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import update_campaign
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, if_it_fails
from quietcrowd.campaign.store.releases import take_stock, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures, Ending

_DAY = 86_400

_DELETED = (
    tables.report,
    tables.sketch,
    tables.participant,
    tables.withdrawn,
    tables.invite,
    tables.inference,
    tables.image,
    tables.exclusion,
)
"""In an order that satisfies foreign keys. Results contain data of workers; images are of no
further use."""


def some_expired(connection: Connection, now: float) -> bool:
    """Return whether `delete_expired` would delete anything."""
    campaign = tables.campaign.c
    return connection.scalar(select(campaign.id).where(campaign.delete_at <= int(now))) is not None


def delete_expired(connection: Connection, now: float) -> list[bytes]:
    """Delete workers' data of campaigns after the end of retention by `now`; return their ids.

    Campaigns, tasks and configurations stay, and count no workers. Call it in a write transaction;
    it locks the campaigns. `now` is in seconds since 1970.
    """
    campaign = tables.campaign
    over = connection.scalars(
        select(campaign.c.id)
        .where(campaign.c.delete_at <= int(now))
        .order_by(campaign.c.id)
        .with_for_update()
    ).all()
    for one in over:
        for table in _DELETED:
            connection.execute(delete(table).where(table.c.campaign_id == one))
        connection.execute(
            update(campaign)
            .where(campaign.c.id == one)
            .values(
                delete_at=None,
                erasures=campaign.c.erasures + 1,  # invalidates inference in progress
                shown_erasures=campaign.c.erasures + 1,
                shown_participants=0,
                shown_reports=0,
                invites_used=0,
                invites_made=0,
                joined=0,
            )
        )
        connection.execute(
            update(tables.task)
            .where(tables.task.c.campaign_id == one, tables.task.c.asked > 0)
            .values(asked=0)
        )
    return list(over)


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


def day_of(now: float) -> str:
    """Return the UTC day of a time in seconds since 1970, such as 2026-12-31."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def close_campaign(connection: Connection, departures: Departures, row: Any, now: float) -> bool:
    """Close an open campaign and update the requester's view; return whether results may change.

    Call it in a write transaction with the campaign locked. The journal of withdrawals is written
    first, and reverted if the transaction fails. Retention begins at `now` (seconds since 1970).
    """
    days = row.retention_days
    end = None if days is None else int(now) + int(days) * _DAY
    keep_ending(connection, departures, row, "closed", end)
    update_campaign(connection, row, state="closed", delete_at=end)
    if not waits_for_others(row):
        return False
    take_stock(connection, row.id)
    return True


def due_campaigns(connection: Connection, now: float) -> Sequence[bytes]:
    """Return the open campaigns with a last day that is over at `now` (seconds since 1970)."""
    return connection.scalars(select(tables.campaign.c.id).where(_is_due(now))).all()


def close_due(connection: Connection, departures: Departures, campaign: bytes, now: float) -> bool:
    """Close a campaign if it is open and its last day is over; return whether results may change.

    Call it in a write transaction; it locks the campaign. For `departures` see `close_campaign`.
    """
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign, _is_due(now))
    row = connection.execute(wanted.with_for_update()).one_or_none()
    return row is not None and close_campaign(connection, departures, row, now)


def _is_due(now: float) -> ColumnElement[bool]:
    campaign = tables.campaign.c
    found: ColumnElement[bool] = (campaign.state == "open") & (campaign.closes_on < day_of(now))
    return found
