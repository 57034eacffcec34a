"""ETags and 304 responses."""

from __future__ import annotations

from fastapi import Response


def known_already(tag: str, if_none_match: str | None) -> bool:
    """Return whether an If-None-Match header contains a quoted ETag."""
    return if_none_match == "*" or tag in (if_none_match or "")


def not_modified(tag: str) -> Response:
    """Return a 304 response."""
    return Response(status_code=304, headers={"ETag": tag})
