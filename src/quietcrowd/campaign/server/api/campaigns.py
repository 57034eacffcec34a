"""Campaigns: listed, opened, closed and deleted by their requester."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection, select

from quietcrowd.campaign.protocol.campaign_documents import (
    CampaignDocument,
    CampaignPage,
)
from quietcrowd.campaign.protocol.fields import Id, PageQuery, State
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    ReaderOf,
    Requester,
    ServiceOf,
    read_cursor,
    require_step,
    write_cursor,
)
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import (
    campaign_documents,
    close_campaign,
    day_of,
    delete_campaign,
    keep_ending,
    read_tasks,
    update_campaign,
)
from quietcrowd.campaign.store.database import UNAVAILABLE
from quietcrowd.campaign.store.drafts import fixed_configuration, obstacles_to_rounds
from quietcrowd.campaign.store.images import keep_named_images
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.store.withdrawals.journal import trace_of
from quietcrowd.campaign.terms.images import named_images
from quietcrowd.campaign.terms.settings import PREFIX

if TYPE_CHECKING:
    pass

router = APIRouter(prefix=f"{PREFIX}/campaigns", tags=["campaigns"])


def read_document(connection: Connection, campaign: bytes, response: Response) -> CampaignDocument:
    """Return a campaign, with its version as the ETag of the response."""
    [document] = campaign_documents(
        connection, select(tables.campaign).where(tables.campaign.c.id == campaign)
    )
    response.headers["ETag"] = f'"{document.version}"'
    return document


@router.get("", responses=documented("credential"))
def list_campaigns(
    requester: Requester, service: ServiceOf, page: Annotated[PageQuery, Query()]
) -> CampaignPage:
    """Return a page of the requester's campaigns."""
    after = read_cursor(page.cursor, 16)
    table = tables.campaign
    wanted = (
        select(table)
        .where(table.c.requester_id == requester, table.c.id > after)
        .order_by(table.c.id)
        .limit(page.limit)
    )
    with service.database.read() as connection:
        items = campaign_documents(connection, wanted)
    more = len(items) == page.limit
    last = write_cursor(bytes.fromhex(items[-1].id)) if more else None
    return CampaignPage(items=items, next_cursor=last)


@router.get("/{campaign}", responses=documented("credential", "not-found"))
def read_campaign(
    campaign: Id, reader: ReaderOf, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Return a campaign; its ETag is its version. With a token, without the completion code."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        document = read_document(connection, row.id, response)
    if reader.sees_workers:
        return document
    return document.model_copy(update={"completion_code": None})


@router.post(
    "/{campaign}/open",
    responses=documented("credential", "not-found", "bad-state", "not-ready", "version-mismatch"),
)
def open_for_reports(
    campaign: Id, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Open a draft: fix its configuration and hash, and let workers join.

    All images of its tasks must be stored.
    """
    opened: State = "open"
    with service.database.read() as connection:
        read = owned_campaign(connection, requester, campaign)
        require_step(read.state, opened)
        tasks = read_tasks(connection, read.id)
    if service.departures.ended(read.id):
        raise ProblemError(
            "bad-state",
            "The campaign was closed or deleted before the database was restored from a copy. "
            "Create a new campaign.",
        )
    if read.closes_on is not None and read.closes_on < day_of(service.clock()):
        raise ProblemError("not-ready", "Its closing day is over: change closes_on.")
    for obstacle in obstacles_to_rounds(read, service.clock()):
        if obstacle.field == "at_least":
            raise ProblemError("not-ready", obstacle.message)
    configuration = fixed_configuration(read, tasks)  # before the transaction: it takes time
    named = named_images(json.loads(task.data) for task in tasks)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_step(row.state, opened)
        if row.version != read.version:
            raise ProblemError("version-mismatch", "The draft has changed: open it again.")
        keep_named_images(connection, row.id, named)
        update_campaign(
            connection,
            row,
            state=opened,
            config=configuration.text.decode(),
            config_hash=configuration.hash,
        )
        return read_document(connection, row.id, response)


@router.post("/{campaign}/close", responses=documented("credential", "not-found", "bad-state"))
def close(
    campaign: Id, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Close a campaign: accept nothing more, and show the current reports of released workers.

    All data of workers is deleted `retention_days` from now.
    """
    closed: Literal["closed"] = "closed"
    now = service.read_clock().trusted  # the retention period begins
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_step(row.state, closed)
        changed = close_campaign(connection, service.departures, row, now)
        document = read_document(connection, row.id, response)
    if changed and document.reports:
        service.infer(row.id)
    return document


@router.delete("/{campaign}", status_code=204, responses=documented("credential", "not-found"))
def purge_campaign(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Delete a campaign and all its data permanently."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        keep_ending(connection, service.departures, row, "deleted")
        delete_campaign(connection, row.id)
    if row.state != "draft":
        service.infer(row.id)  # the inference process forgets it
    with suppress(*UNAVAILABLE):  # else the next start does it
        service.departures.forget([trace_of(row.id)])
