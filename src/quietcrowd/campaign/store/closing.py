"""Close campaigns, on request or after the last day (UTC) that the requester named."""

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
    """Return the UTC day of a time in seconds since 1970, such as 2026-12-31."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def close_campaign(connection: Connection, departures: Departures, row: Any, now: float) -> bool:
    """Close an open campaign and update the requester's view; return whether results may change.

    Call it in a write transaction with the campaign locked. The journal of withdrawals is written
    first, and reverted if the transaction fails. Retention begins at `now` (seconds since 1970).
    """
    end = end_of_retention(row, now)
    keep_ending(connection, departures, row, "closed", end)
    update_campaign(connection, row, state="closed", delete_at=end)
    if not waits_for_others(row):
        return False
    take_stock(connection, row.id)
    return True


def due_campaigns(connection: Connection, now: float) -> Sequence[bytes]:
    """Return the open campaigns whose last day is over at `now` (seconds since 1970)."""
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
