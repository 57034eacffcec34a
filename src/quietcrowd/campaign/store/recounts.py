"""Recount the numbers stored in campaign rows, at server start.

Servers before revision 0006 update fewer counts. During a rolling upgrade, their changes are
counted when a newer server starts after the last of them.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Select, Table, Update, case, func, or_, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database

__all__ = ["recount"]


def recount(database: Database) -> None:
    """Correct the stored counts; lock only campaigns whose counts differ."""
    with database.read() as connection:
        differing = connection.scalars(_differing()).all()
    for campaign in differing:
        with database.write() as connection:
            row = tables.campaign.c.id == campaign
            connection.execute(select(tables.campaign.c.id).where(row).with_for_update())
            connection.execute(_corrected().where(row))


def _differing() -> Select[tuple[bytes]]:
    kept = tables.campaign.c
    return select(kept.id).where(or_(*(kept[name] != now for name, now in _counts().items())))


def _corrected() -> Update:
    return update(tables.campaign).values(_counts())


def _counts() -> dict[str, ColumnElement[int]]:
    """Return the correct values by column.

    If workers wait, only releases write the counts shown. Revoked invites stay in `invites_made`,
    and their number is unknown; so it is only increased.
    """
    kept = tables.campaign.c
    at_once = kept.at_least <= 1
    invites = kept.invites_used + _number_of(tables.invite, tables.invite.c.revoked == 0)
    return {
        "tasks": _number_of(tables.task),
        "joined": _number_of(tables.participant),
        "shown_participants": case(
            (at_once, _number_of(tables.participant)), else_=kept.shown_participants
        ),
        "shown_reports": case(
            (at_once, _number_of(tables.report) + _number_of(tables.sketch)),
            else_=kept.shown_reports,
        ),
        "invites_made": case(
            (at_once & (kept.invites_made < invites), invites), else_=kept.invites_made
        ),
    }


def _number_of(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
    counted = select(func.count()).select_from(table)
    mine = counted.where(table.c.campaign_id == tables.campaign.c.id, *conditions)
    return mine.correlate(tables.campaign).scalar_subquery()
