"""Leaving: a worker goes with all that was sent, and with the results that were made of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert, update

from quietcrowd.campaign.store import tables

__all__ = ["erase_participant"]


def erase_participant(connection: Connection, person: Any, kept: bytes) -> bool:
    """Delete a participant, all reports, and the results that were computed from them.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes.
    person : Row
        Of the table of participants.
    kept : bytes
        What the credential is known by, so that it does not join again.

    Returns
    -------
    bool
        Whether there were reports: other results stay as they are.
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
    connection.execute(delete(tables.participant).where(tables.participant.c.id == person.id))
    connection.execute(insert(tables.withdrawn), {"campaign_id": campaign, "credential_hash": kept})
    if not any(erased):
        return False
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(erasures=tables.campaign.c.erasures + 1)
    )
    connection.execute(delete(tables.inference).where(tables.inference.c.campaign_id == campaign))
    return True
