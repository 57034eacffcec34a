"""What is done to a database before it is served: nobody comes back with a copy who left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from sqlalchemy import Connection, insert, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import delete_campaign, update_campaign
from quietcrowd.campaign.store.database import Database, look_up
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.participants import erase_participant
from quietcrowd.campaign.store.releases import take_stock, waits_for_others
from quietcrowd.campaign.store.retention import delete_expired

__all__ = ["Replayed", "replay"]

_SOME = 500
"""Workers who are deleted in one transaction: those who write wait for it."""


@frozen(kw_only=True)
class Replayed:
    """How much was in a database, and is no more.

    Attributes
    ----------
    workers : int
        Who had left.
    deleted, closed : int
        Campaigns that had been.
    """

    workers: int
    deleted: int
    closed: int


def replay(database: Database, departures: Departures, now: float) -> Replayed:
    """Do again what was done since a database was copied, and may not be undone.

    Campaigns are deleted, or closed; where their time is over, all of workers goes. Who left is
    deleted, and joins no more. Where all of it is done already, nothing is changed. Other servers
    may go on.

    Parameters
    ----------
    database : Database
        Of this version's tables.
    departures : Departures
        Who left, and what ended.
    now : float
        Seconds since 1970.
    """
    if departures.journal is None:
        return Replayed(workers=0, deleted=0, closed=0)
    _keep_endings(database, departures)
    deleted = closed = 0
    over = []
    for one in departures.endings():
        done = _end_again(database, one)
        deleted += done and one.kind == "deleted"
        closed += done and one.kind == "closed"
        if one.kind == "deleted" or (one.delete_at is not None and one.delete_at <= int(now)):
            over.append(one.campaign_id)
    with database.write() as connection:
        delete_expired(connection, now)
    departures.forget(over)
    workers = 0
    for campaign in departures.campaigns_left():
        for some in departures.those_who_left(campaign):
            for start in range(0, len(some), _SOME):
                workers += _leave_again(database, campaign, some[start : start + _SOME])
    return Replayed(workers=workers, deleted=deleted, closed=closed)


def _keep_endings(database: Database, departures: Departures) -> None:
    """Keep which campaigns of a database are closed: they were before anything was kept."""
    known = {one.campaign_id for one in departures.endings()}
    campaign = tables.campaign.c
    with database.read() as connection:
        closed = connection.execute(
            select(campaign.id, campaign.delete_at, campaign.retention_days).where(
                campaign.state == "closed"
            )
        ).all()
    for row in closed:
        if row.id not in known:
            over = row.delete_at is None and row.retention_days is not None
            departures.end(row.id, "closed", 0 if over else row.delete_at)


def _end_again(database: Database, ended: Any) -> bool:
    """Delete or close a campaign that was; return whether there was anything to do."""
    campaign = tables.campaign
    mine = select(campaign).where(campaign.c.id == ended.campaign_id)
    with database.read() as connection:
        row = connection.execute(mine).one_or_none()
        if row is None or (ended.kind == "closed" and row.state != "open"):
            return False
    with database.write() as connection:
        row = connection.execute(mine.with_for_update()).one_or_none()
        if row is None or (ended.kind == "closed" and row.state != "open"):
            return False
        if ended.kind == "deleted":
            delete_campaign(connection, row.id)
        else:
            update_campaign(connection, row, state="closed", delete_at=ended.delete_at)
            if waits_for_others(row):
                take_stock(connection, row.id)
    return True


def _leave_again(database: Database, campaign: bytes, some: Sequence[Any]) -> int:
    """Delete those who left a campaign, and return how many were there."""
    with database.read() as connection:
        if _all_gone(connection, campaign, some):
            return 0
    mine = select(tables.campaign.c.id).where(tables.campaign.c.id == campaign)
    with database.write() as connection:
        if connection.scalar(mine.with_for_update()) is None:
            return 0
        kept_of = {one.participant_id: one.credential_hash for one in some}
        found = list(look_up(connection, tables.participant, campaign, "id", list(kept_of)))
        for person in found:
            erase_participant(connection, person, kept_of.pop(person.id))
        known = _known(connection, campaign, list(kept_of.values()))
        new = [
            {"campaign_id": campaign, "credential_hash": kept}
            for kept in kept_of.values()
            if kept not in known
        ]
        if new:
            connection.execute(insert(tables.withdrawn), new)
    return len(found)


def _all_gone(connection: Connection, campaign: bytes, some: Sequence[Any]) -> bool:
    """Return whether nothing is to do: none of them takes part, and none can join again."""
    mine = select(tables.campaign.c.id).where(tables.campaign.c.id == campaign)
    if connection.scalar(mine) is None:
        return True
    ids = [one.participant_id for one in some]
    there = next(look_up(connection, tables.participant, campaign, "id", ids), None)
    kept = {one.credential_hash for one in some}
    return there is None and _known(connection, campaign, list(kept)) == kept


def _known(connection: Connection, campaign: bytes, hashes: Sequence[bytes]) -> set[bytes]:
    """Return which of these a campaign knows as the hashes of credentials that left."""
    found = look_up(connection, tables.withdrawn, campaign, "credential_hash", hashes)
    return {row.credential_hash for row in found}
