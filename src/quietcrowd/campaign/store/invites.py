"""Invites in the database: free, reserved by joining, spent by taking a place, or revoked.

Many browsers can join with a free or reserved invite: each gets a worker with the tasks of the
invite. Only one of them can take the place, and so send. Nothing that someone else sees changes
before that, so someone with a copy of a link cannot learn whether its worker has joined. The code
that a device sends on joining moves its worker to another browser.

Spending deletes all other workers of the invite. Until a campaign closes, workers are linked with
the hash of their invite, so that the requester can replace it. All hashes stay as long, with their
tasks, which the replacement gets.
"""

import secrets
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import JoinRequest
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import draw_allotment
from quietcrowd.campaign.terms.tokens import code_hash, erased_hash, has_prefix, token_hash


def invalid_invite() -> ProblemError:
    """Return the problem of an invite that is not free or reserved."""
    return ProblemError(
        "invite-invalid",
        "Send the invite from the link. An invite serves one worker. If it was used to send, or "
        "was revoked, ask the requester for another.",
    )


def reserve(
    connection: Connection, row: Any, request: JoinRequest, let_in: Callable[[], None]
) -> dict[str, Any]:
    """Return the columns of a new worker of an invite of a locked campaign, or raise ProblemError.

    A worker that continues keeps pseudonym, tasks and choice: the earlier row is replaced.
    """
    table = tables.invite
    known = request.invite is not None and has_prefix(request.invite, "qci_")
    hashed = token_hash(str(request.invite)) if known else b""
    mine = (table.c.campaign_id == row.id) & (table.c.token_sha256 == hashed)
    found = connection.execute(select(table).where(mine, table.c.revoked == 0)).one_or_none()
    if found is None:
        raise invalid_invite()
    let_in()
    # without a code, none is known
    code = code_hash(hashed, request.code or secrets.token_hex())
    if request.continues:
        return _move(connection, row.id, hashed, code)
    tasks = draw_allotment(connection, row, found.allotment)
    connection.execute(update(table).where(mine).values(allotment=tasks))
    bound = {"allotment": tasks, "after": found.after}
    return {"invite_sha256": hashed, "code_sha256": code, **bound}


def _move(connection: Connection, campaign: bytes, invite: bytes, code: bytes) -> dict[str, Any]:
    person = tables.participant
    found = connection.execute(
        select(person).where(places_of(campaign, invite), person.c.code_sha256 == code)
    ).first()
    if found is None:
        raise ProblemError("code-unknown", "Send the code that was shown when the worker joined.")
    connection.execute(delete(person).where(person.c.id == found.id))
    gone = {"campaign_id": campaign, "credential_hash": erased_hash(found.token_sha256)}
    connection.execute(insert(tables.withdrawn), gone)
    count_joined(connection, campaign, -1)
    kept = ("pseudonym", "allotment", "invite_sha256", "code_sha256", "choice", "after")
    return {name: found._mapping[name] for name in kept}


def places_of(campaign: bytes, invite: bytes) -> ColumnElement[bool]:
    """Return the SQL condition of the workers of an invite without the place."""
    person = tables.participant.c
    return (
        (person.campaign_id == campaign) & (person.invite_sha256 == invite) & (person.placed == 0)
    )


def count_joined(connection: Connection, campaign: bytes, more: int) -> None:
    """Add `more` to the number of joined workers, with the campaign locked."""
    table = tables.campaign
    connection.execute(
        update(table).where(table.c.id == campaign).values(joined=table.c.joined + more)
    )


def spend(connection: Connection, campaign: bytes, invite: bytes, worker: bytes) -> bool:
    """Spend an invite of a locked campaign for a worker; return whether it was not spent before.

    The other workers of the invite are deleted; they have sent nothing.
    """
    table, person = tables.invite.c, tables.participant.c
    mine = (table.campaign_id == campaign) & (table.token_sha256 == invite)
    used = revoke(connection, mine)
    if used:
        delete_places(connection, campaign, invite, person.id != worker)
        known = tables.campaign
        connection.execute(
            update(known)
            .where(known.c.id == campaign)
            .values(invites_used=known.c.invites_used + used)
        )
    return used > 0


def delete_places(
    connection: Connection, campaign: bytes, invite: bytes, *conditions: ColumnElement[bool]
) -> None:
    """Delete the workers of an invite without the place."""
    mine = places_of(campaign, invite)
    gone = connection.execute(delete(tables.participant).where(mine, *conditions)).rowcount
    count_joined(connection, campaign, -gone)


def revoke(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Let no one join or take a place with some invites; return how many were valid."""
    valid = tables.invite.c.revoked == 0
    changed = update(tables.invite).where(condition, valid).values(revoked=1)
    return connection.execute(changed).rowcount


def revoke_presented(connection: Connection, campaign: bytes, invite: bytes, **values: Any) -> None:
    """Revoke an invite of a locked campaign, without revealing whether it was used or issued.

    One statement writes one row in all cases, so that the time reveals nothing: SQLite writes no
    page for a row that keeps its values, so a spent invite, which has 1, gets another value.
    """
    table = tables.invite
    insert_one = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = {"revoked": 2, **values}
    put = insert_one(table).values(campaign_id=campaign, token_sha256=invite, **row)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=[table.c.campaign_id, table.c.token_sha256], set_=row
        )
    )


def forget_invites(connection: Connection, campaign: bytes) -> None:
    """Delete the invites of a campaign that closes, and what links workers with them."""
    person = tables.participant
    linked = (person.c.campaign_id == campaign) & person.c.invite_sha256.is_not(None)
    connection.execute(update(person).where(linked).values(invite_sha256=None, code_sha256=None))
    connection.execute(delete(tables.invite).where(tables.invite.c.campaign_id == campaign))
