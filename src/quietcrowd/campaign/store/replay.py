"""Replay the journal on a database before it is served, so that no withdrawn worker returns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from sqlalchemy import ColumnElement, Connection, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import (
    delete_campaign,
    delete_expired,
    kept_until,
    update_campaign,
)
from quietcrowd.campaign.store.database import Database, insert_rows, look_up
from quietcrowd.campaign.store.invites import forget_invites
from quietcrowd.campaign.store.participants import erase_participant, retract_again
from quietcrowd.campaign.store.releases import update_released, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures, Ending, trace_of

_SOME = 5_000  # workers per lookup and per transaction


@frozen(kw_only=True)
class Replayed:
    """Numbers of withdrawn workers, deleted campaigns and closed campaigns that a replay found."""

    workers: int
    deleted: int
    closed: int


def replay(database: Database, departures: Departures, now: float) -> Replayed:
    """Repeat the withdrawals and endings of campaigns that a restored copy lacks.

    If all of this is done already, nothing changes. Other servers may run. `now`: `Clock.trusted`.
    """
    if departures.journal is None:
        return Replayed(workers=0, deleted=0, closed=0)
    _keep_endings(database, departures)
    left = departures.campaigns_left()
    workers = sum(
        _leave_again(database, departures, campaign)
        for campaign, _ in _campaigns(database)
        if trace_of(campaign) in left
    )
    endings = departures.endings()
    deleted = closed = 0
    for campaign, state in _campaigns(database):
        ended = endings.get(trace_of(campaign))
        if ended is None or (ended.kind == "closed" and state != "open"):
            continue
        done = _end_again(database, departures, campaign)
        deleted += done == "deleted"
        closed += done == "closed"
    with database.write() as connection:
        delete_expired(connection, now)
    departures.forget(
        trace
        for trace, ended in endings.items()
        if ended.kind == "deleted" or (ended.delete_at is not None and ended.delete_at <= int(now))
    )
    return Replayed(workers=workers, deleted=deleted, closed=closed)


def _campaigns(database: Database) -> Sequence[Any]:
    with database.read() as connection:
        return connection.execute(select(tables.campaign.c.id, tables.campaign.c.state)).all()


def _keep_endings(database: Database, departures: Departures) -> None:
    """Record closed campaigns that the journal lacks: they closed before there was a journal."""
    known = departures.endings()
    campaign = tables.campaign.c
    with database.read() as connection:
        closed = connection.execute(
            select(campaign.id, campaign.delete_at, campaign.retention_days).where(
                campaign.state == "closed"
            )
        ).all()
    for row in closed:
        if trace_of(row.id) not in known:
            departures.end(row.id, "closed", kept_until(row))


def _end_again(database: Database, departures: Departures, campaign: bytes) -> Ending | None:
    mine = select(tables.campaign).where(tables.campaign.c.id == campaign)
    with database.write() as connection:
        row = connection.execute(mine.with_for_update()).one_or_none()
        ended = None if row is None else departures.ending_of(row.id)
        if row is None or ended is None or (ended.kind == "closed" and row.state != "open"):
            return None
        if ended.kind == "deleted":
            delete_campaign(connection, row.id)
        else:
            update_campaign(connection, row, state="closed", delete_at=ended.delete_at)
            forget_invites(connection, row.id)
            if waits_for_others(row):
                update_released(connection, row.id)
    kind: Ending = ended.kind
    return kind


def _leave_again(database: Database, departures: Departures, campaign: bytes) -> int:
    erased = 0
    for ids in _participants(database, campaign):
        left = departures.left(campaign, ids)
        if left:
            erased += _erase(database, campaign, left)
    for invites in _invites(database, campaign):
        left = departures.left(campaign, invites)
        if left:
            erased += _retract(database, campaign, left)
    for credentials in departures.credentials_left(campaign):
        _reject(database, campaign, credentials)
    return erased


def _participants(database: Database, campaign: bytes) -> Iterator[Sequence[bytes]]:
    person = tables.participant.c
    return _pages(database, person.id, person.campaign_id == campaign)


def _invites(database: Database, campaign: bytes) -> Iterator[Sequence[bytes]]:
    """Yield the hashes of invites that are not revoked, and of those of workers."""
    person, invite = tables.participant.c, tables.invite.c
    yield from _pages(database, person.invite_sha256, person.campaign_id == campaign)
    mine = (invite.campaign_id == campaign) & (invite.revoked == 0)
    yield from _pages(database, invite.token_sha256, mine)


def _pages(
    database: Database, column: ColumnElement[Any], condition: ColumnElement[bool]
) -> Iterator[Sequence[bytes]]:
    last = b""
    while True:
        wanted = select(column).distinct().where(condition, column > last)
        with database.read() as connection:
            some = connection.scalars(wanted.order_by(column).limit(_SOME)).all()
        if not some:
            return
        yield some
        last = some[-1]


def _erase(database: Database, campaign: bytes, left: Mapping[bytes, bytes]) -> int:
    with database.write() as connection:
        if not _locked(connection, campaign):
            return 0
        found = list(look_up(connection, tables.participant, campaign, "id", list(left)))
        for person in found:
            erase_participant(connection, person, left[person.id])
    return len(found)


def _retract(database: Database, campaign: bytes, left: Mapping[bytes, bytes]) -> int:
    with database.write() as connection:
        if not _locked(connection, campaign):
            return 0
        return sum(retract_again(connection, campaign, *one) for one in left.items())


def _reject(database: Database, campaign: bytes, credentials: Sequence[bytes]) -> None:
    with database.read() as connection:
        if _known(connection, campaign, credentials).issuperset(credentials):
            return
    with database.write() as connection:
        if _locked(connection, campaign):
            known = _known(connection, campaign, credentials)
            new = [(campaign, one) for one in sorted(set(credentials) - known)]
            insert_rows(connection, tables.withdrawn, new)


def _locked(connection: Connection, campaign: bytes) -> bool:
    mine = select(tables.campaign.c.id).where(tables.campaign.c.id == campaign)
    return connection.scalar(mine.with_for_update()) is not None


def _known(connection: Connection, campaign: bytes, hashes: Sequence[bytes]) -> set[bytes]:
    found = look_up(connection, tables.withdrawn, campaign, "credential_hash", hashes)
    return {row.credential_hash for row in found}
