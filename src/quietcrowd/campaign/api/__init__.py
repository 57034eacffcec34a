"""The routes, one file per resource."""

from fastapi import APIRouter

from quietcrowd.campaign.api import (
    campaigns,
    exports,
    health,
    invites,
    participants,
    reports,
    results,
    tasks,
)

__all__ = ["PREFIX", "router"]

PREFIX = "/api/v1"

router = APIRouter()
for part in (health, campaigns, tasks, invites, participants, reports, results, exports):
    router.include_router(part.router)
