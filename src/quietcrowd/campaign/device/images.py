"""Download of a campaign's task images when a device joins.

It fetches all of them, in the order of their hashes, so that no request shows which task is open.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.folder import CampaignFolder
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.terms.images import SUFFIXES, image_kind, named_images
from quietcrowd.campaign.terms.settings import MAX_IMAGE, MAX_IMAGE_BYTES, MAX_IMAGES
from quietcrowd.exceptions import CampaignError

__all__ = ["fetch_images"]

_WAY_OUT = "None of your answers was sent; withdraw, and ask who invited you."


def fetch_images(
    tasks: Sequence[CampaignTask], folder: CampaignFolder, server: CampaignServer, credential: str
) -> None:
    """Fetch the images that the tasks name and that are not stored yet.

    Raises CampaignError if they are too many or too large, or if one has another hash or is no
    image.
    """
    named = named_images(task.data for task in tasks)
    if len(named) > MAX_IMAGES:
        raise CampaignError(
            f"the tasks show {len(named):,} images; at most {MAX_IMAGES:,} are fetched. {_WAY_OUT}"
        )
    kept, size = folder.images(), 0
    for sha256 in named:
        path = kept.get(sha256) or _fetch(sha256, folder, server, credential)
        size += path.stat().st_size
        if size > MAX_IMAGE_BYTES:
            raise CampaignError(
                f"the images of the tasks have more than {MAX_IMAGE_BYTES:,} bytes. {_WAY_OUT}"
            )


def _fetch(sha256: str, folder: CampaignFolder, server: CampaignServer, credential: str) -> Path:
    content = server.read_image(sha256, credential)
    shown = f"the image {sha256[:12]}... that the server sends"
    if len(content) > MAX_IMAGE or hashlib.sha256(content).hexdigest() != sha256:
        raise CampaignError(f"{shown} is not the one that the tasks name. {_WAY_OUT}")
    try:
        kind = image_kind(content)
    except ValueError as error:
        raise CampaignError(f"{shown} is not accepted: {error}. {_WAY_OUT}") from None
    return folder.keep_image(sha256 + SUFFIXES[kind], content)
