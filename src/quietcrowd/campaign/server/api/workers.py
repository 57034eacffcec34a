"""Single workers, excluded from results or deleted by their requester.

Responses are the same whether the campaign has such a worker or not.
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
