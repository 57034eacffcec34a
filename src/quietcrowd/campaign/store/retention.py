"""The end of what is held of workers: so many days after a campaign closed all of it goes."""

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
"""In the order in which they can be deleted; results tell of workers, too.

Images go with those whom they were shown to.
"""


def end_of_retention(campaign: Any, now: float) -> int | None:
    """Return when all of workers is deleted if a campaign, a row of its table, closes now.

    In seconds since 1970; None where nothing was promised.
    """
    if campaign.retention_days is None:
        return None
    return int(now) + int(campaign.retention_days) * _DAY


def some_expired(connection: Connection, now: float) -> bool:
    """Return whether there is anything to delete; `now` as of `delete_expired`."""
    campaign = tables.campaign.c
    return connection.scalar(select(campaign.id).where(campaign.delete_at <= int(now))) is not None


def delete_expired(connection: Connection, now: float) -> list[bytes]:
    """Delete all of workers from the campaigns whose time is over, and return these.

    The campaigns stay, with their tasks, but for images, and what they fixed; they count no workers
    any more.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes.
    now : float
        Seconds since 1970.
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
                erasures=campaign.c.erasures + 1,  # an inference that is under way comes too late
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
