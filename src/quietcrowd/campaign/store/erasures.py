"""Workers who leave, or are erased, with all that they sent: whether one was there shows nowhere.

Requesters erase by pseudonym, also names that nobody has. What is written then, and in which
statements, is the same for who is there, who has left and who never was, until results change: how
long it takes would tell a requester else who has left since the last release.
"""

from __future__ import annotations

import secrets
from typing import Any

from attrs import field, frozen
from sqlalchemy import Connection, delete, insert, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.exclusions import renew
from quietcrowd.campaign.store.participants import count_joined
from quietcrowd.campaign.store.releases import show_at_once, take_stock, waits_for_others
from quietcrowd.campaign.terms.tokens import erased_hash, new_id

__all__ = ["erase_named", "erase_participant"]


def erase_participant(connection: Connection, person: Any, kept: bytes) -> bool:
    """Delete a participant, all reports, and the results that were computed from them.

    Where workers are shown together these results go, and what is shown changes, with the next
    release, or now if the campaign is closed. Who was not shown leaves unseen.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes.
    person : Row or _Nobody
        Of the table of participants.
    kept : bytes
        What the credential is known by, so that it does not join again.

    Returns
    -------
    bool
        Whether results may have changed.
    """
    campaign = person.campaign_id
    erased = [
        connection.execute(
            delete(table).where(
                table.c.campaign_id == campaign, table.c.participant_id == person.id
            )
        ).rowcount
        for table in (tables.report, tables.sketch)
    ]
    gone = connection.execute(
        delete(tables.participant).where(tables.participant.c.id == person.id)
    ).rowcount
    connection.execute(insert(tables.withdrawn), {"campaign_id": campaign, "credential_hash": kept})
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign)).one()
    count_joined(connection, campaign, -gone)
    together = waits_for_others(row)
    if not together:
        renew(connection, row)
        show_at_once(connection, campaign, participants=-gone, reports=-sum(erased))
    changed = any(erased) and (not together or person.standing == "shown")
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(erasures=tables.campaign.c.erasures + int(changed))
    )
    if not changed:
        return False
    if not together:
        mine = tables.inference.c.campaign_id == campaign
        connection.execute(delete(tables.inference).where(mine))
    elif row.state == "closed":
        take_stock(connection, campaign)
    return True


@frozen(kw_only=True)
class _Nobody:
    """Stands for a participant who is not there, and never was: all of it is random."""

    campaign_id: bytes
    id: bytes = field(factory=new_id)
    token_sha256: bytes = field(factory=lambda: secrets.token_bytes(32))
    standing: str = "joined"


def erase_named(
    connection: Connection, departures: Departures, campaign: bytes, pseudonym: str
) -> bool:
    """Delete a participant as `erase_participant` does, whom a requester names by pseudonym.

    Where there is none the same is written, of somebody who never was: who is there and who has
    left take as long, and leave as much behind.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    departures : Departures
        Where it is kept beside the database, first.
    campaign : bytes
        Its id.
    pseudonym : str
        Of the participant.

    Returns
    -------
    bool
        Whether results may have changed.
    """
    person = tables.participant
    found = connection.execute(
        select(person)
        .where(person.c.campaign_id == campaign, person.c.pseudonym == pseudonym)
        .with_for_update()
    ).one_or_none()
    leaving = _Nobody(campaign_id=campaign) if found is None else found
    kept = erased_hash(leaving.token_sha256)
    departures.leave(campaign, leaving.id, kept)
    return erase_participant(connection, leaving, kept)
