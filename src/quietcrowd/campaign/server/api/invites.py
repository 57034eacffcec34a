"""Invites: each lets one worker in; what is kept of it is a hash, until it is used."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy import delete, func, insert, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.schemas import Id, InviteCounts, InviteOrder, Invites
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import new_token, token_hash

__all__ = ["count_invites", "issue_invites", "revoke_invites", "router"]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/invites", tags=["invites"])


@router.post(
    "",
    status_code=201,
    responses=documented("credential", "not-found", "bad-state", "campaign-closed"),
)
def issue_invites(
    campaign: Id, order: InviteOrder, requester: Requester, service: ServiceOf
) -> Invites:
    """Return new invites. They are shown now and never again."""
    tokens = [new_token("qci_") for _ in range(order.count)]
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        if row.join_mode != "invite":
            raise ProblemError("bad-state", "The campaign is open to all: nobody needs an invite.")
        if row.state == "closed":
            raise ProblemError("campaign-closed", "Nobody can join any more.")
        connection.execute(
            insert(tables.invite),
            [{"campaign_id": row.id, "token_sha256": token_hash(token)} for token in tokens],
        )
    return Invites(invites=tokens, fragments=[f"/j/{campaign}#i={token}" for token in tokens])


@router.get("", responses=documented("credential", "not-found"))
def count_invites(campaign: Id, requester: Requester, service: ServiceOf) -> InviteCounts:
    """Say how many invites there are, and how many were used."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        unused = connection.scalar(
            select(func.count()).where(tables.invite.c.campaign_id == row.id)
        )
    return InviteCounts(invites=row.invites_used + (unused or 0), used=row.invites_used)


@router.delete("", status_code=204, responses=documented("credential", "not-found"))
def revoke_invites(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Revoke all invites that were not used."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        connection.execute(delete(tables.invite).where(tables.invite.c.campaign_id == row.id))
