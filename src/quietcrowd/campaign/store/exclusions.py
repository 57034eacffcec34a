"""Workers that a requester excludes from inference, by pseudonym.

Results without a worker follow from reports that the requester sees anyway, so they reveal no more.
But if workers wait for a release, results are those of exactly the released reports, and reports of
workers withdrawn since are gone. Results in between would reveal the withdrawals. So an exclusion
takes effect with the next release, or with closing; at once if workers do not wait. See `renew`.

Any pseudonym can be excluded. Answers and lists are the same for waiting, withdrawn and unknown
workers, so excluding someone reveals nothing. An excluded worker who withdraws stays listed until
the requester's view changes.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables

MOST = 10_000  # most workers that a campaign excludes


def exclude(connection: Connection, campaign: bytes, pseudonym: str) -> None:
    """Exclude a worker as soon as exclusions take effect, even an unknown one.

    Call it in a write transaction with the campaign locked. Raises `ProblemError` beyond `MOST`.
    """
    table = tables.exclusion
    count = connection.scalar(
        select(func.count())
        .select_from(table)
        .where(table.c.campaign_id == campaign, table.c.pseudonym != pseudonym)
    )
    if (count or 0) >= MOST:
        raise ProblemError("excluded-many", f"The limit is {MOST:,}: include some again.")
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    put = insert(table).values(campaign_id=campaign, pseudonym=pseudonym, wanted=1, in_force=0)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=[table.c.campaign_id, table.c.pseudonym], set_={"wanted": 1}
        )
    )


def include(connection: Connection, campaign: bytes, pseudonym: str) -> None:
    """Undo `exclude`, under the same conditions."""
    table = tables.exclusion
    named = (table.c.campaign_id == campaign) & (table.c.pseudonym == pseudonym)
    connection.execute(update(table).where(named).values(wanted=0))
    connection.execute(delete(table).where(named, table.c.in_force == 0))


def renew(connection: Connection, campaign: Any) -> bool:
    """Put pending exclusions of a locked campaign into effect; return whether results change."""
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
    """Return pseudonym, wanted and in_force of all exclusions, ordered by pseudonym."""
    table = tables.exclusion.c
    wanted = select(table.pseudonym, table.wanted, table.in_force)
    return connection.execute(
        wanted.where(table.campaign_id == campaign).order_by(table.pseudonym)
    ).all()


def names_in_force(connection: Connection, campaign: bytes) -> list[str]:
    """Return the pseudonyms excluded from results now."""
    return [row.pseudonym for row in listed(connection, campaign) if row.in_force]


def is_excluded(campaign: bytes) -> ColumnElement[bool]:
    """Return the SQL condition that a row of the table of participants is excluded from results."""
    table = tables.exclusion.c
    named = select(table.pseudonym).where(table.campaign_id == campaign, table.in_force == 1)
    found: ColumnElement[bool] = tables.participant.c.pseudonym.in_(named)
    return found
