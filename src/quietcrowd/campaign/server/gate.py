"""The outermost middleware: authentication, limits, logs, headers and unexpected errors.

Bodies are read completely before they are processed, and only after the sender is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import define
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.admission import Admission, Asker, asker_of
from quietcrowd.campaign.server.answers import CountedAnswer
from quietcrowd.campaign.server.connection_limits import OpenConnections
from quietcrowd.campaign.server.cross_origin import allowed_headers, is_for_requesters, is_preflight
from quietcrowd.campaign.server.in_flight import BUSY, InFlight
from quietcrowd.campaign.server.incoming import IncomingBodies, replayed
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.kinds import Mover
from quietcrowd.campaign.server.metrics.requests import note_request
from quietcrowd.campaign.server.metrics.tally import Tally
from quietcrowd.campaign.server.problem_responses import as_response, request_id
from quietcrowd.campaign.server.turning_away import TurningAway

__all__ = ["CONNECTION", "HEADERS", "Gate"]

CONNECTION = "quietcrowd.connection"
"""Key under which the state of a request stores its connection."""

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
"""Default headers of every response."""


@define
class Gate:
    """The outermost middleware; `always` is a path that is served at any load."""

    app: ASGIApp
    admission: Callable[[], Admission]
    in_flight: InFlight
    incoming: IncomingBodies
    connections: OpenConnections
    turning_away: TurningAway
    always: str
    tally: Tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.monotonic(), {"status": 0}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                given = {name for name, _ in message["headers"]}
                usual = (one for one in HEADERS if one[0] not in given)
                message["headers"] = [*message["headers"], *usual, *allowed_headers(scope)]
            await send(message)

        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            await self._pass(inner, receive, _bodiless(scope, send_with_headers))
        except Exception as error:
            known = request_id(scope)
            log_failure("request", error, timed=known is not None, request=known)
            if not seen["status"]:
                problem = ProblemError("internal", "The failure was noted; nothing was changed.")
                await as_response(problem, known)(scope, receive, send_with_headers)
        finally:
            route = getattr(inner.get("route"), "path_format", "unknown")
            mover: Mover = "others" if is_for_requesters(scope["path"]) else "workers"
            note_request(
                self.tally, mover, scope["method"], route, seen["status"], time.monotonic() - start
            )

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if _is_ambiguous(scope, headers):
            problem = ProblemError(
                "malformed", "Say the length of a body once.", headers={"Connection": "close"}
            )
            await as_response(problem)(scope, receive, send)
            return
        if scope["path"] == self.always:
            await self.app(scope, receive, send)
            return
        if is_preflight(scope):
            await Response(status_code=204)(scope, receive, send)
            return
        asker = asker_of(scope, headers)
        try:
            body = await self._admitted(scope, headers, asker, receive)
        except ProblemError as problem:
            await self.turning_away.refuse(problem, scope, receive, send)
            return
        await self._work(scope, asker, body, receive, send)

    async def _admitted(
        self, scope: Scope, headers: Headers, asker: Asker, receive: Receive
    ) -> bytes:
        """Check all limits, and return the request body."""
        request = HTTPConnection(scope)
        if not self.connections.may_ask(request):
            raise ProblemError("too-many-requests", "Wait a moment.")
        size = _announced(headers, asker.most)
        if size > asker.most:
            raise ProblemError("too-large", f"This request has at most {asker.most:,} bytes.")
        self._require_room(size, asker.name)
        await self.admission().admit(asker, request)
        body = await self.incoming.whole(receive, most=asker.most, credential=asker.name)
        self._require_room(len(body), asker.name)
        return body

    async def _work(
        self, scope: Scope, asker: Asker, body: bytes, receive: Receive, send: Send
    ) -> None:
        connection = scope.get("state", {}).get(CONNECTION)
        answer = CountedAnswer(
            scope=scope,
            receive=receive,
            send=send,
            in_flight=self.in_flight,
            credential=asker.name,
            cut_off=_nothing if connection is None else connection.cut_off,
        )
        self.in_flight.enter(len(body), asker.name)
        if connection is not None:
            connection.work_begins()
        try:
            await self.app(scope, replayed(body, receive), answer)
        finally:
            answer.end()
            self.in_flight.leave(len(body), asker.name)
            if connection is not None:
                connection.work_ends()
            self.admission().learn(asker, answer.status)

    def _require_room(self, size: int, name: bytes) -> None:
        if not self.in_flight.has_room(size):
            self.in_flight.cut_off_slow()
            raise ProblemError("busy", BUSY)
        if not self.in_flight.has_share(name):
            raise ProblemError("too-many-requests", "Take the answers to earlier requests first.")


def _nothing() -> None:
    """Close no connection."""


def _bodiless(scope: Scope, send: Send) -> Send:
    """Return a `send` that drops the body of a response to HEAD."""
    if scope["method"] != "HEAD":
        return send

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_headers


def _is_ambiguous(scope: Scope, headers: Headers) -> bool:
    """Return whether proxies may find another end of the body (request smuggling)."""
    chunked = "transfer-encoding" in headers
    return chunked and ("content-length" in headers or scope["http_version"] == "1.0")


def _announced(headers: Headers, most: int) -> int:
    """Return the announced body size in bytes: 0 if unknown, above `most` if invalid."""
    if "transfer-encoding" in headers:
        return 0
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() else most + 1
