"""The routes, one file per resource."""

from fastapi import APIRouter

from quietcrowd.campaign.api import (
    campaigns,
    health,
    invites,
    participants,
    reports,
    tasks,
)

__all__ = ["PREFIX", "router"]

PREFIX = "/api/v1"

router = APIRouter()
for part in (health, campaigns, tasks, invites, participants, reports):
    router.include_router(part.router)
