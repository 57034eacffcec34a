"""Small images of every kind that campaigns take, and what looks like one and is none."""

import base64
import hashlib
import zlib

__all__ = ["HEADERS", "NO_IMAGES", "PICTURES", "PNG", "hash_of", "image", "png"]


def _chunk(kind, content):
    checksum = zlib.crc32(kind + content)
    return len(content).to_bytes(4) + kind + content + checksum.to_bytes(4)


def png(shade=0, *chunks, width=1, height=1, pixels=None):
    """Return one grey pixel, with more chunks before it; header and pixels may be others."""
    pixels = zlib.compress(bytes([0, shade])) if pixels is None else pixels
    parts = [
        _chunk(b"IHDR", width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])),
        *(_chunk(*one) for one in chunks),
        _chunk(b"IDAT", pixels),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PNG = png()
WEBP = base64.b64decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJ"
    "DRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k="
)
PICTURES = {"image/png": PNG, "image/jpeg": JPEG, "image/webp": WEBP}

NO_IMAGES = {
    "nothing": b"",
    "a text": b"a picture",
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "SVG with a declaration": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    "a page": b"<!doctype html><script>alert(1)</script>",
    "another file of RIFF": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    "a bitmap": b"BM" + bytes(30),
    "a GIF": base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
    "the first bytes of a PNG": PNG[:8],
}

SIZES = {
    (1, 1): True,
    (8_000, 5_000): True,
    (8_000, 5_001): False,
    (60_000, 60_000): False,
    (0, 7): False,
}


def headers(width, height):
    """Give headers of every kind that name so many pixels, as far as they can."""
    yield png(width=width, height=height)
    frame = b"\xff\xc2\0\x0b\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\x01\0\0\0"
    yield b"\xff\xd8\xff\xff\xe0\0\x04ab" + frame + b"\xff\xd9"
    sides = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    if max(width, height) < 2**14:
        yield b"RIFF\x1e\0\0\0WEBPVP8 \x12\0\0\0abc\x9d\x01\x2a" + sides
    if 0 < width < 2**14:
        both = width - 1 | (height - 1) << 14
        yield b"RIFF\x1e\0\0\0WEBPVP8L\x05\0\0\0\x2f" + both.to_bytes(4, "little")
    if width:
        sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        yield b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0abcd" + sides


HEADERS = [(header, shown) for size, shown in SIZES.items() for header in headers(*size)]
"""Headers, and whether devices show images that begin like this."""


def hash_of(content):
    """Return the SHA-256 of an image, in hex."""
    return hashlib.sha256(content).hexdigest()


def image(content, alt=""):
    """Return what names an image in a task."""
    return {"image": hash_of(content), "alt": alt}
