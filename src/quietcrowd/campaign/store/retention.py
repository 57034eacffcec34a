"""Retention: delete all data of workers some days after a campaign closed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, select, update

from quietcrowd.campaign.store import tables

__all__ = ["delete_expired", "end_of_retention", "some_expired"]

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


def end_of_retention(campaign: Any, now: float) -> int | None:
    """Return the end of retention of a campaign (a row of its table) that closes now.

    In seconds since 1970; None if no retention was promised.
    """
    if campaign.retention_days is None:
        return None
    return int(now) + int(campaign.retention_days) * _DAY


def some_expired(connection: Connection, now: float) -> bool:
    """Return whether `delete_expired` would delete anything."""
    campaign = tables.campaign.c
    return connection.scalar(select(campaign.id).where(campaign.delete_at <= int(now))) is not None


def delete_expired(connection: Connection, now: float) -> list[bytes]:
    """Delete all data of workers of campaigns whose retention has ended by `now`; return their ids.

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
