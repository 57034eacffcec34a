"""The routes, one module per resource."""

from quietcrowd.campaign.server import service
from quietcrowd.campaign.server.api import (
    campaigns,
    images,
    keys,
    participants,
    plans,
    reports,
    results,
    tasks,
    workers,
)

__all__ = ["ROUTES"]

ROUTES = tuple(
    route
    for router in (
        reports.router,
        service.router,
        participants.router,
        campaigns.router,
        tasks.router,
        images.router,
        participants.invites,
        workers.router,
        results.router,
        results.exports,
        keys.dashboards,
        keys.router,
        plans.router,
    )
    for route in router.routes
)
"""In search order: the most frequently requested first."""
