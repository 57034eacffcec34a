"""Who asks: what a request shows for itself is looked up before its body is read.

Which of them a route is for follows from its path. All who show nothing that is known, where a
route wants something, share what one key or credential may ask. Where the interface wants nothing,
each source may ask so much: who floods keeps nobody else from reading what a campaign is. Requests
to join count as these do, whatever invite they hold: otherwise the limit that applies would show
whether an invite was used. Who is new to a campaign that is open to all, from a source that may
bring nobody more, is refused as early. Each of those who are refused waits for a second first.

Files of pages are not counted: a page loads many, and one costs no more than a refusal does.
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
"""What is asked of the interface without a credential; of its health everybody may ask."""

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""HEAD is handled as GET."""

_OF_REQUESTERS: dict[Prefix, Kind] = {"qck_": "key", "qcr_": "token", "qcd_": "code"}
_OF_WORKERS: dict[Prefix, Kind] = {"qcw_": "credential"}

_BRIEF = ("code", "token")
"""What is good for a while, and lets nobody send anything: the routes say why it is no more."""


@frozen(kw_only=True)
class Asker:
    """What a request shows for itself.

    Attributes
    ----------
    shown : Shown or None
        A key, credential or the like of a kind that the route wants; None where it wants none or
        is shown nothing of the kind.
    wanted : {"key", "credential"}, optional
        What the route wants; what it takes in the place of a key is the route's to say.
    joins : bytes, optional
        The campaign that is joined: with a credential that nobody knows yet.
    is_public : bool
        Whether it asks the interface for what wants none: that is counted by where it comes from.
    """

    shown: Shown | None = None
    wanted: Literal["key", "credential"] | None = None
    joins: bytes | None = None
    is_public: bool = False

    @property
    def name(self) -> bytes:
        """By which it is counted; all who show nothing have one, and all who join."""
        if self.joins is not None:
            return NEWCOMER
        return ANONYMOUS if self.shown is None else self.shown.hash

    @property
    def most(self) -> int:
        """Most bytes of its body."""
        small = self.wanted is None or self.joins is not None or self.is_brief
        return MAX_SMALL_BODY if small else MAX_BODY

    @property
    def is_brief(self) -> bool:
        """Whether it shows a code or a token of a dashboard."""
        return self.shown is not None and self.shown.kind in _BRIEF

    @property
    def refusal(self) -> str:
        """What to do where it is not known."""
        if self.wanted == "key":
            return "Show a requester's key: Authorization: Bearer qck_..."
        if self.shown is None:
            return "Show a credential: Authorization: Bearer qcw_..."
        return "Join the campaign first."


def asker_of(scope: Scope, headers: Headers) -> Asker:
    """Return what a request shows, by its path and its header."""
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
    """Lets those in who are known, and few of the others.

    Attributes
    ----------
    lookups : Lookups
        Says who is known.
    limits : RateLimits
        How often a key or credential may ask, or a source without one.
    joins : JoinLimits
        How many workers one source brings into campaigns that are open to all.
    hold_back : callable
        Waits before too frequent a stranger is refused.
    """

    lookups: Lookups
    limits: RateLimits
    joins: JoinLimits
    hold_back: Callable[[], Awaitable[None]]

    async def admit(self, asker: Asker, request: HTTPConnection) -> None:
        """Let a request in before its body is read; or raise ProblemError.

        Those who join show something new: what vouches for them stands in the body.

        Parameters
        ----------
        asker : Asker
            What the request shows for itself.
        request : HTTPConnection
            Says where it comes from.
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
        """Refuse who is new to a campaign that is open to all, where a source brings too many."""
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
        """Count a request of somebody unknown; where there are too many, wait and raise."""
        if self.limits.allow(stranger):
            return
        await self.hold_back()
        raise ProblemError("too-many-requests", "Wait a moment.")

    def learn(self, asker: Asker, status: int) -> None:
        """Remember what an answer says of who asked."""
        if asker.shown is None:
            return
        if asker.joins is not None and status in (200, 201):
            self.lookups.learn(asker.shown)
        elif asker.shown.kind == "credential" and asker.joins is None and status == 401:
            self.lookups.forget(asker.shown)
