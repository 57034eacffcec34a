"""Plans: what error to expect of a campaign that is yet to be made. Nothing is stored or read."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request

from quietcrowd.campaign.protocol.plan_documents import PlanDocument, PlanningLimits, PlanOrder
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["make_plan", "planning_limits", "router"]

router = APIRouter(prefix=f"{PREFIX}/plans", tags=["plans"])

LABELS = ("one-layer", "subset-selection", "optimal", "two-layer")
NUMBERS = ("laplace:fill=none", "laplace", "duchi", "hybrid", "piecewise")
"""Mechanisms that can be planned with, and that campaigns can have; the usual one first."""

EPSILONS = (0.5, 1.0, 2.0, 4.0)
"""As of `quietcrowd plan`, which needs more to load than a server has to."""


@router.get("", responses=documented("credential"))
async def planning_limits(
    requester: Requester,  # noqa: ARG001
    service: ServiceOf,
) -> PlanningLimits:
    """Return what this server plans with, and for how long."""
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
    """Return what error to expect, by simulation of crowds: nothing of any campaign is read.

    A requester has one plan made at a time. Who closes the connection ends it.
    """
    found = await service.plans.make(requester, order.model_dump(), partial(_leaving, request))
    return PlanDocument.model_validate(found)


async def _leaving(request: Request) -> None:
    """Wait until nobody waits for the answer."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
