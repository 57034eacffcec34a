"""Closing: when a requester says so, or once the day that the requester named is over, in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import update_campaign
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.endings import keep_ending
from quietcrowd.campaign.store.releases import take_stock, waits_for_others
from quietcrowd.campaign.store.retention import end_of_retention

__all__ = ["close_campaign", "close_due", "day_of", "due_campaigns"]


def day_of(now: float) -> str:
    """Return the day of a time, seconds since 1970, in UTC: as 2026-12-31, so that days sort."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def close_campaign(connection: Connection, departures: Departures, row: Any, now: float) -> bool:
    """Take nothing in any more, and show what there is of those who were released.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    departures : Departures
        Where it is kept beside the database, first; taken back if the transaction fails.
    row : Row
        Of the table of campaigns; it is open.
    now : float
        Seconds since 1970: all of workers is deleted so many days from then.

    Returns
    -------
    bool
        Whether results may be others now.
    """
    end = end_of_retention(row, now)
    keep_ending(connection, departures, row, "closed", end)
    update_campaign(connection, row, state="closed", delete_at=end)
    if not waits_for_others(row):
        return False
    take_stock(connection, row.id)
    return True


def due_campaigns(connection: Connection, now: float) -> Sequence[bytes]:
    """Return the open campaigns whose last day is over; `now` as of `close_due`."""
    return connection.scalars(select(tables.campaign.c.id).where(_is_due(now))).all()


def close_due(connection: Connection, departures: Departures, campaign: bytes, now: float) -> bool:
    """Close a campaign if it is open and its last day is over.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes.
    departures : Departures
        Where it is kept beside the database, first.
    campaign : bytes
        Its id.
    now : float
        Seconds since 1970.

    Returns
    -------
    bool
        Whether results may be others now.
    """
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign, _is_due(now))
    row = connection.execute(wanted.with_for_update()).one_or_none()
    return row is not None and close_campaign(connection, departures, row, now)


def _is_due(now: float) -> ColumnElement[bool]:
    campaign = tables.campaign.c
    found: ColumnElement[bool] = (campaign.state == "open") & (campaign.closes_on < day_of(now))
    return found
