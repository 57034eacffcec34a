"""The outermost middleware: senders of request bodies, limits, logs, headers, unexpected errors.

Bodies are read completely before they are processed, and only after the sender is known. Requests
without a known key or credential share one rate limit. Requests to public routes are counted by
source. So are joins, with any invite: otherwise the limit that applies would reveal whether an
invite was used. Files of pages are not counted.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal

from attrs import define, field, frozen
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.cross_origin import allowed_headers, is_for_requesters, is_preflight
from quietcrowd.campaign.server.in_flight import ANONYMOUS, BUSY, NEWCOMER, CountedAnswer, InFlight
from quietcrowd.campaign.server.incoming import IncomingBodies, TurningAway, replayed
from quietcrowd.campaign.server.limits import JoinLimits, OpenConnections, RateLimits
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.counters import Mover, Tally, note_request
from quietcrowd.campaign.server.problem_responses import as_response, request_id
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.requesters import Kind, Shown, known_among
from quietcrowd.campaign.terms.settings import MAX_BODY, MAX_FILE, MAX_SMALL_BODY, PREFIX
from quietcrowd.campaign.terms.tokens import Prefix, has_prefix, token_hash

_TOGETHER, _WAIT = 500, 0.002  # maximum number of lookups in a batch, and seconds to wait for more
_KNOWN_SECONDS, _UNKNOWN_SECONDS = 60.0, 10.0
_MOST = 50_000  # maximum number of entries of each cache; the oldest are dropped


@define(kw_only=True)
class _Memory:
    seconds: float
    _until: OrderedDict[Shown, float] = field(factory=OrderedDict, init=False)

    def __contains__(self, shown: Shown) -> bool:
        return self._until.get(shown, 0.0) > time.monotonic()

    def add(self, shown: Shown) -> None:
        self._until[shown] = time.monotonic() + self.seconds
        self._until.move_to_end(shown)
        if len(self._until) > _MOST:
            self._until.popitem(last=False)

    def remove(self, shown: Shown) -> None:
        self._until.pop(shown, None)


_Job = tuple[Shown, bool, "asyncio.Future[bool]"]


@define(kw_only=True)
class Lookups:
    """Cached lookups of keys, credentials and campaigns, in one event loop."""

    database: Database
    _known: _Memory = field(factory=lambda: _Memory(seconds=_KNOWN_SECONDS), init=False)
    _unknown: _Memory = field(factory=lambda: _Memory(seconds=_UNKNOWN_SECONDS), init=False)
    _queue: SimpleQueue[_Job | None] = field(factory=SimpleQueue, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="lookups", daemon=True)
        self._thread.start()

    async def is_known(self, shown: Shown, *, remember: bool = True) -> bool:
        """Return whether a token exists, or the database is unreachable: the route reports that."""
        if shown in self._known:
            return True
        if shown in self._unknown:
            return False
        answer = asyncio.get_running_loop().create_future()
        self._queue.put((shown, remember, answer))
        found: bool = await answer
        return found

    def learn(self, shown: Shown) -> None:
        """Cache that the token exists now."""
        self._unknown.remove(shown)
        self._known.add(shown)

    def forget(self, shown: Shown) -> None:
        """Cache that the token no longer exists."""
        self._known.remove(shown)
        self._unknown.add(shown)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            jobs, going = self._next_jobs()
            if jobs:
                self._look_up(jobs)

    def _next_jobs(self) -> tuple[list[_Job], bool]:
        jobs: list[_Job] = []
        job = self._queue.get()
        if job is not None:
            time.sleep(_WAIT)
        while job is not None:
            jobs.append(job)
            if len(jobs) >= _TOGETHER:
                return jobs, True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return jobs, True
        return jobs, False

    def _look_up(self, jobs: list[_Job]) -> None:
        found: set[Shown] | None = None
        try:
            with self.database.read() as connection:
                found = known_among(connection, {shown for shown, *_ in jobs})
        except Exception as error:
            log_failure("lookups", error)
        with suppress(RuntimeError):  # the loop has ended
            jobs[0][2].get_loop().call_soon_threadsafe(self._answer, jobs, found)

    def _answer(self, jobs: Iterable[_Job], found: set[Shown] | None) -> None:
        for shown, remember, answer in jobs:
            known = found is None or shown in found
            if found is not None and remember:
                (self._known if known else self._unknown).add(shown)
            if not answer.done():
                answer.set_result(known)


_REQUESTERS = re.compile(rf"{PREFIX}/(campaigns|keys|plans|server)(/.*)?", re.DOTALL)
_WORKERS = re.compile(rf"{PREFIX}/me(/.*)?", re.DOTALL)
_JOINING = re.compile(rf"{PREFIX}/public/campaigns/(?P<campaign>[0-9a-f]{{32}})/participants/.*")

_PUBLIC = re.compile(rf"{PREFIX}/(?!(?:healthz|readyz)\Z).*", re.DOTALL)
"""API paths whose anonymous requests are counted; health checks are exempt."""

_FILES = re.compile(rf"{PREFIX}/campaigns/[0-9a-f]{{32}}/(tasks|tasks/reading|images)")
"""Paths to which requesters send files."""

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")  # `Gate` handles HEAD as GET
_OF_REQUESTERS: dict[Prefix, Kind] = {"qck_": "key", "qcr_": "token", "qcd_": "code"}
_OF_WORKERS: dict[Prefix, Kind] = {"qcw_": "credential"}

_BRIEF = ("code", "token")
"""Short-lived kinds. Unknown ones are admitted: the route reports why they are invalid."""


@frozen(kw_only=True)
class Asker:
    """The key or credential of a request.

    `wanted` is the kind that the route requires; it may accept a token or code instead of a key.
    `joins` is the id of the campaign to join. A request with `is_public` is counted by its source,
    and one with `has_file` sends a file.
    """

    shown: Shown | None = None
    wanted: Literal["key", "credential"] | None = None
    joins: bytes | None = None
    is_public: bool = False
    has_file: bool = False

    @property
    def name(self) -> bytes:
        """Name under which a request counts: one for all anonymous ones, and one for all joins."""
        if self.joins is not None:
            return NEWCOMER
        return ANONYMOUS if self.shown is None else self.shown.hash

    @property
    def most(self) -> int:
        """Maximum body size in bytes."""
        if self.wanted is None or self.joins is not None or self.is_brief:
            return MAX_SMALL_BODY
        return MAX_FILE if self.has_file else MAX_BODY

    @property
    def is_brief(self) -> bool:
        """Whether the request has a dashboard code or token."""
        return self.shown is not None and self.shown.kind in _BRIEF

    @property
    def refusal(self) -> str:
        """Error detail for an unknown key or credential."""
        if self.wanted == "key":
            return "Send a requester's key: Authorization: Bearer qck_..."
        if self.shown is None:
            return "Send a credential: Authorization: Bearer qcw_..."
        return "Join the campaign first."


def asker_of(scope: Scope, headers: Headers) -> Asker:
    """Read the key or credential of a request from its path and headers."""
    path = scope["path"]
    anybody = Asker(is_public=_PUBLIC.fullmatch(path) is not None)
    if scope["method"] not in _METHODS:
        return anybody  # no route has it
    token = (headers.get("authorization") or "").partition(" ")[2].strip()
    if _REQUESTERS.fullmatch(path):
        has_file = scope["method"] == "POST" and _FILES.fullmatch(path) is not None
        return Asker(shown=_shown(token, _OF_REQUESTERS), wanted="key", has_file=has_file)
    joining = _JOINING.fullmatch(path) if scope["method"] == "PUT" else None
    if joining is None and not _WORKERS.fullmatch(path):
        return anybody
    joins = None if joining is None else bytes.fromhex(joining["campaign"])
    return Asker(shown=_shown(token, _OF_WORKERS), wanted="credential", joins=joins)


def _shown(token: str, kinds: Mapping[Prefix, Kind]) -> Shown | None:
    for prefix, kind in kinds.items():
        if has_prefix(token, prefix):
            return Shown(kind, token_hash(token))
    return None


@define(kw_only=True)
class Admission:
    """Authentication, and rate limits per key, credential or source; joins are limited, too."""

    lookups: Lookups
    limits: RateLimits
    joins: JoinLimits
    hold_back: Callable[[], Awaitable[None]]

    async def admit(self, asker: Asker, request: HTTPConnection) -> None:
        """Raise ProblemError unless the body may be read; the invite of a join is checked later."""
        if asker.wanted is None:
            if asker.is_public:
                await self._count(self.joins.sources.of_request(request))
            return
        if asker.joins is not None and asker.shown is not None:
            await self._count(self.joins.sources.of_request(request))
            await self._check_joins(asker.joins, asker.shown, request)
            return
        if asker.shown is None or not await self.lookups.is_known(
            asker.shown,
            remember=asker.shown.kind != "code",  # used once
        ):
            await self._count(ANONYMOUS)
            if asker.is_brief:
                return
            raise ProblemError("credential", asker.refusal)
        if not self.limits.allow(asker.name):
            raise ProblemError("too-many-requests", "Wait a moment.")

    async def _check_joins(self, campaign: bytes, shown: Shown, request: HTTPConnection) -> None:
        if self.joins.has_capacity(request):
            return
        if not await self.lookups.is_known(Shown("campaign", campaign), remember=False):
            return
        if await self.lookups.is_known(shown, remember=False):
            return
        await self.hold_back()
        raise self.joins.refusal()

    async def _count(self, stranger: bytes) -> None:
        if self.limits.allow(stranger):
            return
        await self.hold_back()
        raise ProblemError("too-many-requests", "Wait a moment.")

    def learn(self, asker: Asker, status: int) -> None:
        """Update the cache of lookups from the status of the response."""
        if asker.shown is None:
            return
        if asker.joins is not None and status in (200, 201):
            self.lookups.learn(asker.shown)
        elif asker.shown.kind == "credential" and asker.joins is None and status == 401:
            self.lookups.forget(asker.shown)


CONNECTION = "quietcrowd.connection"  # key under which the state of a request stores its connection

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
                problem = ProblemError("internal", "The error is logged; nothing was changed.")
                await as_response(problem, known)(scope, receive, send_with_headers)
        finally:
            route = getattr(inner.get("route"), "path_format", "unknown")
            mover: Mover = "others" if is_for_requesters(scope["path"]) else "workers"
            note_request(
                self.tally, mover, scope["method"], route, seen["status"], time.monotonic() - start
            )

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        # Proxies may find another end of the body (request smuggling).
        lengths = "content-length" in headers or scope["http_version"] == "1.0"
        if lengths and "transfer-encoding" in headers:
            problem = ProblemError(
                "malformed", "State the length of the body once.", headers={"Connection": "close"}
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
            await self.turning_away.reject(problem, scope, receive, send)
            return
        await self._work(scope, asker, body, receive, send)

    async def _admitted(
        self, scope: Scope, headers: Headers, asker: Asker, receive: Receive
    ) -> bytes:
        request = HTTPConnection(scope)
        if not self.connections.may_ask(request):
            await self.turning_away.hold_back()
            raise ProblemError("too-many-requests", "Wait a moment.")
        size = _announced(headers, asker.most)
        if size > asker.most:
            raise ProblemError("too-large", f"This request has at most {asker.most:,} bytes.")
        self._check_capacity(size, asker.name)
        await self.admission().admit(asker, request)
        body = await self.incoming.whole(receive, most=asker.most, credential=asker.name)
        self._check_capacity(len(body), asker.name)
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
            cut_off=(lambda: None) if connection is None else connection.cut_off,
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

    def _check_capacity(self, size: int, name: bytes) -> None:
        if not self.in_flight.has_capacity(size):
            self.in_flight.cut_off_slow()
            raise ProblemError("busy", BUSY)
        if not self.in_flight.has_share(name):
            raise ProblemError("too-many-requests", "Read the responses to earlier requests first.")


def _bodiless(scope: Scope, send: Send) -> Send:
    if scope["method"] != "HEAD":
        return send

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return send_headers


def _announced(headers: Headers, most: int) -> int:
    if "transfer-encoding" in headers:
        return 0
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() else most + 1
