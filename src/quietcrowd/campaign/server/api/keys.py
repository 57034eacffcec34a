"""A requester's keys: listed and revoked. The operator creates them."""

from __future__ import annotations

from fastapi import APIRouter

from quietcrowd.campaign.protocol.campaign_documents import KeyDocument, Keys
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Holder, ServiceOf
from quietcrowd.campaign.store.requesters import key_state, keys_of, revoke_keys
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tokens import key_id

__all__ = ["list_keys", "revoke_key", "router"]

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
