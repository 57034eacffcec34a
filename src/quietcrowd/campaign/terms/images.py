"""Images of tasks, named by the SHA-256 of their bytes, and removal of invisible data from them.

A column of a task is an image if its value is exactly ``{"image": SHA-256 in hex, "alt": text}``.
So the hash of the tasks, which workers agree to, covers the images. SVG is not accepted, because it
can contain scripts.

Pixels, color profiles and the orientation of a photograph stay unchanged. Everything else is
removed: Exif, XMP, IPTC, comments, previews, unknown chunks, and bytes after the end.

Sources: ITU-T T.81 (JPEG), PNG (Third Edition), RFC 9649 (WebP).
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

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
    """Return the media type of an image that devices show, or raise `ValueError`.

    Only the header is decoded, before a viewer allocates memory for the pixels.
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
    """Return the hashes of all images in tasks' data, in the order in which they are fetched."""
    found = {image_in(value) for data in shown for value in data.values()}
    return tuple(sorted(one for one in found if one is not None))


_DAMAGED = "the image is damaged: save it again with another program"
_CUT_OFF = "the image is cut off: copy the whole file"
_ANIMATED = "the image is animated: save one of its frames"


def plain_image(content: bytes) -> bytes:
    """Remove invisible data from a PNG, JPEG or WebP, or raise `ValueError` if it is invalid."""
    return b"".join(_READERS[image_kind(content)](content))


def _part(content: bytes, start: int, length: int) -> bytes:
    if length < 0 or start + length > len(content):
        raise ValueError(_CUT_OFF)
    return content[start : start + length]


def _whole(content: bytes, start: int, length: int = 4) -> int:
    return int.from_bytes(_part(content, start, length))


_JPEG_END, _JPEG_SCAN, _EXIF, _COMMENT = 0xD9, 0xDA, 0xE1, 0xFE
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_JPEG_TABLES = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD})
_JPEG_SHOWN = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
"""Application segments that affect the look of pixels, with their first bytes."""


def _jpeg(content: bytes) -> Iterator[bytes]:
    place, frames = 2, 0
    yield content[:place]
    while True:
        while _part(content, place, 2) == b"\xff\xff":  # fill bytes
            place += 1
        marker, code = _part(content, place, 2)
        if marker != 0xFF:
            raise ValueError(_DAMAGED)
        if code == _JPEG_END:
            yield b"\xff\xd9"
            return
        length = _whole(content, place + 2, 2)
        segment = _part(content, place, 2 + length)
        place += len(segment)
        frames += code in JPEG_FRAMES
        if frames != 1 and code in JPEG_FRAMES | {_JPEG_SCAN}:
            raise ValueError(_DAMAGED)
        if code == _JPEG_SCAN:
            after = _AFTER_SCAN.search(content, place)
            if after is None:
                raise ValueError(_CUT_OFF)
            yield segment + content[place : after.start()]
            place = after.start()
        else:
            yield _shown(code, segment)


def _shown(code: int, segment: bytes) -> bytes:
    if code == _EXIF:
        return _turned(segment)
    if code in _JPEG_SHOWN:
        return segment if segment[4:].startswith(_JPEG_SHOWN[code]) else b""
    if 0xE0 <= code <= 0xEF or code == _COMMENT:
        return b""
    if code not in JPEG_FRAMES | _JPEG_TABLES:
        raise ValueError(_DAMAGED)
    return segment


def _turned(segment: bytes) -> bytes:
    """Reduce a segment of Exif to the orientation."""
    if segment[4:10] != b"Exif\0\0":
        return b""
    tiff = segment[10:]
    order: Literal["little", "big"] = "little" if tiff[:2] == b"II" else "big"

    def read(start: int, length: int) -> int:
        return int.from_bytes(tiff[start : start + length], order)

    table = read(4, 4)
    for entry in range(table + 2, table + 2 + 12 * read(table, 2), 12):
        if read(entry, 2) == 0x0112 and 1 < read(entry + 8, 2) <= 8:
            turn = read(entry + 8, 2).to_bytes(2)
            entries = b"\0\x01" + b"\x01\x12\0\x03\0\0\0\x01" + turn + bytes(6)
            return b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08" + entries
    return b""


_PNG_SHOWN = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"pHYs", b"sBIT"),
        *(b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"cICP"),
    }
)
_PNG_ANIMATION = b"acTL"
_AT_ONCE = 2**20
_PNG_MOST = 9 * MAX_PIXELS  # most bytes of pixels and filters to decode


def _png(content: bytes) -> Iterator[bytes]:
    place, kinds, pixels = 8, [b""], bytearray()
    yield content[:place]
    while kinds[-1] != b"IEND":
        chunk = _part(content, place, 12 + _whole(content, place))
        place += len(chunk)
        kinds.append(chunk[4:8])
        if zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:]):
            raise ValueError(_DAMAGED)
        if kinds[-1] in _PNG_SHOWN:
            yield chunk
        if kinds[-1] == b"IDAT":
            pixels += chunk[8:-4]
    if _PNG_ANIMATION in kinds:
        raise ValueError(_ANIMATED)
    if kinds.count(b"IHDR") != 1 or not _inflates(bytes(pixels)):
        raise ValueError(_DAMAGED)


def _inflates(pixels: bytes) -> bool:
    stream, size = zlib.decompressobj(), 0
    try:
        while not stream.eof and size <= _PNG_MOST:
            some = stream.decompress(pixels, _AT_ONCE)
            if not some:
                break
            size, pixels = size + len(some), stream.unconsumed_tail
    except zlib.error:
        return False
    return stream.eof and not stream.unused_data


_WEBP_FRAMES = (b"VP8 ", b"VP8L")
_WEBP_SHOWN = frozenset({*_WEBP_FRAMES, b"VP8X", b"ALPH", b"ICCP"})
_WEBP_ANIMATION = frozenset({b"ANIM", b"ANMF"})
_OF_EXIF_AND_XMP, _OF_FRAMES = 0x0C, 0x02


def _webp(content: bytes) -> Iterator[bytes]:
    end = 8 + int.from_bytes(content[4:8], "little")
    place, kinds, chunks = 12, [], []
    while place < end:
        length = int.from_bytes(_part(content, place + 4, 4), "little")
        chunk = bytearray(_part(content, place, 8 + length))
        place += len(chunk) + length % 2
        kinds.append(bytes(chunk[:4]))
        if kinds[-1] == b"VP8X" and length:
            if chunk[8] & _OF_FRAMES:
                raise ValueError(_ANIMATED)
            chunk[8] &= ~_OF_EXIF_AND_XMP
        if kinds[-1] in _WEBP_SHOWN:
            chunks.append(bytes(chunk) + bytes(length % 2))
    if not _WEBP_ANIMATION.isdisjoint(kinds):
        raise ValueError(_ANIMATED)
    if sum(kind in _WEBP_FRAMES for kind in kinds) != 1:
        raise ValueError(_DAMAGED)
    body = b"WEBP" + b"".join(chunks)
    yield b"RIFF" + len(body).to_bytes(4, "little") + body


_READERS: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
}
