"""The routes, one file per resource."""

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

__all__ = ["PREFIX", "ROUTERS"]

PREFIX = "/api/v1"

ROUTERS = tuple(
    part.router
    for part in (reports, health, participants, campaigns, tasks, invites, results, exports)
)
"""In the order in which they are searched: what is asked for most often comes first."""
