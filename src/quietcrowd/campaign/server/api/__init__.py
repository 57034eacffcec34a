"""The routes, one module per resource."""

from quietcrowd.campaign.server import service
from quietcrowd.campaign.server.api import (
    about,
    campaigns,
    checks,
    drafts,
    estimates,
    images,
    keys,
    participants,
    plans,
    results,
    rounds,
    tasks,
    workers,
)

__all__ = ["ROUTES"]

ROUTES = tuple(
    route
    for router in (
        participants.reports,
        service.router,
        participants.router,
        campaigns.router,
        drafts.router,
        checks.router,
        tasks.router,
        images.router,
        workers.invites,
        workers.router,
        results.router,
        estimates.router,
        rounds.router,
        results.exports,
        keys.dashboards,
        keys.router,
        plans.router,
        about.router,
    )
    for route in router.routes
)
"""In search order: the most frequently requested first."""
