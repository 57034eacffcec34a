"""The routes, one module per resource."""

from quietcrowd.campaign.server import service
from quietcrowd.campaign.server.api import (
    campaigns,
    dashboards,
    images,
    keys,
    participants,
    plans,
    reports,
    result_pages,
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
        result_pages.router,
        results.router,
        results.exports,
        dashboards.router,
        keys.router,
        plans.router,
    )
    for route in router.routes
)
"""In search order: the most frequently requested first."""
