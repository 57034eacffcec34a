"""CORS headers for routes of workers, and only for the saved page, whose origin is ``null``."""

from starlette.datastructures import Headers
from starlette.types import Scope

from quietcrowd.campaign.terms.settings import PREFIX

_ORIGIN = "null"

VARY = (b"vary", b"Origin")
"""Responses to workers depend on the origin, so caches must distinguish them."""

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
    return path == f"{PREFIX}/me" or path.startswith((f"{PREFIX}/me/", f"{PREFIX}/public/"))


def is_for_requesters(path: str) -> bool:
    """Return whether only requesters use a path; workers may use all other paths."""
    names = ("campaigns", "healthz", "keys", "plans", "readyz", "server")
    own = (*(f"{PREFIX}/{name}" for name in names), "/dashboard")
    return any(path == one or path.startswith(f"{one}/") for one in own)


def is_preflight(scope: Scope) -> bool:
    """Return whether a request is the CORS preflight of a saved page."""
    return (
        scope["method"] == "OPTIONS"
        and _is_for_workers(scope["path"])
        and Headers(scope=scope).get("origin") == _ORIGIN
        and "access-control-request-method" in Headers(scope=scope)
    )


def allowed_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the CORS headers of a response."""
    if not _is_for_workers(scope["path"]):
        return []
    headers = [VARY]
    if Headers(scope=scope).get("origin") == _ORIGIN:
        headers += _AGREED
    if is_preflight(scope):
        headers += _BEFOREHAND
    return headers
