"""Routes for requesters about workers: invites, exclusion from results, and deletion.

An invite lets one worker take part. Only its hash is stored. Responses are the same whether the
campaign has a worker or not.
"""

from typing import Any, Literal

from fastapi import APIRouter, Request
from sqlalchemy import Connection, Row, insert, update

from quietcrowd.campaign.protocol.campaign_documents import (
    Exclusion,
    Exclusions,
    Funnel,
    InviteCounts,
    InviteOrder,
    Invites,
    Revocation,
)
from quietcrowd.campaign.protocol.fields import Id, Worker
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.api.about import is_local, public_address
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import ReaderOf, Requester, Service, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import exclude, include, listed, renew
from quietcrowd.campaign.store.invites import revoke, revoke_presented
from quietcrowd.campaign.store.participants import erase_named, replace_invite
from quietcrowd.campaign.store.releases import people_joined, waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import new_token, token_hash

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["workers"])


@router.get("/excluded", responses=documented("credential", "not-found"))
def list_excluded(campaign: Id, requester: Requester, service: ServiceOf) -> Exclusions:
    """Return all workers excluded from results."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        rows = listed(connection, row.id)
    return Exclusions(items=[Exclusion(worker=one.pseudonym, state=_state(one)) for one in rows])


def _state(one: Any) -> Literal["excluded", "to-be-excluded", "to-be-included"]:
    if not one.wanted:
        return "to-be-included"
    return "excluded" if one.in_force else "to-be-excluded"


@router.put(
    "/excluded/{worker}",
    status_code=204,
    responses=documented("credential", "not-found", "excluded-many"),
)
def exclude_worker(campaign: Id, worker: Worker, requester: Requester, service: ServiceOf) -> None:
    """Exclude a worker from results; repeating this has no effect.

    If workers are released in batches, this takes effect with the next release or the closing.
    Results in between would reveal withdrawals since the last one.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        exclude(connection, row.id, worker)
        changed = _renew_now(connection, row)
    _infer_if(changed, service, row.id)


@router.delete(
    "/excluded/{worker}", status_code=204, responses=documented("credential", "not-found")
)
def include_worker(campaign: Id, worker: Worker, requester: Requester, service: ServiceOf) -> None:
    """Include a worker again, with effect as for an exclusion; repeating this has no effect."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        include(connection, row.id, worker)
        changed = _renew_now(connection, row)
    _infer_if(changed, service, row.id)


@router.delete(
    "/workers/{worker}", status_code=204, responses=documented("credential", "not-found")
)
def erase_worker(campaign: Id, worker: Worker, requester: Requester, service: ServiceOf) -> None:
    """Delete a worker and all reports permanently, as if the worker had withdrawn.

    The credential cannot join the campaign again. Results follow as after a withdrawal.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        changed = erase_named(connection, service.departures, row.id, worker)
    _infer_if(changed, service, row.id)


def _renew_now(connection: Connection, row: Any) -> bool:
    """Apply exclusions, unless they wait for a release; return whether results change."""
    at_once = row.state == "closed" or not waits_for_others(row)
    return at_once and renew(connection, row)


def _infer_if(changed: bool, service: Service, campaign: bytes) -> None:
    if changed:
        service.infer(campaign)


invites = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/invites", tags=["invites"])


@invites.post(
    "",
    status_code=201,
    responses=documented(
        "credential", "not-found", "bad-state", "campaign-closed", "address-local"
    ),
)
def issue_invites(
    campaign: Id, order: InviteOrder, requester: Requester, service: ServiceOf, request: Request
) -> Invites:
    """Return new invites. They are shown now and never again.

    If links would open on the server's computer only, `local` must be true.
    """
    tokens = [new_token("qci_") for _ in range(order.count)]
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        _require_invites(row)
        if not order.local and is_local(public_address(request)):
            raise ProblemError(
                "address-local",
                "Start the server with --public-url, or open this page under the server's public "
                "address. For a trial on this computer, set local.",
            )
        connection.execute(
            insert(tables.invite),
            [{"campaign_id": row.id, "token_sha256": token_hash(token)} for token in tokens],
        )
        _count_made(connection, row.id, row.invites_made + len(tokens))
    return _invites(campaign, tokens)


def _require_invites(row: Row[Any]) -> None:
    if row.join_mode != "invite":
        raise ProblemError("bad-state", "The campaign is open to all, and needs no invites.")
    if row.state == "closed":
        raise ProblemError("campaign-closed", "No more workers can join.")


def _invites(campaign: Id, tokens: list[str]) -> Invites:
    return Invites(invites=tokens, fragments=[f"/j/{campaign}#i={token}" for token in tokens])


@invites.get("", responses=documented("credential", "not-found"))
def count_invites(campaign: Id, requester: Requester, service: ServiceOf) -> InviteCounts:
    """Return the numbers of all and of used invites.

    If workers are released in batches, invites count as used from the release of their worker on.
    """
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    used = _used(row)
    return InviteCounts(invites=max(row.invites_made, used), used=used)


@router.get("/funnel", responses=documented("credential", "not-found"))
def read_funnel(campaign: Id, reader: ReaderOf, service: ServiceOf) -> Funnel:
    """Return the numbers of links, and of workers who joined, sent and withdrew."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        if waits_for_others(row):
            joined, left = row.shown_joined, row.shown_left
        else:
            joined, left = people_joined(connection, row), row.withdrew
    sent = row.shown_participants
    links = max(row.invites_made, _used(row)) if row.join_mode == "invite" else None
    return Funnel(links=links, joined=max(joined, sent), sent=sent, left=left)


def _used(row: Row[Any]) -> int:
    """Return the number of used invites that may be shown."""
    used: int = row.shown_participants if waits_for_others(row) else row.invites_used
    return used


@invites.delete("", status_code=204, responses=documented("credential", "not-found"))
def revoke_invites(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Revoke all invites that were not used: no one can join or send with them any longer."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        revoke(connection, tables.invite.c.campaign_id == row.id)
        _count_made(connection, row.id, _used(row))


@invites.post("/revoke", status_code=204, responses=documented("credential", "not-found"))
def revoke_invite(
    campaign: Id, revocation: Revocation, requester: Requester, service: ServiceOf
) -> None:
    """Revoke one invite by presenting it: no one can join or send with it any longer.

    The response, the stored data and all counts are the same whether the invite was used, reserved,
    unused or never issued. Sent reports are not affected.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        revoke_presented(connection, row.id, token_hash(revocation.invite))


@invites.post(
    "/replace",
    status_code=201,
    responses=documented("credential", "not-found", "bad-state", "campaign-closed"),
)
def replace_presented(
    campaign: Id, revocation: Revocation, requester: Requester, service: ServiceOf
) -> Invites:
    """Replace an invite by presenting it: return a new one with the same tasks.

    In rounds, its worker begins `step` rounds after the present one at the earliest.
    All that was sent with the earlier one is deleted, and no one can join or send with it any
    longer. The response and the stored data are the same whether it was used, reserved, unused or
    never issued. Results follow as after a withdrawal.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        _require_invites(row)
        new, changed = replace_invite(
            connection, service.departures, row, revocation.invite, service.clock()
        )
        _count_made(connection, row.id, row.invites_made + 1)
    _infer_if(changed, service, row.id)
    return _invites(campaign, [new])


def _count_made(connection: Connection, campaign: bytes, count: int) -> None:
    """Store the number of invites that may be shown; uses are shown with releases."""
    connection.execute(
        update(tables.campaign).where(tables.campaign.c.id == campaign).values(invites_made=count)
    )
