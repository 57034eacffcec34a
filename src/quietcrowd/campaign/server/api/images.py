"""Images of tasks: stored while a campaign is a draft, and fetched by all its workers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from quietcrowd.campaign.protocol.fields import Hash, Id
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Credential, Requester, ServiceOf, require_state
from quietcrowd.campaign.store.images import checked_image, read_image, store_image
from quietcrowd.campaign.store.participants import find_participant
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.images import SUFFIXES
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=PREFIX, tags=["images"])

_BYTES = {"schema": {"type": "string", "format": "binary"}}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A plain PNG, JPEG or WebP, whatever it is said to be: without metadata.",
        "content": {"application/octet-stream": _BYTES},
    }
}
_ALONE = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""Browsers run nothing in an image, even if they take it for a page."""


async def _body(request: Request) -> bytes:
    return await request.body()


@router.put(
    "/campaigns/{campaign}/images/{sha256}",
    status_code=204,
    openapi_extra=_BODY,
    responses=documented("credential", "not-found", "bad-state", "media-type"),
)
def put_image(
    campaign: Id,
    sha256: Hash,
    requester: Requester,
    service: ServiceOf,
    content: Annotated[bytes, Depends(_body)],
) -> None:
    """Store an image that tasks of a draft refer to by its hash; repeating this has no effect.

    Images that no task refers to are deleted when the campaign opens.
    """
    with service.database.read() as connection:
        owned_campaign(connection, requester, campaign)
    image = checked_image(sha256, content)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        store_image(connection, row.id, image)


@router.get(
    "/me/images/{sha256}",
    response_class=Response,
    responses={
        200: {"description": "The image", "content": dict.fromkeys(SUFFIXES, _BYTES)},
        **documented("credential", "not-found"),
    },
)
def read_own_image(sha256: Hash, credential: Credential, service: ServiceOf) -> Response:
    """Return an image. Devices fetch all images of the tasks when a worker joins."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        found = read_image(connection, person.campaign_id, sha256)
    headers = {"ETag": f'"{sha256}"', **_ALONE}
    return Response(found.content, media_type=found.media_type, headers=headers)
