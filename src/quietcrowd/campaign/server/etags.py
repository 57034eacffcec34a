"""What somebody has already is not sent again: ETags, and the answer 304."""

from __future__ import annotations

from fastapi import Response

__all__ = ["known_already", "not_modified"]


def known_already(tag: str, if_none_match: str | None) -> bool:
    """Return whether who asks has what a tag names.

    Parameters
    ----------
    tag : str
        The ETag, in quotes.
    if_none_match : str, optional
        The header of that name.
    """
    return if_none_match == "*" or tag in (if_none_match or "")


def not_modified(tag: str) -> Response:
    """Return what is answered to whom it is known."""
    return Response(status_code=304, headers={"ETag": tag})
