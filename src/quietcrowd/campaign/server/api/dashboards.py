"""Dashboard links: created with a key, and exchanged once for a token that reads results."""

from __future__ import annotations

from fastapi import APIRouter

from quietcrowd.campaign.protocol.campaign_documents import DashboardCode, DashboardToken
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Code, Holder, ServiceOf
from quietcrowd.campaign.store.dashboards import CODE_SECONDS, exchange_code, issue_code
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["issue_dashboard_code", "issue_dashboard_token", "router"]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["dashboards"])


@router.post("/dashboard-codes", status_code=201, responses=documented("credential", "not-found"))
def issue_dashboard_code(campaign: Id, holder: Holder, service: ServiceOf) -> DashboardCode:
    """Return a code for a link to the dashboard. It is shown now and never again."""
    with service.database.write() as connection:
        row = owned_campaign(connection, holder.requester, campaign)
        code = issue_code(connection, holder, row.id, service.clock())
    return DashboardCode(
        code=code, fragment=f"/dashboard/{campaign}#c={code}", seconds=CODE_SECONDS
    )


@router.post(
    "/dashboard-tokens", status_code=201, responses=documented("code-invalid", "credential")
)
def issue_dashboard_token(campaign: Id, code: Code, service: ServiceOf) -> DashboardToken:
    """Exchange a code for a token. The code is then invalid."""
    token, seconds = exchange_code(service.database, campaign, code, service.clock())
    return DashboardToken(token=token, seconds=seconds)
