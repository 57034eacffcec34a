"""Where the next page begins: a text that clients hand back as it is."""

from __future__ import annotations

import base64
import binascii

from quietcrowd.campaign.protocol.problems import broken_rule

__all__ = ["read_cursor", "write_cursor"]


def write_cursor(place: bytes) -> str:
    """Return the cursor of a place."""
    return base64.urlsafe_b64encode(place).decode()


def read_cursor(cursor: str | None, length: int) -> bytes:
    """Return the place of a cursor; without one, what lies before all places.

    Raises
    ------
    ProblemError
        Where nobody was given such a cursor.
    """
    if cursor is None:
        return b""
    try:
        place = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        place = b""
    if len(place) != length:
        raise broken_rule("/query/cursor", "cursor", "Take the cursor that the page before gave.")
    return place
