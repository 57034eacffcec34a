"""Images of tasks, named by the SHA-256 of their bytes.

A column of a task is an image if its value is exactly ``{"image": SHA-256 in hex, "alt": text}``.
So the hash of the tasks, which workers agree to, covers the images. SVG is not accepted, because it
can contain scripts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from quietcrowd.campaign.terms.settings import MAX_PIXELS

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp"}
)
"""Accepted media types, with the suffixes of their files."""

_STARTS = {
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}

_HASH = re.compile(r"[0-9a-f]{64}")


def media_type(content: bytes) -> str | None:
    """Return the media type by the first bytes; None for other formats."""
    return next((kind for kind, start in _STARTS.items() if start.match(content)), None)


def image_kind(content: bytes) -> str:
    """Return the media type of an image that devices show.

    Only the header is decoded, before a viewer allocates memory for the pixels. Raises `ValueError`
    if the format is not accepted, the header is damaged, or there are too many pixels.
    """
    kind = media_type(content)
    if kind is None:
        raise ValueError("this is no PNG, JPEG or WebP")
    try:
        width, height = _SIZES[kind](content)
    except (IndexError, struct.error):
        width = height = 0
    if not width * height:
        raise ValueError("the header of the image is damaged or cut off")
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"the image has {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are accepted: "
            "make it smaller"
        )
    return kind


def _png_size(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", content, 16)
    return width, height


JPEG_FRAMES = frozenset({0xC0, 0xC1, 0xC2, 0xC9, 0xCA})
"""Codes of segments with height and width, for the coding processes that programs decode."""


def _jpeg_size(content: bytes) -> tuple[int, int]:
    place = 2
    while content[place] == 0xFF:
        code = content[place + 1]
        if code in JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return width, height
        # any number of fill bytes FF may precede a code
        place += 1 if code == 0xFF else 2 + struct.unpack_from(">H", content, place + 2)[0]
    return 0, 0


def _webp_size(content: bytes) -> tuple[int, int]:
    def little(start: int) -> int:
        number: int = struct.unpack_from("<I", content, start)[0]
        return number

    match content[12:16]:
        case b"VP8X":
            return (little(23) >> 8) + 1, (little(26) >> 8) + 1
        case b"VP8L" if content[20] == 0x2F:
            return (little(21) & 0x3FFF) + 1, (little(21) >> 14 & 0x3FFF) + 1
        case b"VP8 " if little(22) >> 8 == 0x2A019D:
            return little(26) & 0x3FFF, little(26) >> 16 & 0x3FFF
    return 0, 0


_SIZES = {"image/jpeg": _jpeg_size, "image/png": _png_size, "image/webp": _webp_size}


def name_image(sha256: str, alt: str) -> dict[str, str]:
    """Return the value of a column that shows an image, with an alternative text."""
    return {"image": sha256, "alt": alt}


def image_in(value: Any) -> str | None:
    """Return the SHA-256 (in hexadecimal) of the image in a column; None if it is not an image."""
    if not isinstance(value, Mapping) or value.keys() != {"image", "alt"}:
        return None
    named, alt = value["image"], value["alt"]
    if not isinstance(named, str) or not isinstance(alt, str) or not _HASH.fullmatch(named):
        return None
    return named


def named_images(shown: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the hashes of all images without duplicates, in the order in which they are fetched.

    `shown` contains the data of each task.
    """
    found = {image_in(value) for data in shown for value in data.values()}
    return tuple(sorted(one for one in found if one is not None))
