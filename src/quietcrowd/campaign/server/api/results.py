"""Results: the latest inference of a campaign."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from sqlalchemy import Connection, Row, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.schemas import Id, Requested, Results
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["latest_inference", "read_results", "request_inference", "router"]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["results"])


def latest_inference(connection: Connection, campaign: Row[Any]) -> Row[Any]:
    """Return the latest inference of a campaign; ProblemError where there is none."""
    found = connection.execute(
        select(tables.inference).where(tables.inference.c.campaign_id == campaign.id)
    ).one_or_none()
    if found is None:
        raise ProblemError("no-results", "Results follow a moment after the first reports.")
    return found


@router.get(
    "/results",
    response_model=None,
    responses={
        200: {"model": Results},
        304: {"description": "Nothing has changed"},
        **documented("credential", "not-found", "no-results"),
    },
)
def read_results(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    if_none_match: Annotated[str | None, Header(max_length=1_000)] = None,
) -> Response:
    """Return what the latest inference found; a moment old at most, and then some."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        found = latest_inference(connection, row)
    headers = {"ETag": f'"{found.etag}"'}
    known = if_none_match or ""
    if known == "*" or found.etag in known:
        return Response(status_code=304, headers=headers)
    return Response(found.snapshot, headers=headers, media_type="application/json")


@router.post(
    "/inferences",
    status_code=202,
    responses=documented("credential", "not-found", "bad-state"),
)
def request_inference(campaign: Id, requester: Requester, service: ServiceOf) -> Requested:
    """Ask for an inference: needed only where reports have not changed."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    if row.state == "draft":
        raise ProblemError("bad-state", "A draft has no reports.")
    service.infer(row.id)
    return Requested(campaign=campaign)
