"""A requester's keys, and links to the dashboard, each exchanged once for a token."""

from fastapi import APIRouter

from quietcrowd.campaign.protocol.campaign_documents import (
    DashboardCode,
    DashboardToken,
    KeyDocument,
    Keys,
)
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Code, Holder, ServiceOf
from quietcrowd.campaign.store.dashboards import CODE_SECONDS, exchange_code, issue_code
from quietcrowd.campaign.store.requesters import key_state, keys_of, owned_campaign, revoke_keys
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import key_id

router = APIRouter(prefix=f"{PREFIX}/keys", tags=["keys"])


@router.get("", responses=documented("credential"))
def list_keys(holder: Holder, service: ServiceOf) -> Keys:
    """Return all keys of the requester, without the keys themselves or their hashes."""
    with service.database.read() as connection:
        found = keys_of(connection, holder.requester)
    now = service.clock()
    return Keys(
        items=[
            KeyDocument(
                id=key_id(row.token_sha256).hex(),
                last4=row.last4,
                expires_at=row.expires_at,
                state=key_state(row, now),
                shown=row.token_sha256 == holder.key_hash,
            )
            for row in found
        ]
    )


@router.delete("/{key}", status_code=204, responses=documented("credential", "not-found"))
def revoke_key(key: Id, holder: Holder, service: ServiceOf) -> None:
    """Revoke a key of the requester, even the one in use, and the dashboard access made with it."""
    with service.database.write() as connection:
        mine = keys_of(connection, holder.requester)
        ended = [row.token_sha256 for row in mine if key_id(row.token_sha256).hex() == key]
        if not ended:
            raise ProblemError("not-found", "You have no such key.")
        revoke_keys(connection, ended)


dashboards = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["dashboards"])


@dashboards.post(
    "/dashboard-codes", status_code=201, responses=documented("credential", "not-found")
)
def issue_dashboard_code(campaign: Id, holder: Holder, service: ServiceOf) -> DashboardCode:
    """Return a code for a link to the dashboard. It is shown now and never again."""
    with service.database.write() as connection:
        row = owned_campaign(connection, holder.requester, campaign)
        code = issue_code(connection, holder, row.id, service.clock())
    return DashboardCode(
        code=code, fragment=f"/dashboard/{campaign}#c={code}", seconds=CODE_SECONDS
    )


@dashboards.post(
    "/dashboard-tokens", status_code=201, responses=documented("code-invalid", "credential")
)
def issue_dashboard_token(campaign: Id, code: Code, service: ServiceOf) -> DashboardToken:
    """Exchange a code for a token. The code is then invalid."""
    token, seconds = exchange_code(service.database, campaign, code, service.clock())
    return DashboardToken(token=token, seconds=seconds)
