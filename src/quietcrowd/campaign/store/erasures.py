"""Delete workers with all their data, without revealing whether they existed.

Requesters erase by pseudonym, which may be one that no worker has. The statements and the rows
written are the same for present, withdrawn and unknown workers, until results change. Otherwise the
time taken would reveal withdrawals since the last release to the requester.
"""

from __future__ import annotations

import secrets
from typing import Any

from attrs import field, frozen
from sqlalchemy import Connection, delete, insert, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import renew
from quietcrowd.campaign.store.participants import count_joined
from quietcrowd.campaign.store.releases import show_at_once, take_stock, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.tokens import erased_hash, new_id


def erase_participant(connection: Connection, person: Any, kept: bytes) -> bool:
    """Delete a worker, all reports and results from them; return whether results may change.

    Call it in a write transaction. `kept` is the hash that identifies the credential, so that it
    cannot join again. If workers wait for a release, results change with the next release, or now
    if the campaign is closed. The withdrawal of a worker who was not shown yet changes nothing
    visible.
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
    """A random stand-in for a nonexistent worker."""

    campaign_id: bytes
    id: bytes = field(factory=new_id)
    token_sha256: bytes = field(factory=lambda: secrets.token_bytes(32))
    standing: str = "joined"


def erase_named(
    connection: Connection, departures: Departures, campaign: bytes, pseudonym: str
) -> bool:
    """Delete the worker with a pseudonym; return whether results may change.

    See `erase_participant`. Without one, the same rows are written for a random worker, to
    take as long and leave as much behind. Call it in a write transaction with the campaign locked;
    the journal is written first.
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
