"""What every request passes: size, rate, load, log, headers, a catch for what nobody foresaw.

Bodies are read whole before any work on them begins. Who sends slowly, or not at all, keeps nobody
from being served: what is still coming in counts neither as a request that is worked on nor with
more bytes than have come.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from threading import Lock

from attrs import define, field
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.cross_origin import allowed_headers, is_for_requesters, is_preflight
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.kinds import Mover
from quietcrowd.campaign.server.metrics.requests import note_request
from quietcrowd.campaign.server.metrics.tally import Tally
from quietcrowd.campaign.server.problem_responses import as_response, request_id
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import has_prefix

__all__ = ["BUSY", "HEADERS", "Gate", "InFlight", "IncomingBodies", "RateLimits"]

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
"""What every answer carries, unless it has its own."""

BUSY = "Send the same again in a moment."

_MOST_BUCKETS = 100_000
"""Buckets that are kept; those that were used least lately go first."""


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
    incoming : IncomingBodies
        Bodies that are coming in.
    always : str
        The path that is answered whatever the load.
    tally : Tally
        What is counted.
    """

    app: ASGIApp
    limits: RateLimits
    in_flight: InFlight
    incoming: IncomingBodies
    always: str
    tally: Tally

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
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

        try:
            await self._pass(scope, receive, send_with_headers)
        except Exception as error:
            known = request_id(scope)
            log_failure("request", error, timed=known is not None, request=known)
            if not seen["status"]:
                problem = ProblemError("internal", "The failure was noted; nothing was changed.")
                await as_response(problem, known)(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path_format", "unknown")
            mover: Mover = "others" if is_for_requesters(scope["path"]) else "workers"
            note_request(
                self.tally, mover, scope["method"], route, seen["status"], time.monotonic() - start
            )

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == self.always:
            await self.app(scope, receive, send)
            return
        if is_preflight(scope):
            await Response(status_code=204)(scope, receive, send)
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
        body = await self.incoming.whole(receive)
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


@define(kw_only=True)
class IncomingBodies:
    """Requests whose bodies are coming in, in one event loop.

    Attributes
    ----------
    size : int
        Most bytes that are kept at once of bodies that are not whole yet.
    patience : float
        Seconds in which a body has to be whole.
    waiting : int
        How many bodies are coming in now.
    """

    size: int
    patience: float
    waiting: int = field(default=0, init=False)
    _kept: int = field(default=0, init=False)

    async def whole(self, receive: Receive) -> bytes:
        """Return the body of a request once all of it is here.

        Parameters
        ----------
        receive : callable
            Gives the next message of the request.

        Raises
        ------
        ProblemError
            Where it is too large, takes too long, ends early, or too much is coming in.
        """
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                return await self._whole(receive)
        except TimeoutError:
            raise ProblemError(
                "too-slow",
                f"A request has to be here within {self.patience:g} seconds: send the same again.",
                headers={"Connection": "close"},
            ) from None
        finally:
            self.waiting -= 1

    async def _whole(self, receive: Receive) -> bytes:
        body, kept = b"", bytearray()
        more = True
        try:
            while more:
                body, more = await _next_part(receive)
                if len(kept) + len(body) > MAX_BODY:
                    raise ProblemError("too-large", f"A request has at most {MAX_BODY:,} bytes.")
                if more:
                    self._require_room(len(body))
                    self._kept += len(body)
                    kept += body
            return bytes(kept) + body if kept else body
        finally:
            self._kept -= len(kept)

    def _require_room(self, size: int) -> None:
        if self._kept + size > self.size:
            raise ProblemError("busy", BUSY)


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next bytes of a body, and whether more follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ProblemError("malformed", "The request ended before its body did.")
    return message.get("body", b""), message.get("more_body", False)


@define(kw_only=True)
class InFlight:
    """Requests that are worked on, in one event loop, until their answers are taken.

    Attributes
    ----------
    requests : int
        Most of them at once.
    size : int
        Most bytes of their bodies at once.
    each : int
        Most of them at once of one key or credential, so that nobody who takes answers slowly
        keeps the others from being served.
    """

    requests: int
    size: int
    each: int
    _requests: int = field(default=0, init=False)
    _size: int = field(default=0, init=False)
    _of: Counter[bytes] = field(factory=Counter, init=False)

    def has_room(self, size: int) -> bool:
        """Return whether one more request may be worked on.

        Parameters
        ----------
        size : int
            Bytes of its body.
        """
        return self._requests < self.requests and self._size + size <= self.size

    def has_share(self, credential: bytes | None) -> bool:
        """Return whether one more request with this key or credential, if any, may be worked on."""
        return credential is None or self._of[credential] < self.each

    def enter(self, size: int, credential: bytes | None) -> None:
        """Count a request."""
        self._requests += 1
        self._size += size
        if credential is not None:
            self._of[credential] += 1

    def leave(self, size: int, credential: bytes | None) -> None:
        """Count a request no more."""
        self._requests -= 1
        self._size -= size
        if credential is not None:
            self._of[credential] -= 1
            if not self._of[credential]:
                del self._of[credential]


@define(kw_only=True)
class RateLimits:
    """A bucket for each key or credential: what it holds may be spent at once.

    Attributes
    ----------
    rate : float
        Requests per second that flow into a bucket; 0 for no limit.
    burst : int
        What a bucket holds.
    """

    rate: float
    burst: int
    _buckets: OrderedDict[bytes, tuple[float, float]] = field(factory=OrderedDict, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def allow(self, credential: bytes, now: float | None = None) -> bool:
        """Return whether a request with this key or credential may pass, and count it.

        Parameters
        ----------
        credential : bytes
            What the request shows for itself, or nothing; a hash of it is kept.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
        if not self.rate:
            return True
        key = hashlib.sha256(credential).digest()[:16]
        moment = time.monotonic() if now is None else now
        with self._lock:
            left, before = self._buckets.pop(key, (float(self.burst), moment))
            left = min(self.burst, left + (moment - before) * self.rate)
            allowed = left >= 1
            self._buckets[key] = (left - allowed, moment)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return allowed
