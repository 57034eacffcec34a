"""What a requester is shown, and when it changes: with releases, of `at_least` new workers each.

A worker has joined, then waits from sending on, and is shown from the release on that takes in all
who wait: in the transaction in which the last of `at_least` of them sends. No number counts the
releases, so who came with whom is not stored.

What a requester is shown are columns of the campaign that begin with ``shown_``, results that were
computed from exactly the reports of a release, and reports once the campaign is closed. Only
`release_waiting` and `take_stock` write the columns: the former for at least so many new workers,
the latter once the campaign is closed. So joining, sending and withdrawing change nothing else that
is shown. Where `at_least` is 1 nothing waits: all is shown as it is, and `show_at_once` keeps the
counts of participants and reports; withdrawals and the method are those of the moment.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    case,
    delete,
    func,
    or_,
    select,
    update,
)

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import renew

__all__ = [
    "as_released",
    "erasures_shown",
    "largest_at_least",
    "method_shown",
    "release_waiting",
    "reports_of",
    "show_at_once",
    "take_stock",
    "waits_for_others",
]


def waits_for_others(campaign: Any) -> bool:
    """Return whether workers of a campaign, a row of its table, wait until they are shown."""
    return bool(campaign.at_least > 1)


def largest_at_least(connection: Connection) -> int:
    """Return how many workers are shown together in the campaign with most of them, or 1.

    Campaigns count that are open, and those of which workers are held: these may leave.
    """
    campaign = tables.campaign.c
    holds = or_(campaign.state == "open", campaign.joined > 0)
    return connection.scalar(select(func.max(campaign.at_least)).where(holds)) or 1


def _now_or_shown(now: Any, shown: Any) -> Any:
    """Return what there is in a campaign of a query, or as of its last release."""
    return case((tables.campaign.c.at_least > 1, shown), else_=now)


def erasures_shown() -> Any:
    """Return how many withdrawals the requester of a query knows of."""
    return _now_or_shown(tables.campaign.c.erasures, tables.campaign.c.shown_erasures)


def method_shown() -> Any:
    """Return the method by which the results of a query are inferred: a new one waits as well."""
    return _now_or_shown(tables.campaign.c.method, tables.campaign.c.shown_method)


def as_released() -> ColumnElement[bool]:
    """Return the condition that reports are those of the last release: nobody withdrew since."""
    campaign = tables.campaign.c
    return or_(campaign.at_least <= 1, campaign.erasures == campaign.shown_erasures)


def show_at_once(
    connection: Connection, campaign: bytes, *, participants: int = 0, reports: int = 0
) -> None:
    """Count so many participants and reports more, of a campaign whose workers wait for nobody.

    Parameters
    ----------
    connection : Connection
        In the transaction that stores them, with the campaign locked.
    campaign : bytes
        Its id.
    participants, reports : int
        How many are new; below 0 of those who leave. Sketches count as one report each.
    """
    table = tables.campaign
    connection.execute(
        update(table)
        .where(table.c.id == campaign)
        .values(
            shown_participants=table.c.shown_participants + participants,
            shown_reports=table.c.shown_reports + reports,
        )
    )


def release_waiting(connection: Connection, campaign: bytes, senders: Collection[bytes]) -> int:
    """Let those wait who have just sent; release all who wait, if they are enough.

    Parameters
    ----------
    connection : Connection
        In the transaction that stores what they sent, with the campaign locked.
    campaign : bytes
        Its id.
    senders : collection of bytes
        Participants who have just sent, and had sent nothing before.

    Returns
    -------
    int
        How many were released: none, or all who wait.
    """
    person = tables.participant
    connection.execute(
        update(person)
        .where(person.c.id.in_(senders), person.c.campaign_id == campaign)
        .values(standing="waiting")
    )
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign)).one()
    waiting = (person.c.campaign_id == campaign) & (person.c.standing == "waiting")
    count = _count(connection, person, waiting)
    if count < row.at_least:
        return 0
    reports = reports_of(connection, waiting)
    connection.execute(update(person).where(waiting).values(standing="shown"))
    if row.erasures != row.shown_erasures:
        take_stock(connection, campaign)
        return count
    renew(connection, row)
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(
            shown_participants=row.shown_participants + count,
            shown_reports=row.shown_reports + reports,
            shown_method=row.method,
        )
    )
    return count


def take_stock(connection: Connection, campaign: bytes) -> None:
    """Show what there is of those who were released; results from who has withdrawn are deleted.

    Who is to be left out of results is so from now on.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    campaign : bytes
        Its id; workers of it wait for others.
    """
    person, table = tables.participant, tables.campaign
    row = connection.execute(select(table).where(table.c.id == campaign)).one()
    shown = (person.c.campaign_id == campaign) & (person.c.standing == "shown")
    if row.erasures != row.shown_erasures:
        connection.execute(
            delete(tables.inference).where(tables.inference.c.campaign_id == campaign)
        )
    renew(connection, row)
    connection.execute(
        update(table)
        .where(table.c.id == campaign)
        .values(
            shown_participants=_count(connection, person, shown),
            shown_reports=reports_of(connection, shown),
            shown_erasures=row.erasures,
            shown_method=row.method,
        )
    )


def _count(connection: Connection, table: Any, wanted: Any) -> int:
    """Return how many rows of a table, or of a join, meet a condition."""
    return connection.scalar(select(func.count()).select_from(table).where(wanted)) or 0


def reports_of(connection: Connection, wanted: Any) -> int:
    """Return how many reports there are of participants who meet a condition."""
    person = tables.participant
    return sum(
        _count(
            connection,
            person.join(
                sent,
                (sent.c.campaign_id == person.c.campaign_id)
                & (sent.c.participant_id == person.c.id),
            ),
            wanted,
        )
        for sent in (tables.report, tables.sketch)
    )
