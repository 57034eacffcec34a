"""Small images of every kind that campaigns take, and what looks like one and is none."""

import base64
import hashlib
import zlib

__all__ = ["NO_IMAGES", "PICTURES", "PNG", "hash_of", "image", "png"]


def _chunk(kind, content):
    checksum = zlib.crc32(kind + content)
    return len(content).to_bytes(4) + kind + content + checksum.to_bytes(4)


def png(shade=0, *chunks):
    """Return one grey pixel, with more chunks before it."""
    parts = [
        _chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])),
        *(_chunk(*one) for one in chunks),
        _chunk(b"IDAT", zlib.compress(bytes([0, shade]))),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PNG = png()
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJ"
    "DRENDg8QEBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k="
)
PICTURES = {"image/png": PNG, "image/jpeg": JPEG, "image/webp": WEBP, "image/gif": GIF}

NO_IMAGES = {
    "nothing": b"",
    "a text": b"a picture",
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "SVG with a declaration": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    "a page": b"<!doctype html><script>alert(1)</script>",
    "another file of RIFF": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    "a bitmap": b"BM" + bytes(30),
    "the first bytes of a PNG": PNG[:8],
}


def hash_of(content):
    """Return the SHA-256 of an image, in hex."""
    return hashlib.sha256(content).hexdigest()


def image(content, alt=""):
    """Return what names an image in a task."""
    return {"image": hash_of(content), "alt": alt}
