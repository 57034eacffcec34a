"""Workers in the database: join once per credential, find, count and delete.

Anyone with a new credential, including the requester, can try to join and so learn whether a
campaign is full. So its limit counts only the workers that the requester sees. An invite is checked
last: all other errors are the same for used and unused invites. Requesters erase by pseudonym: the
rows written are the same for present, withdrawn and unknown workers, until results change.
Otherwise the time taken would reveal withdrawals since the last release.
"""

import secrets
from collections.abc import Callable
from typing import Any

from attrs import field, frozen
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import JoinRequest
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import draw_allotment
from quietcrowd.campaign.store.exclusions import renew
from quietcrowd.campaign.store.releases import show_at_once, update_released, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.promises import most_participants
from quietcrowd.campaign.terms.tokens import (
    erased_hash,
    has_prefix,
    new_id,
    new_pseudonym,
    participant_id,
    same_hash,
    token_hash,
    withdrawn_hash,
)


def public_campaign(connection: Connection, campaign: str, *, lock: bool = False) -> Any:
    """Return a campaign that workers may see, or raise `ProblemError`."""
    wanted = select(tables.campaign).where(
        tables.campaign.c.id == bytes.fromhex(campaign), tables.campaign.c.state != "draft"
    )
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if row is None:
        raise ProblemError("not-found", "The campaign does not exist, or is not open yet.")
    return row


def join(
    connection: Connection,
    campaign: str,
    credential: str,
    request: JoinRequest,
    let_in: Callable[[], None],
) -> bool:
    """Add a worker to a campaign in a write transaction; return whether the worker is new.

    `let_in` may raise before a new worker joins without an invite. Raises `ProblemError`.
    """
    row = public_campaign(connection, campaign, lock=True)
    me, hashed = participant_id(credential), token_hash(credential)
    known = connection.execute(
        select(tables.participant).where(tables.participant.c.id == me)
    ).one_or_none()
    if known is not None:
        if known.campaign_id != row.id or not same_hash(known.token_sha256, hashed):
            raise ProblemError("credential-used", "Generate a new credential for each campaign.")
        if known.allotment is None and row.state == "open":
            allotment = draw_allotment(connection, row)
            if allotment is not None:
                late = update(tables.participant).where(tables.participant.c.id == me)
                connection.execute(late.values(allotment=allotment))
        return False
    _require_not_withdrawn(connection, row.id, credential)
    _require_open(row, bytes.fromhex(request.config_hash))
    if row.join_mode == "invite":
        _use_invite(connection, row.id, request.invite)
    else:
        let_in()
    count_joined(connection, row.id, 1)
    connection.execute(
        insert(tables.participant),
        {
            "id": me,
            "campaign_id": row.id,
            "token_sha256": hashed,
            "pseudonym": new_pseudonym(),
            "consent_hash": row.config_hash,
            "allotment": draw_allotment(connection, row),
        },
    )
    if not waits_for_others(row):
        show_at_once(connection, row.id, participants=1)
    return True


def _require_not_withdrawn(connection: Connection, campaign: bytes, credential: str) -> None:
    table = tables.withdrawn
    kept = (withdrawn_hash(credential), erased_hash(token_hash(credential)))
    found = connection.execute(
        select(table).where(table.c.campaign_id == campaign, table.c.credential_hash.in_(kept))
    ).first()
    if found is not None:
        raise ProblemError(
            "withdrawn", "A withdrawn worker cannot join again. Fresh noise would reveal more."
        )


def _require_open(row: Any, agreed: bytes) -> None:
    if row.state != "open":
        raise ProblemError("campaign-closed", "No more workers can join.")
    if not same_hash(row.config_hash, agreed):
        raise ProblemError("config-mismatch", "Read the campaign again, and ask the worker again.")
    most = most_participants(row.join_mode, row.max_participants)
    if most is not None and row.shown_participants >= most:
        raise ProblemError("full", "The campaign accepts no more participants.")


def count_joined(connection: Connection, campaign: bytes, more: int) -> None:
    """Add `more` to the number of joined workers, with the campaign locked."""
    table = tables.campaign
    connection.execute(
        update(table).where(table.c.id == campaign).values(joined=table.c.joined + more)
    )


def _use_invite(connection: Connection, campaign: bytes, invite: str | None) -> None:
    """Delete an invite: a stored one would link it to the worker, by the transaction of both."""
    known = invite is not None and has_prefix(invite, "qci_")
    if known:
        used = connection.execute(
            delete(tables.invite).where(
                tables.invite.c.campaign_id == campaign,
                tables.invite.c.token_sha256 == token_hash(str(invite)),
                tables.invite.c.revoked == 0,
            )
        )
        known = used.rowcount == 1
    if not known:
        raise ProblemError(
            "invite-invalid",
            "Send the invite from the link. An invite admits one worker. If it was used, ask the "
            "requester for another.",
        )
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(invites_used=tables.campaign.c.invites_used + 1)
    )


def revoke_presented(connection: Connection, campaign: bytes, invite: str) -> None:
    """Revoke an invite of a locked campaign, without revealing whether it was used or issued.

    One statement writes one row in all cases, so that the time reveals nothing.
    """
    table = tables.invite
    insert_one = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    put = insert_one(table).values(campaign_id=campaign, token_sha256=token_hash(invite), revoked=1)
    connection.execute(
        put.on_conflict_do_update(
            index_elements=[table.c.campaign_id, table.c.token_sha256], set_={"revoked": 1}
        )
    )


def find_participant(connection: Connection, credential: str, *, lock: bool = False) -> Any:
    """Return the worker with a credential, or raise `ProblemError`; lock the campaign first."""
    person, campaign = tables.participant.c, tables.campaign.c
    mine = person.id == participant_id(credential)
    wanted = select(tables.participant).where(mine)
    if lock:
        locked = connection.scalar(
            select(campaign.id)
            .where(campaign.id.in_(select(person.campaign_id).where(mine)))
            .with_for_update()
        )
        wanted = wanted.where(person.campaign_id == locked).with_for_update()
    found = connection.execute(wanted).one_or_none()
    if found is None or not same_hash(found.token_sha256, token_hash(credential)):
        raise ProblemError("credential", "Join the campaign first.")
    return found


def erase_participant(connection: Connection, person: Any, kept: bytes) -> bool:
    """Delete a worker, all reports and results from them; return whether results may change.

    Call it in a write transaction. `kept` identifies the credential, so that it cannot join again.
    If workers wait for a release, results change with the next one, or now if the campaign is
    closed.
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
        update_released(connection, campaign)
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
    """Delete the worker with a pseudonym, like `erase_participant`, in a write transaction.

    Without one, the same rows are written for a random worker, to take as long and leave as much
    behind. The campaign must be locked; the journal is written first.
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
