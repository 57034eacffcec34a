"""Images that tasks show beside words: named by the SHA-256 of their bytes, known by their bytes.

A column of a task is an image where its value is ``{"image": SHA-256 in hex, "alt": words}`` and
nothing else: so the hash of the tasks, which workers agree to, is that of their images as well.
SVG is not taken: it is a page, with programs in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["SUFFIXES", "image_in", "media_type", "name_image", "named_images"]

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"image/gif": ".gif", "image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp"}
)
"""What images there are, by their media types, and how names of their files end."""

_STARTS = {
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}

_HASH = re.compile(r"[0-9a-f]{64}")


def media_type(content: bytes) -> str | None:
    """Return what image these bytes are, by how they begin; None for what is none of ours.

    Examples
    --------
    >>> media_type(b"GIF89a...")
    'image/gif'
    """
    return next((kind for kind, start in _STARTS.items() if start.match(content)), None)


def name_image(sha256: str, alt: str) -> dict[str, str]:
    """Return the column of a task that shows an image.

    Parameters
    ----------
    sha256 : str
        Of its bytes, in hex.
    alt : str
        What it shows, for whoever does not see it.
    """
    return {"image": sha256, "alt": alt}


def image_in(value: Any) -> str | None:
    """Return the SHA-256, in hex, of the image that a column of a task shows; None without one."""
    if not isinstance(value, Mapping) or value.keys() != {"image", "alt"}:
        return None
    named, alt = value["image"], value["alt"]
    if not isinstance(named, str) or not isinstance(alt, str) or not _HASH.fullmatch(named):
        return None
    return named


def named_images(shown: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the hashes of all images, each once, in their order: that in which they are fetched.

    Parameters
    ----------
    shown : iterable of mapping
        What each task shows.
    """
    found = {image_in(value) for data in shown for value in data.values()}
    return tuple(sorted(one for one in found if one is not None))
