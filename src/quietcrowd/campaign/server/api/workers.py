"""Single workers, as their requester deals with them: left out of results, or erased.

Answers are the same whether the campaign has such a worker or not.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from sqlalchemy import Connection

from quietcrowd.campaign.protocol.campaign_documents import Exclusion, Exclusions
from quietcrowd.campaign.protocol.fields import Id, Worker
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, Service, ServiceOf
from quietcrowd.campaign.store.erasures import erase_named
from quietcrowd.campaign.store.exclusions import exclude, include, listed, renew
from quietcrowd.campaign.store.releases import waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["erase_worker", "exclude_worker", "include_worker", "list_excluded", "router"]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["workers"])


@router.get("/excluded", responses=documented("credential", "not-found"))
def list_excluded(campaign: Id, requester: Requester, service: ServiceOf) -> Exclusions:
    """Return all workers whom the requester leaves out of results."""
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
    """Leave a worker out of results; again has no effect.

    Where workers are shown together, from the next release or the closing on: results in between
    would tell who has withdrawn since the last one.
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
    """Leave a worker out no more, from when on as for leaving out; again has no effect."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        include(connection, row.id, worker)
        changed = _renew_now(connection, row)
    _infer_if(changed, service, row.id)


@router.delete(
    "/workers/{worker}", status_code=204, responses=documented("credential", "not-found")
)
def erase_worker(campaign: Id, worker: Worker, requester: Requester, service: ServiceOf) -> None:
    """Delete a worker and all reports for good, as if the worker had withdrawn.

    The credential joins the campaign no more. What is shown follows as after a withdrawal.
    """
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        changed = erase_named(connection, service.departures, row.id, worker)
    _infer_if(changed, service, row.id)


def _renew_now(connection: Connection, row: Any) -> bool:
    """Bring into force what is wanted where nothing is waited for; return whether that matters."""
    at_once = row.state == "closed" or not waits_for_others(row)
    return at_once and renew(connection, row)


def _infer_if(changed: bool, service: Service, campaign: bytes) -> None:
    if changed:
        service.infer(campaign)
