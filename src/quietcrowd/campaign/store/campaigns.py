"""Campaigns in the database: read, change, close and delete them; retention of workers' data.

The journal records that a campaign ends before the database does, and reverts it on failure.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, event, select, update

from quietcrowd.accounting.consent import show_protection
from quietcrowd.campaign.protocol.campaign_documents import CampaignDocument
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, if_it_fails
from quietcrowd.campaign.store.invites import forget_invites
from quietcrowd.campaign.store.releases import update_released, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures, Ending
from quietcrowd.campaign.terms.chosen_mechanism import (
    ChosenMechanism,
    answers_of_person,
    losses,
    why_chosen,
)
from quietcrowd.domains import Domain
from quietcrowd.exceptions import RemovedMechanismError

_OWNED = (
    *(tables.report, tables.sketch, tables.participant, tables.withdrawn, tables.invite),
    *(tables.task, tables.image, tables.dashboard_code, tables.dashboard_token),
    tables.exclusion,
)
"""Tables of rows that belong to a campaign, in an order that satisfies foreign keys."""


def campaign_documents(connection: Connection, wanted: Select[Any]) -> list[CampaignDocument]:
    """Return selected campaigns as the requester sees them, with the stored counts."""
    return [
        CampaignDocument.model_validate(
            {
                **row._mapping,
                **_about_mechanism(row),
                "id": row.id.hex(),
                "mechanism": json.loads(row.mechanism),
                "method": None if row.method is None else json.loads(row.method),
                "participants": row.shown_participants,
                "reports": row.shown_reports,
                "requester": row.requester_name,
                "allotment": fixed_allotment(row),
                "config_hash": None if row.config_hash is None else row.config_hash.hex(),
            }
        )
        for row in connection.execute(wanted)
    ]


def _about_mechanism(row: Any) -> dict[str, Any]:
    """Return the possible answers, the losses, and why the campaign has its mechanism."""
    chosen, answers = ChosenMechanism.read(row.chosen), row.answers_per_participant
    domain = json.loads(row.mechanism)["domain"]
    try:
        one, total = losses(row.mechanism, answers, row.tasks)
    except RemovedMechanismError:
        one = total = None
    if chosen is not None:
        total = chosen.total(answers_of_person(answers, row.tasks))
    return {
        "domain": domain,
        "total_epsilon": total,
        "answer_epsilon": one,
        "protection": show_protection(total),
        "mechanism_name": None if chosen is None else chosen.mechanism_name,
        "why": why_chosen(chosen, Domain.from_dict(domain)),
    }


def update_campaign(connection: Connection, row: Any, **values: Any) -> None:
    """Change columns of a campaign and increment its version."""
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == row.id)
        .values(version=row.version + 1, **values)
    )


def read_tasks(connection: Connection, campaign: bytes) -> Sequence[Any]:
    """Return id, name and data of all tasks of a campaign, ordered by id."""
    task = tables.task.c
    wanted = select(task.id, task.name, task.data).where(task.campaign_id == campaign)
    return connection.execute(wanted.order_by(task.id)).all()


def delete_campaign(connection: Connection, campaign: bytes) -> None:
    """Delete a campaign and all its rows."""
    for table in (*_OWNED, tables.inference):  # deletes result pages by cascade
        connection.execute(delete(table).where(table.c.campaign_id == campaign))
    connection.execute(delete(tables.campaign).where(tables.campaign.c.id == campaign))


_DAY = 86_400

_DELETED = (
    *(tables.report, tables.sketch, tables.participant, tables.withdrawn, tables.invite),
    *(tables.inference, tables.image, tables.exclusion),
)
"""In an order that satisfies foreign keys. Results contain data of workers; images are of no
further use."""


def some_expired(connection: Connection, now: float) -> bool:
    """Return whether `delete_expired` would delete anything."""
    campaign = tables.campaign.c
    return connection.scalar(select(campaign.id).where(campaign.delete_at <= int(now))) is not None


def delete_expired(connection: Connection, now: float) -> list[bytes]:
    """Delete workers' data of campaigns after the end of retention by `now`; return their ids.

    Call it in a write transaction; it locks the campaigns. They stay, and count no workers.
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
                withdrew=0,
                shown_joined=0,
                shown_left=0,
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
    change. A rollback reverts the record before the lock is released. After a failed commit the
    campaign is read again, as the commit may have succeeded.
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
    """Close an open campaign, and return whether results may change.

    Call it in a write transaction with the campaign locked. Retention begins at `now`.
    """
    days = row.retention_days
    end = None if days is None else int(now) + int(days) * _DAY
    keep_ending(connection, departures, row, "closed", end)
    update_campaign(connection, row, state="closed", delete_at=end)
    waits = waits_for_others(row)
    if waits:
        update_released(connection, row.id)  # it counts invites
    forget_invites(connection, row.id)
    return waits


def due_campaigns(connection: Connection, now: float) -> Sequence[bytes]:
    """Return the open campaigns with a last day that is over at `now` (seconds since 1970)."""
    return connection.scalars(select(tables.campaign.c.id).where(_is_due(now))).all()


def close_due(connection: Connection, departures: Departures, campaign: bytes, now: float) -> bool:
    """Close a campaign that is due, in a write transaction; return whether results may change."""
    wanted = select(tables.campaign).where(tables.campaign.c.id == campaign, _is_due(now))
    row = connection.execute(wanted.with_for_update()).one_or_none()
    return row is not None and close_campaign(connection, departures, row, now)


def _is_due(now: float) -> ColumnElement[bool]:
    campaign = tables.campaign.c
    found: ColumnElement[bool] = (campaign.state == "open") & (campaign.closes_on < day_of(now))
    return found
