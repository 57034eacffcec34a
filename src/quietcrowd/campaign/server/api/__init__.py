"""The routes, one file per resource."""

from quietcrowd.campaign.server import service
from quietcrowd.campaign.server.api import (
    campaigns,
    exports,
    invites,
    participants,
    reports,
    results,
    tasks,
)

__all__ = ["ROUTES"]

ROUTES = tuple(
    route
    for part in (reports, service, participants, campaigns, tasks, invites, results, exports)
    for route in part.router.routes
)
"""In the order in which they are searched: what is asked for most often comes first."""
