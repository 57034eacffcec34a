"""Images of tasks: sent by requesters to a draft, and read by workers and requesters."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from quietcrowd.campaign.protocol.campaign_documents import StoredImage
from quietcrowd.campaign.protocol.fields import Hash, Id
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Credential, Requester, ServiceOf, require_state
from quietcrowd.campaign.store.images import (
    checked_image,
    read_image,
    store_image,
    stripped_image,
)
from quietcrowd.campaign.store.participants import find_participant
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.images import SUFFIXES
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=PREFIX, tags=["images"])

_BYTES = {"schema": {"type": "string", "format": "binary"}}
_IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A PNG, JPEG or WebP, whatever its media type.",
        "content": {"application/octet-stream": _BYTES},
    }
}
_ALONE = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""Browsers run nothing in an image, even if they take it for a page."""


_FileName = Annotated[
    str | None, Query(min_length=1, max_length=200, description="Name of the file.")
]


async def _body(request: Request) -> bytes:
    return await request.body()


@router.put(
    "/campaigns/{campaign}/images/{sha256}",
    status_code=204,
    openapi_extra=_IMAGE_BODY,
    responses=documented("credential", "not-found", "bad-state", "media-type"),
)
def put_image(
    campaign: Id,
    sha256: Hash,
    requester: Requester,
    service: ServiceOf,
    content: Annotated[bytes, Depends(_body)],
) -> None:
    """Store an image without metadata, to which tasks of a draft refer by its hash.

    Repeating this has no effect. Images that no task refers to are deleted when the campaign opens.
    """
    _store(campaign, requester, service, lambda: checked_image(sha256, content))


@router.post(
    "/campaigns/{campaign}/images",
    openapi_extra=_IMAGE_BODY,
    responses=documented("credential", "not-found", "bad-state", "media-type"),
)
def send_image(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    content: Annotated[bytes, Depends(_body)],
    file: _FileName = None,
) -> StoredImage:
    """Store an image for tasks of a draft without its metadata, such as places and times.

    Tasks that are added later may refer to it by the name of its file.
    """
    image = _store(campaign, requester, service, lambda: stripped_image(content), file)
    return StoredImage(sha256=image["sha256"].hex())


def _store(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    read: Callable[[], dict[str, Any]],
    file: str | None = None,
) -> dict[str, Any]:
    """Store what `read` returns, slowly and only for the owner, as an image of a draft."""
    with service.database.read() as connection:
        owned_campaign(connection, requester, campaign)
    image = read()
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        store_image(connection, row.id, image, file)
    return image


_FOUND: dict[int | str, dict[str, Any]] = {
    200: {"description": "The image", "content": dict.fromkeys(SUFFIXES, _BYTES)},
    **documented("credential", "not-found"),
}


@router.get("/campaigns/{campaign}/images/{sha256}", response_class=Response, responses=_FOUND)
def read_sent_image(
    campaign: Id, sha256: Hash, requester: Requester, service: ServiceOf
) -> Response:
    """Return an image of the requester's campaign."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        found = read_image(connection, row.id, sha256)
    return _image(sha256, found)


@router.get("/me/images/{sha256}", response_class=Response, responses=_FOUND)
def read_own_image(sha256: Hash, credential: Credential, service: ServiceOf) -> Response:
    """Return an image. Devices fetch all images of the tasks when a worker joins."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        found = read_image(connection, person.campaign_id, sha256)
    return _image(sha256, found)


def _image(sha256: str, found: Any) -> Response:
    headers = {"ETag": f'"{sha256}"', **_ALONE}
    return Response(found.content, media_type=found.media_type, headers=headers)
