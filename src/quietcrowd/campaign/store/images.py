"""Images of a campaign's tasks in the database, identified by their hash."""

import hashlib
import json
from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.images import media_type, plain_image
from quietcrowd.campaign.terms.settings import MAX_IMAGE, MAX_IMAGE_BYTES, MAX_IMAGES

_ROOM = (
    f"a campaign has at most {MAX_IMAGES:,} images, with {MAX_IMAGE_BYTES:,} bytes in total: make "
    "them smaller, or create several campaigns"
)

_MOST_NAMES = 20

_NOT_PLAIN = (
    "the image contains invisible data, such as metadata, comments or bytes after its end: remove "
    "it, as campaign create does"
)


def stripped_image(content: bytes) -> dict[str, Any]:
    """Return the row of an image without its metadata; errors as in `checked_image`."""
    try:
        plain = plain_image(content)
    except ValueError as error:
        raise broken_rule("", "image", str(error)) from None
    return checked_image(hashlib.sha256(plain).hexdigest(), plain)


def checked_image(sha256: str, content: bytes) -> dict[str, Any]:
    """Return the row of an image without its campaign, or raise `ProblemError` if it is invalid."""
    kind = media_type(content)
    if kind is None:
        raise ProblemError("media-type", "Send a PNG, JPEG or WebP; SVG and GIF are not supported.")
    if len(content) > MAX_IMAGE:
        raise ProblemError("too-large", f"An image has at most {MAX_IMAGE:,} bytes.")
    hashed = hashlib.sha256(content).digest()
    if hashed.hex() != sha256:
        raise broken_rule("/path/sha256", "sha256", "It must be the SHA-256 of the body.")
    try:
        plain = plain_image(content) == content
    except ValueError as error:
        raise broken_rule("", "image", str(error)) from None
    if not plain:
        raise broken_rule("", "image", _NOT_PLAIN)
    return {"sha256": hashed, "media_type": kind, "content": content}


def store_image(
    connection: Connection, campaign: bytes, image: dict[str, Any], name: str | None = None
) -> None:
    """Store an image of a locked draft once, or raise `ProblemError` beyond the limits.

    Tasks that are added later can refer to it by the name of its file.
    """
    table = tables.image.c
    mine = table.campaign_id == campaign
    this = mine & (table.sha256 == image["sha256"])
    there = connection.execute(select(table.names).where(this)).one_or_none()
    names = [] if there is None or there.names is None else json.loads(there.names)
    if name is not None and name not in names:
        names = [*names[-_MOST_NAMES:], name]
    if there is not None:
        kept = json.dumps(names) if names else None
        connection.execute(update(tables.image).where(this).values(names=kept))
        return
    count, size = connection.execute(
        select(func.count(), func.coalesce(func.sum(func.length(table.content)), 0)).where(mine)
    ).one()
    if count >= MAX_IMAGES or size + len(image["content"]) > MAX_IMAGE_BYTES:
        raise broken_rule("", "images", _ROOM)
    row = {"campaign_id": campaign, **image, "names": json.dumps(names) if names else None}
    connection.execute(insert(tables.image), row)


def images_by_name(connection: Connection, campaign: bytes) -> dict[str, str]:
    """Return the hashes of a campaign's images by the names of their files."""
    table = tables.image.c
    wanted = select(table.sha256, table.names).where(
        table.campaign_id == campaign, table.names.is_not(None)
    )
    rows = connection.execute(wanted.order_by(table.sha256)).all()
    return {name: row.sha256.hex() for row in rows for name in json.loads(row.names)}


def keep_named_images(connection: Connection, campaign: bytes, named: Collection[str]) -> None:
    """Delete a campaign's images that tasks do not name; raise `ProblemError` if one is missing."""
    table = tables.image.c
    mine = table.campaign_id == campaign
    held = set(connection.scalars(select(table.sha256).where(mine)))
    wanted = {bytes.fromhex(one) for one in named}
    if wanted - held:
        raise ProblemError(
            "not-ready",
            f"{len(wanted - held):,} of the {len(wanted):,} images of its tasks are missing. "
            "Upload each with PUT images/{sha256} first, as quietcrowd campaign create does.",
        )
    for one in held - wanted:
        connection.execute(delete(tables.image).where(mine, table.sha256 == one))


def read_image(connection: Connection, campaign: bytes, sha256: str) -> Any:
    """Return media type and content of a campaign's image, or raise `ProblemError`."""
    table = tables.image.c
    found = connection.execute(
        select(table.media_type, table.content).where(
            table.campaign_id == campaign, table.sha256 == bytes.fromhex(sha256)
        )
    ).one_or_none()
    if found is None:
        raise ProblemError("not-found", "No task of your campaign has this image.")
    return found
