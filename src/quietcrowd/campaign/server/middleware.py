"""What every request passes: size, rate, load, log, headers, a catch for what nobody foresaw."""

from __future__ import annotations

import time

from attrs import define
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.arrivals import BUSY, Arrivals
from quietcrowd.campaign.server.in_flight import InFlight
from quietcrowd.campaign.server.logs import log_failure, log_request
from quietcrowd.campaign.server.problem_responses import as_response
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import has_prefix

__all__ = ["HEADERS", "Gate"]

HEADERS = (
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""What every answer carries."""


@define
class Gate:
    """The outermost layer of the application.

    Attributes
    ----------
    app : ASGIApp
        What lies within.
    limits : RateLimits
        How often a key or credential may ask.
    in_flight : InFlight
        How much is worked on at once, in all and for each key or credential.
    arrivals : Arrivals
        Bodies that are coming in.
    always : str
        The path that is answered whatever the load.
    """

    app: ASGIApp
    limits: RateLimits
    in_flight: InFlight
    arrivals: Arrivals
    always: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.monotonic(), {"status": 0}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        try:
            await self._pass(scope, receive, send_with_headers)
        except Exception as error:
            log_failure("request", error)
            if not seen["status"]:
                problem = ProblemError("internal", "The failure was noted; nothing was changed.")
                await as_response(problem)(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path_format", "unknown")
            log_request(scope["method"], route, seen["status"], time.monotonic() - start)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == self.always:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        credential = _credential(headers.get("authorization"))
        try:
            body = await self._admitted(headers, credential, receive)
        except ProblemError as problem:
            await as_response(problem)(scope, receive, send)
            return
        self.in_flight.enter(len(body), credential)
        try:
            await self.app(scope, _replayed(body, receive), send)
        finally:
            self.in_flight.leave(len(body), credential)

    async def _admitted(
        self, headers: Headers, credential: bytes | None, receive: Receive
    ) -> bytes:
        """Return the body of a request that may be worked on now; or raise ProblemError."""
        size = _announced(headers)
        if size > MAX_BODY:
            raise ProblemError("too-large", f"A request has at most {MAX_BODY:,} bytes.")
        if credential is not None and not self.limits.allow(credential):
            raise ProblemError("too-many-requests", "Wait a moment.")
        self._require_room(size, credential)
        body = await self.arrivals.whole(receive)
        self._require_room(len(body), credential)
        return body

    def _require_room(self, size: int, credential: bytes | None) -> None:
        if not self.in_flight.has_share(credential):
            raise ProblemError("too-many-requests", "Take the answers to earlier requests first.")
        if not self.in_flight.has_room(size):
            raise ProblemError("busy", BUSY)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then what else comes."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _credential(shown: str | None) -> bytes | None:
    """Return the key or credential in a header, as the routes read it.

    All that is neither is the same, nothing; None where the header is missing.
    """
    if shown is None:
        return None
    token = shown.partition(" ")[2].strip()
    known = has_prefix(token, "qck_") or has_prefix(token, "qcw_")
    return token.encode() if known else b""


def _announced(headers: Headers) -> int:
    """Return how many bytes the body is to have; 0 where that is not said."""
    if "transfer-encoding" in headers:
        return 0
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() else MAX_BODY + 1
