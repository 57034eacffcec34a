"""Workers: invites, the configuration, joining, and withdrawal with all reports.

An invite lets one worker join. Only its hash is stored, until it is used.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from quietcrowd.campaign.protocol.campaign_documents import (
    InviteCounts,
    InviteOrder,
    Invites,
    Revocation,
)
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import (
    JoinRequest,
    Participation,
    PublicCampaign,
    TaskForParticipant,
    TasksForParticipant,
)
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Credential, Requester, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import allotted_tasks
from quietcrowd.campaign.store.campaigns import read_tasks
from quietcrowd.campaign.store.erasures import erase_participant
from quietcrowd.campaign.store.participants import (
    find_participant,
    join,
    public_campaign,
    revoke_presented,
)
from quietcrowd.campaign.store.releases import waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import new_token, participant_id, token_hash, withdrawn_hash

router = APIRouter(prefix=PREFIX, tags=["participants"])

invites = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/invites", tags=["invites"])


@router.get("/public/campaigns/{campaign}", responses=documented("not-found"))
def read_public_campaign(campaign: Id, service: ServiceOf, response: Response) -> PublicCampaign:
    """Return all that a worker needs to know before taking part."""
    with service.database.read() as connection:
        row = public_campaign(connection, campaign)
    response.headers["ETag"] = f'"{row.config_hash.hex()}"'
    return PublicCampaign(
        state=row.state,
        join_mode=row.join_mode,
        config_hash=row.config_hash.hex(),
        config=json.loads(row.config),
        closes_on=row.closes_on,
    )


@router.get(
    "/public/campaigns/{campaign}/config",
    response_class=Response,
    responses={
        200: {
            "description": "The configuration as it is hashed: these very bytes have the SHA-256 "
            "`config_hash`, which is the ETag, too.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        },
        **documented("not-found"),
    },
)
def read_configuration(campaign: Id, service: ServiceOf) -> Response:
    """Return the configuration that workers agree to, as the exact bytes that were hashed."""
    with service.database.read() as connection:
        row = public_campaign(connection, campaign)
    headers = {"ETag": f'"{row.config_hash.hex()}"'}
    return Response(row.config, headers=headers, media_type="application/json")


@router.put(
    "/public/campaigns/{campaign}/participants/{participant}",
    responses={
        201: {"model": Participation, "description": "Joined"},
        **documented(
            "credential",
            "invite-invalid",
            "not-found",
            "too-many-joins",
            "campaign-closed",
            "config-mismatch",
            "credential-used",
            "full",
            "withdrawn",
        ),
    },
)
def join_campaign(
    campaign: Id,
    participant: Id,
    request: JoinRequest,
    credential: Credential,
    service: ServiceOf,
    asked: Request,
    response: Response,
) -> Participation:
    """Join a campaign; repeating this has no effect. The credential determines `participant`."""
    if participant != participant_id(credential).hex():
        raise ProblemError(
            "credential", "The participant is the first 16 bytes of the credential's SHA-256."
        )
    with service.database.write() as connection:
        if join(connection, campaign, credential, request, lambda: service.joins.take(asked)):
            response.status_code = 201
        return _participation(connection, credential)


def _participation(connection: Connection, credential: str) -> Participation:
    person = find_participant(connection, credential)
    state = connection.scalar(
        select(tables.campaign.c.state).where(tables.campaign.c.id == person.campaign_id)
    )
    reports = [
        connection.scalar(
            select(func.count()).where(
                table.c.campaign_id == person.campaign_id, table.c.participant_id == person.id
            )
        )
        for table in (tables.report, tables.sketch)
    ]
    return Participation.model_validate(
        {
            "campaign": person.campaign_id.hex(),
            "state": state,
            "pseudonym": person.pseudonym,
            "consent_hash": person.consent_hash.hex(),
            "reports": sum(filter(None, reports)),
        }
    )


@router.get("/me", responses=documented("credential"))
def read_participation(credential: Credential, service: ServiceOf) -> Participation:
    """Return the record that the service has of the worker."""
    with service.database.read() as connection:
        return _participation(connection, credential)


@router.get("/me/tasks", responses=documented("credential"), response_model_exclude_unset=True)
def read_own_tasks(credential: Credential, service: ServiceOf) -> TasksForParticipant:
    """Return all tasks, in the order of their ids, and which of them are assigned to the worker."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        rows = read_tasks(connection, person.campaign_id)
    document = TasksForParticipant(
        config_hash=person.consent_hash.hex(),
        tasks=[
            TaskForParticipant(task_id=row.id.hex(), task=row.name, data=json.loads(row.data))
            for row in rows
        ],
    )
    if person.allotment is not None:
        document.allotted = [task.hex() for task in allotted_tasks(person.allotment)]
    return document


@router.delete("/me", status_code=204, responses=documented("credential"))
def withdraw(credential: Credential, service: ServiceOf) -> None:
    """Delete the worker and all reports permanently, also after the campaign has closed.

    The credential cannot join the campaign again.
    """
    with service.database.write() as connection:
        person = find_participant(connection, credential, lock=True)
        kept = withdrawn_hash(credential)
        service.departures.leave(person.campaign_id, person.id, kept)
        changed = erase_participant(connection, person, kept)
    if changed:
        service.infer(person.campaign_id)


@invites.post(
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
        _count_made(connection, row.id, row.invites_made + len(tokens))
    return Invites(invites=tokens, fragments=[f"/j/{campaign}#i={token}" for token in tokens])


@invites.get("", responses=documented("credential", "not-found"))
def count_invites(campaign: Id, requester: Requester, service: ServiceOf) -> InviteCounts:
    """Return how many invites there are, and how many were used.

    If workers are released in batches, invites count as used from the release of their worker on.
    """
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    used = _used(row)
    return InviteCounts(invites=max(row.invites_made, used), used=used)


def _used(row: Row[Any]) -> int:
    """Return the number of used invites that may be shown."""
    used: int = row.shown_participants if waits_for_others(row) else row.invites_used
    return used


@invites.delete("", status_code=204, responses=documented("credential", "not-found"))
def revoke_invites(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Revoke all invites that were not used."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        connection.execute(delete(tables.invite).where(tables.invite.c.campaign_id == row.id))
        _count_made(connection, row.id, _used(row))


@invites.post("/revoke", status_code=204, responses=documented("credential", "not-found"))
def revoke_invite(
    campaign: Id, revocation: Revocation, requester: Requester, service: ServiceOf
) -> None:
    """Revoke one invite by presenting it: no one can join with it any longer.

    The response, the stored data and all counts are the same whether the invite was used, unused or
    never issued.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        revoke_presented(connection, row.id, revocation.invite)


def _count_made(connection: Connection, campaign: bytes, count: int) -> None:
    """Store the number of invites that may be shown; uses are shown with releases."""
    connection.execute(
        update(tables.campaign).where(tables.campaign.c.id == campaign).values(invites_made=count)
    )
