"""HTTP client of a worker's device, which repeats a request until it is answered.

Requests reveal nothing about the device: a constant user agent, no cookies, no redirects. A retry
is identical byte for byte. Answers are limited in bytes and seconds, and not compressed: a few
bytes can expand without limit. The first request imports httpx, which takes long.
"""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.folder import CampaignFolder, Membership
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.images import SUFFIXES, image_kind, named_images
from quietcrowd.campaign.terms.plain_text import one_line, problem_name, refusal
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.campaign.terms.settings import (
    MAX_IMAGE,
    MAX_IMAGE_BYTES,
    MAX_IMAGES,
    MAX_TASK_TEXT,
    MAX_TASKS,
)
from quietcrowd.campaign.terms.tokens import hide_tokens
from quietcrowd.exceptions import CampaignError, UnansweredError

if TYPE_CHECKING:
    import httpx

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TIMEOUT = 30.0  # maximum silence of a server, in seconds
DEADLINE = 120.0  # maximum time from the start of a request to the end of its answer, in seconds

MAX_ANSWER = 4 * MAX_TASK_TEXT + 200 * MAX_TASKS
"""Maximum bytes of an answer; the longest contains all tasks of a campaign."""

_UNAUTHORIZED = 401
_TRY_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_HEADERS = {
    "User-Agent": "quietcrowd",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}


@define(kw_only=True, eq=False)
class Deadline:
    """Time limit, in seconds, of a whole request, after which its connection is cut.

    A limit for each read does not suffice: a server could send one byte at a time forever.
    """

    seconds: float
    over: bool = field(default=False, init=False)
    _socket: socket.socket | None = field(default=None, init=False, repr=False)
    _timer: threading.Timer = field(init=False, repr=False)

    def __enter__(self) -> Deadline:
        self._timer = threading.Timer(self.seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Remember the request's connection; httpx calls this as its extension ``trace``."""
        stream = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and stream is not None:
            self._socket = stream.get_extra_info("socket")
        self.require()

    def require(self) -> None:
        """Raise httpx.ReadTimeout if the deadline has passed."""
        if self.over:
            raise self.error

    @property
    def error(self) -> httpx.ReadTimeout:
        """Error for a passed deadline."""
        import httpx

        return httpx.ReadTimeout(f"there was no whole answer within {self.seconds:g} s")

    def _cut(self) -> None:
        self.over = True
        connection = self._socket
        if connection is not None:
            with suppress(OSError):  # it is closed already
                # SSLSocket.shutdown would continue without encryption
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


@frozen(kw_only=True, eq=False)
class CampaignServer:
    """Server of a campaign; `patience` is how long to retry a request, in seconds."""

    link: CampaignLink
    patience: float
    transport: httpx.BaseTransport | None = field(default=None, repr=False)

    def read_campaign(self) -> dict[str, Any]:
        """Return the public campaign document; errors as in `ask` and `read_object`."""
        return read_object(self.ask("GET", self._campaign))

    def join(self, member: Membership) -> dict[str, Any]:
        """Join with the link's invite, if any, having agreed to a configuration.

        Returns the server's record of the worker.
        """
        body: dict[str, Any] = {"config_hash": member.config_hash}
        if self.link.invite is not None:
            body["invite"] = self.link.invite
            if member.code is not None:
                body |= {"code": member.code, "continues": member.continues}
        for name in ("choice", "slot"):
            if getattr(member, name) is not None:
                body[name] = getattr(member, name)
        path = f"{self._campaign}/participants/{member.participant}"
        content = canonical_json(body)
        answer = self.ask("PUT", path, content=content, credential=member.credential)
        if (
            problem_name(answer) == "withdrawn"
        ):  # this device has not withdrawn: it has the credential
            raise CampaignError("campaign.place-moved")
        return read_object(answer)

    def take_place(self, credential: str) -> None:
        """Spend the invite, so that no other device can send with it."""
        answer = self.ask("PUT", "/me/place", credential=credential)
        if answer.status_code == _UNAUTHORIZED:
            raise CampaignError("campaign.place-moved")
        require_success(answer)

    def read_tasks(self, credential: str) -> dict[str, Any]:
        """Return all tasks of the campaign."""
        return read_object(self.ask("GET", "/me/tasks", credential=credential))

    def read_image(self, sha256: str, credential: str) -> bytes:
        """Return the bytes of an image; the caller verifies its hash."""
        answer = self.ask("GET", f"/me/images/{sha256}", credential=credential)
        return require_success(answer).content

    def send(self, content: bytes, credential: str) -> dict[str, Any]:
        """Send reports and return the server's response."""
        return read_object(self.ask("POST", "/me/reports", content=content, credential=credential))

    def read_reports(self, credential: str) -> dict[str, Any]:
        """Return the server's data of a worker."""
        return read_object(self.ask("GET", "/me/reports", credential=credential))

    def withdraw(self, credential: str) -> None:
        """Delete a worker and all reports; no error if the server does not know the worker."""
        answer = self.ask("DELETE", "/me", credential=credential)
        if answer.status_code != _UNAUTHORIZED:
            require_success(answer)

    @property
    def _campaign(self) -> str:
        return f"/public/campaigns/{self.link.campaign}"

    def ask(
        self, method: str, path: str, *, content: bytes = b"", credential: str | None = None
    ) -> httpx.Response:
        """Return the response, also one that rejects; raise UnansweredError if `patience` ends."""
        headers = dict(_HEADERS)
        if credential is not None:
            headers["Authorization"] = f"Bearer {credential}"
        until, pause = time.monotonic() + self.patience, FIRST_PAUSE
        while True:
            answer = self._once(method, path, content, headers)
            asked = 0.0
            if not isinstance(answer, Exception):
                if answer.status_code not in _TRY_AGAIN:
                    return answer
                asked = _retry_after(answer)
            wait = max(pause, asked)
            if time.monotonic() + wait > until:
                raise self._unanswered(answer, wait)
            sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> httpx.Response | httpx.RequestError:
        """Send a request over a new connection, so that requests share no state."""
        import httpx

        local = self.link.local
        url = f"{self.link.server}/api/v1{path}"
        with Deadline(seconds=DEADLINE) as deadline:
            try:
                with (
                    httpx.Client(
                        headers=headers,
                        timeout=TIMEOUT,
                        verify=not local,
                        trust_env=not local,  # no proxy within this machine
                        transport=self.transport,
                    ) as client,
                    client.stream(
                        method, url, content=content or None, extensions={"trace": deadline.watch}
                    ) as answer,
                ):
                    whole = _read(answer)
                    deadline.require()  # a cut connection can look like the end of the answer
                    return whole
            except httpx.RequestError as error:
                return deadline.error if deadline.over else error
            except httpx.InvalidURL as error:
                raise CampaignError(
                    "campaign.server-without-address", server=self.link.server, error=error
                ) from None

    def _unanswered(
        self, answer: httpx.Response | httpx.RequestError, wait: float
    ) -> UnansweredError:
        server = self.link.server
        if isinstance(answer, Exception):
            reason = hide_tokens(one_line(str(answer))) or type(answer).__name__
            return UnansweredError("campaign.server-unreachable", server=server, reason=reason)
        return UnansweredError(
            "campaign.server-unavailable", server=server, reason=refusal(answer), wait=wait
        )


def _read(answer: httpx.Response) -> httpx.Response:
    import httpx

    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise CampaignError("campaign.response-compressed")
    parts, size = [], 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > MAX_ANSWER:
            raise CampaignError("campaign.response-too-long", max_answer=MAX_ANSWER)
        parts.append(part)
    return httpx.Response(answer.status_code, headers=answer.headers, content=b"".join(parts))


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())


def require_success(response: httpx.Response) -> httpx.Response:
    """Return a response; raise CampaignError if it is an error or a redirect."""
    if response.is_success:
        return response
    if response.is_redirect:
        raise CampaignError("campaign.redirected")
    raise CampaignError("campaign.server-refuses", reason=hide_tokens(refusal(response)))


def read_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object in a response; raise CampaignError if it has none."""
    try:
        value = require_success(response).json()
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CampaignError("campaign.not-a-campaign")
    return value


def fetch_images(
    tasks: Sequence[CampaignTask], folder: CampaignFolder, server: CampaignServer, credential: str
) -> None:
    """Fetch images of tasks that are not stored yet; raise CampaignError if not as named."""
    named = named_images(task.data for task in tasks)
    if len(named) > MAX_IMAGES:
        raise CampaignError("campaign.too-many-images", count=len(named), max_images=MAX_IMAGES)
    kept, size = folder.images(), 0
    for sha256 in named:
        path = kept.get(sha256) or _fetch(sha256, folder, server, credential)
        size += path.stat().st_size
        if size > MAX_IMAGE_BYTES:
            raise CampaignError("campaign.images-too-large", max_image_bytes=MAX_IMAGE_BYTES)


def _fetch(sha256: str, folder: CampaignFolder, server: CampaignServer, credential: str) -> Path:
    content = server.read_image(sha256, credential)
    if len(content) > MAX_IMAGE or hashlib.sha256(content).hexdigest() != sha256:
        raise CampaignError("campaign.image-changed", sha256=sha256)
    try:
        kind = image_kind(content)
    except ValueError as error:
        raise CampaignError("campaign.image-invalid", sha256=sha256, error=error) from None
    return folder.keep_image(sha256 + SUFFIXES[kind], content)
