"""Authentication and rate limits that apply before a request body is read.

Requests without a known key or credential share one rate limit. Requests to public routes are
counted by source. So are joins, with any invite: otherwise the limit that applies would
reveal whether an invite was used. Beyond these limits, a rejection is delayed by about a second.

Page files are not counted: a page loads many, and one costs no more than a rejection.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from attrs import define, frozen
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.in_flight import ANONYMOUS, NEWCOMER
from quietcrowd.campaign.server.join_limits import JoinLimits
from quietcrowd.campaign.server.lookups import Lookups
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.store.shown_tokens import Kind, Shown
from quietcrowd.campaign.terms.settings import MAX_BODY, MAX_SMALL_BODY, PREFIX
from quietcrowd.campaign.terms.tokens import Prefix, has_prefix, token_hash

__all__ = ["Admission", "Asker", "asker_of"]

_REQUESTERS = re.compile(rf"{PREFIX}/(campaigns|keys|plans)(/.*)?", re.DOTALL)
_WORKERS = re.compile(rf"{PREFIX}/me(/.*)?", re.DOTALL)
_JOINING = re.compile(rf"{PREFIX}/public/campaigns/(?P<campaign>[0-9a-f]{{32}})/participants/.*")

_PUBLIC = re.compile(rf"{PREFIX}/(?!(?:healthz|readyz)\Z).*", re.DOTALL)
"""API paths whose anonymous requests are counted; health checks are exempt."""

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""`Gate` handles HEAD as GET."""

_OF_REQUESTERS: dict[Prefix, Kind] = {"qck_": "key", "qcr_": "token", "qcd_": "code"}
_OF_WORKERS: dict[Prefix, Kind] = {"qcw_": "credential"}

_BRIEF = ("code", "token")
"""Short-lived kinds. Unknown ones are admitted: the route reports why they are invalid."""


@frozen(kw_only=True)
class Asker:
    """The key or credential of a request.

    `wanted` is the kind that the route requires; it may accept a token or code instead of a key.
    `shown` is the one in the request. `joins` is the id of the campaign to join, with a
    credential that may be new. A request with `is_public` is counted by its source.
    """

    shown: Shown | None = None
    wanted: Literal["key", "credential"] | None = None
    joins: bytes | None = None
    is_public: bool = False

    @property
    def name(self) -> bytes:
        """Name under which a request counts: one for all anonymous ones, and one for all joins."""
        if self.joins is not None:
            return NEWCOMER
        return ANONYMOUS if self.shown is None else self.shown.hash

    @property
    def most(self) -> int:
        """Maximum body size in bytes."""
        small = self.wanted is None or self.joins is not None or self.is_brief
        return MAX_SMALL_BODY if small else MAX_BODY

    @property
    def is_brief(self) -> bool:
        """Whether the request has a dashboard code or token."""
        return self.shown is not None and self.shown.kind in _BRIEF

    @property
    def refusal(self) -> str:
        """Error detail for an unknown key or credential."""
        if self.wanted == "key":
            return "Show a requester's key: Authorization: Bearer qck_..."
        if self.shown is None:
            return "Show a credential: Authorization: Bearer qcw_..."
        return "Join the campaign first."


def asker_of(scope: Scope, headers: Headers) -> Asker:
    """Read the key or credential of a request from its path and headers."""
    path = scope["path"]
    anybody = Asker(is_public=_PUBLIC.fullmatch(path) is not None)
    if scope["method"] not in _METHODS:
        return anybody  # no route has it
    token = (headers.get("authorization") or "").partition(" ")[2].strip()
    if _REQUESTERS.fullmatch(path):
        return Asker(shown=_shown(token, _OF_REQUESTERS), wanted="key")
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
    """Authentication and rate limits of requests.

    `limits` apply to a key or credential, or to a source without one. `joins` limit the new workers
    of a source in open campaigns. `hold_back` delays a rejection.
    """

    lookups: Lookups
    limits: RateLimits
    joins: JoinLimits
    hold_back: Callable[[], Awaitable[None]]

    async def admit(self, asker: Asker, request: HTTPConnection) -> None:
        """Raise ProblemError unless the body of the request may be read.

        The credential of a join is new. Its invite is part of the body, and checked later.
        """
        if asker.wanted is None:
            if asker.is_public:
                await self._count(self.joins.sources.of_request(request))
            return
        if asker.joins is not None and asker.shown is not None:
            await self._count(self.joins.sources.of_request(request))
            await self._require_room(asker.joins, asker.shown, request)
            return
        if asker.shown is None or not await self._is_known(asker.shown):
            await self._count(ANONYMOUS)
            if asker.is_brief:
                return
            raise ProblemError("credential", asker.refusal)
        if not self.limits.allow(asker.name):
            raise ProblemError("too-many-requests", "Wait a moment.")

    async def _require_room(self, campaign: bytes, shown: Shown, request: HTTPConnection) -> None:
        """Raise if the worker is new to an open campaign and the source has no joins left."""
        if self.joins.has_room(request):
            return
        if not await self.lookups.is_known(Shown("open-campaign", campaign), remember=False):
            return
        if await self.lookups.is_known(shown, remember=False):
            return
        await self.hold_back()
        raise self.joins.refusal()

    async def _is_known(self, shown: Shown) -> bool:
        return await self.lookups.is_known(shown, remember=shown.kind != "code")  # used once

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
