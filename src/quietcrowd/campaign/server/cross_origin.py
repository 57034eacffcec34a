"""Requests of a worker's page that was saved as a file, which browsers say are of origin ``null``.

Such a page shows a worker's credential in a header, and never a requester's key; no cookie goes
along. All that is not for workers, and all other origins, stay closed.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope

from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["VARY", "allowed_headers", "is_for_requesters", "is_preflight"]

_ORIGIN = "null"

VARY = (b"vary", b"Origin")
"""Tells caches that answers to workers differ by who asks."""

_AGREED = (
    (b"access-control-allow-origin", _ORIGIN.encode()),
    (b"access-control-expose-headers", b"ETag, Retry-After"),
)
_BEFOREHAND = (
    (b"access-control-allow-methods", b"GET, POST, PUT, DELETE"),
    (b"access-control-allow-headers", b"Authorization, Content-Type"),
    (b"access-control-max-age", b"600"),
)


def _is_for_workers(path: str) -> bool:
    """Return whether a path is one that workers' devices ask for."""
    return path == f"{PREFIX}/me" or path.startswith((f"{PREFIX}/me/", f"{PREFIX}/public/"))


def is_for_requesters(path: str) -> bool:
    """Return whether a path is one that no worker's device asks for: all others may be."""
    names = ("campaigns", "healthz", "keys", "plans", "readyz")
    own = (*(f"{PREFIX}/{name}" for name in names), "/dashboard")
    return any(path == one or path.startswith(f"{one}/") for one in own)


def is_preflight(scope: Scope) -> bool:
    """Return whether a browser asks beforehand what a saved page may ask for."""
    return (
        scope["method"] == "OPTIONS"
        and _is_for_workers(scope["path"])
        and Headers(scope=scope).get("origin") == _ORIGIN
        and "access-control-request-method" in Headers(scope=scope)
    )


def allowed_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return what an answer tells a browser of who may read it."""
    if not _is_for_workers(scope["path"]):
        return []
    headers = [VARY]
    if Headers(scope=scope).get("origin") == _ORIGIN:
        headers += _AGREED
    if is_preflight(scope):
        headers += _BEFOREHAND
    return headers
