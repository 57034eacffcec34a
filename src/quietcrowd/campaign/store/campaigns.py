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
from quietcrowd.campaign.store.choices import choices_in, last_over
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, if_it_fails
from quietcrowd.campaign.store.invites import forget_invites
from quietcrowd.campaign.store.menus import Entry, MenuDraft, rounds_of
from quietcrowd.campaign.store.releases import (
    show_rounds,
    update_released,
    waits_for_others,
)
from quietcrowd.campaign.store.withdrawals.journal import Departures, Ending
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.chosen_mechanism import (
    ChosenMechanism,
    answers_of_person,
    losses,
    why_chosen,
)
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.domains import Domain
from quietcrowd.exceptions import RemovedMechanismError

_OWNED = (
    *(*tables.SENT, tables.participant, tables.withdrawn, tables.invite),
    *(tables.task, tables.image, tables.dashboard_code, tables.dashboard_token),
    *(tables.exclusion, tables.round_page, tables.shown_round),
)
"""Tables of rows that belong to a campaign, in an order that satisfies foreign keys."""


def campaign_documents(connection: Connection, wanted: Select[Any]) -> list[CampaignDocument]:
    """Return selected campaigns as the requester sees them, with the stored counts."""
    return [
        CampaignDocument.model_validate(
            {
                **row._mapping,
                **_about_mechanism(row),
                **_about_rounds(row),
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
    chosen = ChosenMechanism.read(row.chosen)
    domain = json.loads(row.mechanism)["domain"]
    one, total = _losses(row.mechanism, chosen, row)
    menu = MenuDraft.read(row.menu)
    listed = None if menu is None else [_about_entry(*one, row) for one in enumerate(menu.entries)]
    if listed is not None:
        totals = [entry["total_epsilon"] for entry in listed]
        total = None if None in totals else max(totals)
    return {
        "menu": listed,
        "expected": None if menu is None else menu.expected,
        "domain": domain,
        "total_epsilon": total,
        "answer_epsilon": one,
        "protection": show_protection(total),
        "mechanism_name": None if chosen is None else chosen.mechanism_name,
        "why": _MENU if listed else why_chosen(chosen, Domain.from_dict(domain)),
    }


_MENU = "Each worker chooses from a menu."


def _losses(
    mechanism: str, chosen: ChosenMechanism | None, row: Any
) -> tuple[float | None, float | None]:
    """Return the loss of an answer, and of all answers of a person as it was chosen."""
    answers = row.answers_per_participant
    try:
        one, total = losses(mechanism, answers, row.tasks)
    except RemovedMechanismError:
        one = total = None
    return one, total if chosen is None else chosen.total(answers_of_person(answers, row.tasks))


def _about_entry(choice: int, entry: Entry, row: Any) -> dict[str, Any]:
    described = entry.mechanism.to_dict()
    one, total = _losses(canonical_json(described).decode(), entry.chosen, row)
    return {
        "choice": choice,
        "share": entry.share,
        "total_epsilon": total,
        "answer_epsilon": one,
        "protection": show_protection(total),
        "mechanism_name": None if entry.chosen is None else entry.chosen.mechanism_name,
        "mechanism": described,
    }


def _about_rounds(row: Any) -> dict[str, Any]:
    rounds = rounds_of(row.rounds)
    if rounds is None:
        return {"rounds": None, "losses": None}
    _, total = losses(row.mechanism, row.answers_per_participant, row.tasks)
    found = None if total is None else rounds.losses(total).to_dict()
    return {"rounds": rounds.to_dict(), "losses": found}


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
    *(*tables.SENT, tables.participant, tables.withdrawn, tables.invite),
    *(tables.inference, tables.image, tables.exclusion, tables.round_page, tables.shown_round),
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
                shown_round=None,
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
    if row.rounds is not None:
        show_rounds(connection, row.id, json.loads(row.rounds)["cap"] - 1)
    if waits:
        update_released(connection, row.id)  # it counts invites
    forget_invites(connection, row.id)
    return waits


def rounds_to_show(connection: Connection) -> dict[bytes, Rounds]:
    """Return the rounds of all open campaigns that have some."""
    table = tables.campaign.c
    wanted = select(table.id, table.config).where(table.state == "open", table.rounds.is_not(None))
    found = {row.id: choices_in(row.config).rounds for row in connection.execute(wanted)}
    return {one: rounds for one, rounds in found.items() if rounds is not None}


def show_ended(
    connection: Connection, departures: Departures, campaign: bytes, rounds: Rounds, now: float
) -> int | None:
    """Show the rounds that are over, and close the campaign after the last one.

    Call it in a write transaction. Returns the number of workers in new rounds, or None if results
    stay as they are.
    """
    table = tables.campaign
    wanted = select(table).where(table.c.id == campaign, table.c.state == "open")
    row = connection.execute(wanted.with_for_update()).one_or_none()
    if row is None:
        return None
    last = last_over(rounds, now)
    shown = show_rounds(connection, campaign, last)
    is_over = last >= rounds.cap - 1
    if is_over:
        close_campaign(connection, departures, row, now)
    return shown if shown or is_over else None


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
