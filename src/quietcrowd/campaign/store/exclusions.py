"""Workers whom a requester leaves out of inference, by pseudonym.

That is an act of the requester: results without a worker follow from reports that the requester is
shown anyway, and tell no more than these. But where workers wait for others, results are of exactly
the reports of a release, and those of who has withdrawn since are gone. Results in between would
lack them, or there would be none: either way they told that somebody has left. So what is wanted
comes into force with the next release, as another method does, or with the closing; at once where
there is nothing to wait for. See `renew`.

Every pseudonym can be named, also one that nobody has. What is answered and listed is the same for
who waits, who has left and who never was: naming somebody tells nothing. Who is left out and then
withdraws stays listed until what is shown changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables

__all__ = ["MOST", "exclude", "include", "is_excluded", "listed", "names_in_force", "renew"]

MOST = 10_000
"""Most workers that a campaign leaves out."""


def exclude(connection: Connection, campaign: bytes, pseudonym: str) -> None:
    """Leave a worker out from when this comes into force; again has no effect.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    campaign : bytes
        Its id.
    pseudonym : str
        Of a worker, or of nobody.

    Raises
    ------
    ProblemError
        Where so many are left out already.
    """
    table = tables.exclusion
    count = connection.scalar(
        select(func.count())
        .select_from(table)
        .where(table.c.campaign_id == campaign, table.c.pseudonym != pseudonym)
    )
    if (count or 0) >= MOST:
        raise ProblemError("excluded-many", f"At most {MOST:,}: take some back in.")
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    put = insert(table).values(campaign_id=campaign, pseudonym=pseudonym, wanted=1, in_force=0)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=[table.c.campaign_id, table.c.pseudonym], set_={"wanted": 1}
        )
    )


def include(connection: Connection, campaign: bytes, pseudonym: str) -> None:
    """Leave a worker out no more; parameters as those of `exclude`."""
    table = tables.exclusion
    named = (table.c.campaign_id == campaign) & (table.c.pseudonym == pseudonym)
    connection.execute(update(table).where(named).values(wanted=0))
    connection.execute(delete(table).where(named, table.c.in_force == 0))


def renew(connection: Connection, campaign: Any) -> bool:
    """Bring into force what is wanted; whoever was left out and is there no more is forgotten.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    campaign : Row
        Of the table of campaigns.

    Returns
    -------
    bool
        Whether results may be others now.
    """
    table, person = tables.exclusion, tables.participant.c
    mine = table.c.campaign_id == campaign.id
    is_shown = person.standing == "shown" if campaign.at_least > 1 else true()
    there = (
        select(person.id)
        .where(person.campaign_id == campaign.id, person.pseudonym == table.c.pseudonym, is_shown)
        .exists()
    )
    over = (table.c.wanted == 0) | ((table.c.in_force == 1) & ~there)
    changed = connection.execute(delete(table).where(mine, over)).rowcount
    changed += connection.execute(
        update(table).where(mine, table.c.in_force == 0, there).values(in_force=1)
    ).rowcount
    if changed:
        connection.execute(
            update(tables.campaign)
            .where(tables.campaign.c.id == campaign.id)
            .values(exclusions=tables.campaign.c.exclusions + 1)
        )
    return changed > 0


def listed(connection: Connection, campaign: bytes) -> Sequence[Any]:
    """Return pseudonym, wanted and in_force of all who are named, by pseudonym."""
    table = tables.exclusion.c
    wanted = select(table.pseudonym, table.wanted, table.in_force)
    return connection.execute(
        wanted.where(table.campaign_id == campaign).order_by(table.pseudonym)
    ).all()


def names_in_force(connection: Connection, campaign: bytes) -> list[str]:
    """Return the pseudonyms of who is left out of results now."""
    return [row.pseudonym for row in listed(connection, campaign) if row.in_force]


def is_excluded(campaign: bytes) -> ColumnElement[bool]:
    """Return the condition that a row of the table of participants is left out of results.

    Parameters
    ----------
    campaign : bytes
        Its id.
    """
    table = tables.exclusion.c
    named = select(table.pseudonym).where(table.campaign_id == campaign, table.in_force == 1)
    found: ColumnElement[bool] = tables.participant.c.pseudonym.in_(named)
    return found
