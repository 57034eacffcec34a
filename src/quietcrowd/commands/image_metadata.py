"""Taking out of an image what does not show: where and when it was taken, with what, by whom.

What shows stays to the last byte: pixels, colour profiles, animations, and how a photograph is to
be turned. All else goes: Exif, XMP, IPTC, comments, previews, and what follows the end.

Sources: ITU-T T.81 (JPEG), PNG (Third Edition), RFC 9649 (WebP), GIF89a.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from quietcrowd.campaign.terms.images import media_type

__all__ = ["without_metadata"]


def without_metadata(content: bytes) -> bytes:
    """Return an image without what does not show.

    Parameters
    ----------
    content : bytes
        A PNG, a JPEG, a WebP or a GIF.

    Raises
    ------
    ValueError
        Where it is none of these, or damaged.
    """
    kind = media_type(content)
    if kind is None:
        raise ValueError("this is no PNG, JPEG, WebP or GIF")
    return b"".join(_READERS[kind](content))


def _part(content: bytes, start: int, length: int) -> bytes:
    """Return bytes that have to be there."""
    if length < 0 or start + length > len(content):
        raise ValueError("the image is cut off")
    return content[start : start + length]


def _whole(content: bytes, start: int, length: int = 4) -> int:
    return int.from_bytes(_part(content, start, length))


_JPEG_END, _JPEG_SCAN, _EXIF = 0xD9, 0xDA, 0xE1
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_JPEG_SHOWN = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
"""Application segments that say how pixels look, and how each begins."""


def _jpeg(content: bytes) -> Iterator[bytes]:
    place = 2
    yield content[:place]
    while True:
        while _part(content, place, 2) == b"\xff\xff":  # they fill up
            place += 1
        marker, code = _part(content, place, 2)
        if marker != 0xFF:
            raise ValueError("the image is damaged")
        if code == _JPEG_END:
            yield b"\xff\xd9"
            return
        length = _whole(content, place + 2, 2)
        segment = _part(content, place, 2 + length)
        place += len(segment)
        if code == _JPEG_SCAN:
            after = _AFTER_SCAN.search(content, place)
            end = len(content) if after is None else after.start()
            yield segment + content[place:end]
            if after is None:
                return
            place = end
        else:
            yield _shown(code, segment)


def _shown(code: int, segment: bytes) -> bytes:
    """Return what stays of a segment of a JPEG."""
    if code == _EXIF:
        return _turned(segment)
    if code in _JPEG_SHOWN:
        return segment if segment[4:].startswith(_JPEG_SHOWN[code]) else b""
    return b"" if 0xE0 <= code <= 0xEF or code == 0xFE else segment


def _turned(segment: bytes) -> bytes:
    """Return a segment of Exif that says nothing but how the image is to be turned."""
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
        *(b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"cICP", b"acTL", b"fcTL", b"fdAT"),
    }
)


def _png(content: bytes) -> Iterator[bytes]:
    place, kind = 8, b""
    yield content[:place]
    while kind != b"IEND":
        chunk = _part(content, place, 12 + _whole(content, place))
        place, kind = place + len(chunk), chunk[4:8]
        if kind in _PNG_SHOWN:
            yield chunk


_WEBP_SHOWN = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_OF_EXIF_AND_XMP = 0x0C


def _webp(content: bytes) -> Iterator[bytes]:
    end = 8 + int.from_bytes(content[4:8], "little")
    place, chunks = 12, []
    while place < end:
        length = int.from_bytes(_part(content, place + 4, 4), "little")
        chunk = bytearray(_part(content, place, 8 + length))
        place += len(chunk) + length % 2
        kind = bytes(chunk[:4])
        if kind == b"VP8X" and length:
            chunk[8] &= ~_OF_EXIF_AND_XMP
        if kind in _WEBP_SHOWN:
            chunks.append(bytes(chunk) + bytes(length % 2))
    body = b"WEBP" + b"".join(chunks)
    yield b"RIFF" + len(body).to_bytes(4, "little") + body


_GIF_END, _GIF_IMAGE, _GIF_EXTENSION = 0x3B, 0x2C, 0x21
_GIF_CONTROL = 0xF9
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def _gif(content: bytes) -> Iterator[bytes]:
    place = 13 + _colours(_whole(content, 10, 1))
    yield _part(content, 0, place)
    while True:
        kind = _whole(content, place, 1)
        if kind == _GIF_END:
            yield b";"
            return
        if kind == _GIF_IMAGE:
            blocks = place + 11 + _colours(_whole(content, place + 9, 1))
            shown = True
        elif kind == _GIF_EXTENSION:
            blocks, label = place + 2, _whole(content, place + 1, 1)
            shown = label == _GIF_CONTROL or content[place + 3 : place + 14] in _GIF_LOOPS
        else:
            raise ValueError("the image is damaged")
        end = _after_blocks(content, blocks)
        if shown:
            yield content[place:end]
        place = end


def _colours(flags: int) -> int:
    """Return how many bytes a table of colours has."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(content: bytes, place: int) -> int:
    while length := _whole(content, place, 1):
        place += 1 + length
    return place + 1


_READERS: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
}
