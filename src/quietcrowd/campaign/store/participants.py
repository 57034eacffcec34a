"""Workers in the database: join once per credential, find, count and delete.

Anyone with a new credential, including the requester, can try to join and so learn whether a
campaign is full. So its limit counts only the workers that the requester sees. An invite is checked
last: all other errors are the same for used and unused invites. Workers with an invite count from
taking the place on: see `invites`. Requesters erase by pseudonym or by invite: the rows written are
the same for present, withdrawn and unknown workers, until results change. Otherwise the time taken
would reveal withdrawals since the last release.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attrs import field, frozen
from sqlalchemy import Connection, delete, func, insert, select, update

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import JoinRequest
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import draw_allotment
from quietcrowd.campaign.store.choices import over_before, read_choice, require_same
from quietcrowd.campaign.store.database import UNAVAILABLE, Database, if_it_fails
from quietcrowd.campaign.store.exclusions import renew
from quietcrowd.campaign.store.invites import (
    count_joined,
    delete_places,
    invalid_invite,
    reserve,
    revoke_presented,
    spend,
)
from quietcrowd.campaign.store.releases import show_at_once, update_released, waits_for_others
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.promises import most_participants
from quietcrowd.campaign.terms.tokens import (
    erased_hash,
    new_id,
    new_pseudonym,
    new_token,
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

    `let_in` may raise before a new worker joins. Raises `ProblemError`.
    """
    row = public_campaign(connection, campaign, lock=True)
    me, hashed = participant_id(credential), token_hash(credential)
    known = connection.execute(
        select(tables.participant).where(tables.participant.c.id == me)
    ).one_or_none()
    if known is not None:
        if known.campaign_id != row.id or not same_hash(known.token_sha256, hashed):
            raise ProblemError("credential-used", "Generate a new credential for each campaign.")
        require_same(known, request)
        if known.allotment is None and row.state == "open":
            allotment = draw_allotment(connection, row)
            if allotment is not None:
                late = update(tables.participant).where(tables.participant.c.id == me)
                connection.execute(late.values(allotment=allotment))
        return False
    _require_not_withdrawn(connection, row.id, credential)
    goes_on = request.continues and row.join_mode == "invite"
    _require_open(row, bytes.fromhex(request.config_hash), full=not goes_on)
    chosen = read_choice(row, request)
    if row.join_mode == "invite":
        columns = reserve(connection, row, request, let_in)
    else:
        let_in()
        columns = {"allotment": draw_allotment(connection, row)}
    count_joined(connection, row.id, 1)
    new = {
        "id": me,
        "campaign_id": row.id,
        "token_sha256": hashed,
        "pseudonym": new_pseudonym(),
        "consent_hash": row.config_hash,
        "placed": 0,
    }
    connection.execute(insert(tables.participant), {**new, **chosen, **columns})
    _show_if_counted(connection, row, placed=False, count=1)
    return True


def take_place(connection: Connection, credential: str) -> None:
    """Let a worker send, in a write transaction: one worker of an invite; repeating has no effect.

    A device calls this before it randomizes, so that two devices never do with one invite. Raises
    `ProblemError`.
    """
    person = find_participant(connection, credential, lock=True)
    if person.placed:
        return
    row = _campaign(connection, person.campaign_id)
    if row.state != "open":
        raise ProblemError("campaign-closed", "The campaign accepts no more reports.")
    if row.join_mode == "invite" and not spend(connection, row.id, person.invite_sha256, person.id):
        raise invalid_invite()
    table = tables.participant
    mine = table.c.id == person.id
    connection.execute(update(table).where(mine).values(placed=1, code_sha256=None))
    if row.join_mode == "invite":
        _show_if_counted(connection, row, placed=True, count=1)


def _campaign(connection: Connection, campaign: bytes) -> Any:
    table = tables.campaign
    return connection.execute(select(table).where(table.c.id == campaign)).one()


def _show_if_counted(
    connection: Connection, row: Any, *, placed: bool, count: int, reports: int = 0
) -> None:
    """Add workers to the visible counts, unless they wait or have not taken their place."""
    if not waits_for_others(row):
        counted = count if placed or row.join_mode == "open" else 0
        show_at_once(connection, row.id, participants=counted, reports=reports)


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


def _require_open(row: Any, agreed: bytes, *, full: bool) -> None:
    if row.state != "open":
        raise ProblemError("campaign-closed", "No more workers can join.")
    if not same_hash(row.config_hash, agreed):
        raise ProblemError("config-mismatch", "Read the campaign again, and ask the worker again.")
    most = most_participants(row.join_mode, row.max_participants)
    if full and most is not None and row.shown_participants >= most:
        raise ProblemError("full", "The campaign accepts no more participants.")


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


def erase_participant(
    connection: Connection, person: Any, kept: bytes, *, withdraws: bool = False
) -> bool:
    """Delete a worker, all reports and results from them; return whether results may change.

    Call it in a write transaction. `kept` identifies the credential, so that it cannot join again.
    The worker's invite is spent. `withdraws` means that the worker, not the requester, asks for it.
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
        for table in tables.SENT
    ]
    gone = connection.execute(
        delete(tables.participant).where(tables.participant.c.id == person.id)
    ).rowcount
    connection.execute(insert(tables.withdrawn), {"campaign_id": campaign, "credential_hash": kept})
    count_joined(connection, campaign, -gone)
    spend(connection, campaign, person.invite_sha256 or b"", person.id)
    row = _campaign(connection, campaign)
    together = waits_for_others(row)
    if not together:
        renew(connection, row)
        counts = {"count": -gone, "reports": -sum(erased)}
        _show_if_counted(connection, row, placed=bool(person.placed), **counts)
    changed = any(erased) and (not together or person.standing == "shown")
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(
            erasures=tables.campaign.c.erasures + int(changed),
            withdrew=tables.campaign.c.withdrew + int(withdraws),
        )
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
    """Random substitute for a nonexistent worker."""

    campaign_id: bytes
    id: bytes = field(factory=new_id)
    token_sha256: bytes = field(factory=lambda: secrets.token_bytes(32))
    invite_sha256: bytes | None = None
    placed: int = 1
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


def replace_invite(
    connection: Connection, departures: Departures, row: Any, invite: str, now: float
) -> tuple[str, bool]:
    """Return a new invite with the tasks of an earlier one, and whether results may change.

    In rounds its worker begins later: see `choices`. Reports sent with the earlier one are deleted.
    The rows written are the same whether it was free, reserved, spent, revoked or never issued;
    tasks not drawn yet are drawn now. The campaign must be locked and not closed; the journal is
    written first.
    """
    hashed = token_hash(invite)
    sender = _sender(connection, row.id, hashed) or _Nobody(campaign_id=row.id)
    kept = erased_hash(sender.token_sha256)
    new = new_token("qci_")
    attempt = (departures, sender, hashed, token_hash(new))
    if_it_fails(connection, lambda database: _look_again(database, *attempt))
    departures.leave(row.id, hashed, kept)
    bound = _bound(connection, row.id, hashed)
    if row.state == "open":
        bound["allotment"] = draw_allotment(connection, row, bound["allotment"])
        reported = tables.round_report.c
        latest = select(func.max(reported.round)).where(reported.campaign_id == row.id)
        bound.update(over_before(row, bound["after"], now, connection.scalar(latest)))
    changed = erase_participant(connection, sender, kept)
    _retract(connection, row.id, hashed, bound)
    values = {"campaign_id": row.id, "token_sha256": token_hash(new), **bound}
    connection.execute(insert(tables.invite), values)
    return new, changed


def _look_again(
    database: Database, departures: Departures, sender: Any, invite: bytes, new: bytes
) -> None:
    """Delete the journal's record of a replacement, unless it or another one succeeded."""
    made, person = tables.invite.c, tables.participant.c
    found = [select(made.revoked).where(made.token_sha256 == new)]
    if not isinstance(sender, _Nobody):
        found.append(select(person.placed).where(person.id == sender.id))
    with suppress(*UNAVAILABLE), database.write() as connection:
        connection.execute(
            select(tables.campaign.c.id)
            .where(tables.campaign.c.id == sender.campaign_id)
            .with_for_update()
        )
        done, *stays = (connection.scalar(one) is not None for one in found)
        if not done and all(stays):
            departures.stay(sender.campaign_id, invite, erased_hash(sender.token_sha256))


def retract_again(connection: Connection, campaign: bytes, invite: bytes, kept: bytes) -> int:
    """Delete reports sent with a replaced invite, by its hash; return the number of workers."""
    sender = _sender(connection, campaign, invite)
    if sender is not None:
        erase_participant(connection, sender, kept)
    _retract(connection, campaign, invite, _bound(connection, campaign, invite))
    return int(sender is not None)


def _retract(
    connection: Connection, campaign: bytes, invite: bytes, bound: Mapping[str, Any]
) -> None:
    delete_places(connection, campaign, invite)
    revoke_presented(connection, campaign, invite, **bound)


def _sender(connection: Connection, campaign: bytes, invite: bytes) -> Any:
    table = tables.participant
    mine = (table.c.campaign_id == campaign) & (table.c.invite_sha256 == invite)
    wanted = select(table).where(mine, table.c.placed == 1)
    return connection.execute(wanted.with_for_update()).one_or_none()


def _bound(connection: Connection, campaign: bytes, invite: bytes) -> dict[str, Any]:
    """Return what whoever uses an invite, or its replacement, gets."""
    table = tables.invite.c
    mine = (table.campaign_id == campaign) & (table.token_sha256 == invite)
    wanted = select(table.allotment, table.after).where(mine)
    found = connection.execute(wanted).one_or_none()
    return {"allotment": None, "after": None} if found is None else dict(found._mapping)
