"""Plans: the expected error of a future campaign. No data is stored or read."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request

from quietcrowd.campaign.protocol.plan_documents import PlanDocument, PlanningLimits, PlanOrder
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=f"{PREFIX}/plans", tags=["plans"])

LABELS = ("one-layer", "subset-selection", "optimal", "two-layer")
NUMBERS = ("laplace:fill=none", "laplace", "duchi", "hybrid", "piecewise")
"""Mechanisms that plans and campaigns support; the default first."""

EPSILONS = (0.5, 1.0, 2.0, 4.0)
"""Same as in `quietcrowd plan`, which requires more imports than a server needs."""


@router.get("", responses=documented("credential"))
async def planning_limits(
    requester: Requester,  # noqa: ARG001
    service: ServiceOf,
) -> PlanningLimits:
    """Return the mechanisms, epsilons and time limit of this server's plans."""
    return PlanningLimits(
        labels=list(LABELS),
        numbers=list(NUMBERS),
        epsilon=list(EPSILONS),
        seconds=service.plans.longest,
    )


@router.post("", responses=documented("credential", "plan-too-long", "internal"))
async def make_plan(
    order: PlanOrder, requester: Requester, service: ServiceOf, request: Request
) -> PlanDocument:
    """Return the expected error by simulating crowds; no data of any campaign is read.

    A requester can have one plan in progress. Closing the connection ends it.
    """
    found = await service.plans.make(requester, order.model_dump(), partial(_leaving, request))
    return PlanDocument.model_validate(found)


async def _leaving(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
