"""Readiness of drafts, previews of the worker's page, and copies of campaigns."""

import json

from fastapi import APIRouter, Response

from quietcrowd.campaign.protocol.campaign_documents import (
    CampaignDocument,
    Preview,
    Readiness,
    ReadinessProblem,
)
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.worker_documents import TaskForParticipant
from quietcrowd.campaign.server.api.campaigns import read_document
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf, require_state
from quietcrowd.campaign.store.campaigns import read_tasks
from quietcrowd.campaign.store.drafts import (
    copy_campaign,
    image_hashes,
    notes_on_draft,
    obstacles,
    previewed_configuration,
)
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.menu import lines_of
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["campaigns"])


@router.get("/readiness", responses=documented("credential", "not-found", "bad-state"))
def read_readiness(campaign: Id, requester: Requester, service: ServiceOf) -> Readiness:
    """Return the obstacles to opening a draft, and the terms that workers would agree to."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        require_state(row.state, "draft")
        tasks = read_tasks(connection, row.id)
        images = image_hashes(connection, row.id)
    found = [
        ReadinessProblem(field=field, message=message)
        for field, message in obstacles(row, tasks, images, service.clock())
    ]
    broken = any(one.field not in _NO_PART for one in found)
    config = None if broken else previewed_configuration(row, tasks)
    return Readiness(
        ready=not found,
        problems=found,
        notes=notes_on_draft(row, tasks),
        words=None if config is None else lines_of(config, "summary"),
        sentences=None if config is None else lines_of(config, "consent"),
    )


_NO_PART = ("requester", "contact", "purpose", "closes_on", "images")
"""Members whose faults do not prevent a configuration: texts get dots."""


@router.get("/preview", responses=documented("credential", "not-found", "not-ready"))
def read_preview(campaign: Id, requester: Requester, service: ServiceOf) -> Preview:
    """Return the documents of the worker's page; in a draft, dots replace missing texts."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        tasks = read_tasks(connection, row.id)
    config = previewed_configuration(row, tasks)
    some = [one.id.hex() for one in tasks[: config["answers_per_participant"]]]
    return Preview(
        config=config,
        tasks=[
            TaskForParticipant(task_id=one.id.hex(), task=one.name, data=json.loads(one.data))
            for one in tasks
        ],
        allotted=some if "allotment" in config else None,
    )


@router.post("/copy", status_code=201, responses=documented("credential", "not-found"))
def copy(
    campaign: Id, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Create a draft with the settings, tasks and images of a campaign, and no data of workers."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        made = copy_campaign(connection, row, service.clock())
        response.headers["Location"] = f"/api/v1/campaigns/{made.hex()}"
        return read_document(connection, made, response)
