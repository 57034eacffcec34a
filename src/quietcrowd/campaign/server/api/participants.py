"""Routes for workers: the configuration, joining, reports, and withdrawal with all reports."""

import asyncio
import json

import numpy as np
from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection, func, select

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.protocol.worker_documents import (
    JoinRequest,
    OwnReport,
    OwnReports,
    OwnSketch,
    Participation,
    PublicCampaign,
    Receipt,
    TaskForParticipant,
    TasksForParticipant,
    Upload,
)
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Credential, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import allotted_tasks
from quietcrowd.campaign.store.campaigns import read_tasks
from quietcrowd.campaign.store.choices import rounds_over
from quietcrowd.campaign.store.intake import WorkerUpload
from quietcrowd.campaign.store.participants import (
    erase_participant,
    find_participant,
    join,
    public_campaign,
    take_place,
)
from quietcrowd.campaign.terms.channels import stored_rule
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import participant_id, withdrawn_hash

router = APIRouter(prefix=PREFIX, tags=["participants"])


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
            "description": "The hashed configuration. The SHA-256 of these exact bytes is "
            "`config_hash`, which is also the ETag.",
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
            "code-unknown",
            "invite-invalid",
            "not-found",
            "too-many-joins",
            "campaign-closed",
            "choice-fixed",
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
    """Join a campaign; repeating this has no effect. The credential determines `participant`.

    An invite is reserved, not spent. With `continues` and the code of a worker of the same invite,
    the worker goes on with this credential. The response does not reveal whether others have joined
    with the invite.
    """
    if participant != participant_id(credential).hex():
        raise ProblemError(
            "credential",
            "participant must be the first 16 bytes of the credential's SHA-256, in hex.",
        )
    with service.database.write() as connection:
        if join(connection, campaign, credential, request, lambda: service.joins.take(asked)):
            response.status_code = 201
        return _participation(connection, credential)


def _participation(connection: Connection, credential: str) -> Participation:
    person = find_participant(connection, credential)
    campaign = tables.campaign.c
    row = connection.execute(
        select(campaign.state, campaign.config).where(campaign.id == person.campaign_id)
    ).one()
    reports = [
        connection.scalar(
            select(func.count()).where(
                table.c.campaign_id == person.campaign_id, table.c.participant_id == person.id
            )
        )
        for table in tables.SENT
    ]
    sent = tables.round_report.c
    rounds = connection.scalars(
        select(sent.round)
        .distinct()
        .where(sent.campaign_id == person.campaign_id, sent.participant_id == person.id)
        .order_by(sent.round)
    )
    return Participation.model_validate(
        {
            "campaign": person.campaign_id.hex(),
            "state": row.state,
            "pseudonym": person.pseudonym,
            "consent_hash": person.consent_hash.hex(),
            "reports": sum(filter(None, reports)),
            **{name: getattr(person, name) for name in ("choice", "slot", "after")},
            "rounds": sorted({*rounds, *rounds_over(row.config, person)}),
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


@router.put(
    "/me/place",
    status_code=204,
    responses=documented("credential", "invite-invalid", "campaign-closed"),
)
def take_own_place(credential: Credential, service: ServiceOf) -> None:
    """Spend the invite, so that only this worker can send; repeating this has no effect.

    A device must do this before it randomizes. All other workers with the same invite are deleted.
    """
    with service.database.write() as connection:
        take_place(connection, credential)


@router.delete("/me", status_code=204, responses=documented("credential"))
def withdraw(credential: Credential, service: ServiceOf) -> None:
    """Delete the worker and all reports permanently, also after the campaign has closed.

    The credential cannot join the campaign again, and the invite is spent.
    """
    with service.database.write() as connection:
        person = find_participant(connection, credential, lock=True)
        kept = withdrawn_hash(credential)
        service.departures.leave(person.campaign_id, person.id, kept)
        changed = erase_participant(connection, person, kept, withdraws=True)
    if changed:
        service.infer(person.campaign_id)


reports = APIRouter(prefix=f"{PREFIX}/me/reports", tags=["reports"])


@reports.post(
    "",
    responses=documented(
        "credential", "config-mismatch", "campaign-closed", "place-needed", "round-not-open"
    ),
)
async def send_reports(upload: Upload, credential: Credential, service: ServiceOf) -> Receipt:
    """Store reports; once this responds, they are stored permanently.

    Repeating an upload succeeds. If every worker reports every task, all reports must be in one
    upload, and are accepted or rejected together. In rounds, new reports are accepted from the
    begin of the worker's round to the end of its grace.
    """
    if not upload.reports and upload.sketch is None:
        raise broken_rule("", "empty", "An upload must contain reports or a sketch.")
    done = service.writer.submit(WorkerUpload(credential=credential, upload=upload))
    return await asyncio.wrap_future(done)


@reports.get("", responses=documented("credential"))
def read_own_reports(credential: Credential, service: ServiceOf) -> OwnReports:
    """Return all stored reports of the worker."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        rows, of_rounds, sketches = (
            connection.execute(
                select(table).where(
                    table.c.campaign_id == person.campaign_id, table.c.participant_id == person.id
                )
            ).all()
            for table in tables.SENT
        )
        mechanism = connection.scalar(
            select(tables.campaign.c.mechanism).where(tables.campaign.c.id == person.campaign_id)
        )
    return OwnReports(
        reports=[
            OwnReport(
                report_id=row.report_id.hex(),
                task_id=row.task_id.hex(),
                value=row.value,
                bit=row.bit,
                again=bool(row.again),
                round=row._mapping.get("round"),
            )
            for row in (*rows, *of_rounds)
        ],
        sketch=OwnSketch(
            report_id=sketches[0].report_id.hex(),
            numbers=np.frombuffer(sketches[0].numbers, stored_rule(str(mechanism)).dtype).tolist(),
        )
        if sketches
        else None,
    )
