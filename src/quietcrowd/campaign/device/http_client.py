"""How a worker's device speaks to a server: the same request until it is answered.

Requests say nothing of the device: one constant user agent, no cookies, no redirects followed. A
request that was not answered is sent again, byte by byte the same, after a pause that is as long as
the server asks for, or doubles. An answer has a most of bytes and of seconds, and is read as it is:
a packed one, which a few bytes can make as long as they like, is refused.

httpx is loaded with the first request: it brings a command line of its own, which takes as long as
all modules of a device.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.plain_text import one_line, refusal
from quietcrowd.campaign.terms.settings import MAX_TASK_TEXT, MAX_TASKS
from quietcrowd.campaign.terms.tokens import hide_tokens
from quietcrowd.exceptions import CampaignError, UnansweredError

if TYPE_CHECKING:
    import httpx

__all__ = ["CampaignServer", "Deadline", "read_object", "require_success"]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TIMEOUT = 30.0
"""Longest silence of a server, in seconds."""

DEADLINE = 120.0
"""Longest time from the beginning of a request to the end of its answer, in seconds."""

MAX_ANSWER = 4 * MAX_TASK_TEXT + 200 * MAX_TASKS
"""Most bytes of an answer: of the longest, all tasks of a campaign."""

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
    """How long a request may take as a whole: while it is held, its connection is cut in the end.

    A time limit on each read alone has no end, where every read brings a byte.

    Parameters
    ----------
    seconds : float
        From the moment from which it is held.

    Attributes
    ----------
    over : bool
        Whether it has passed: then what was read may be cut off.
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
        """Learn of a request's connection: httpx calls this as its extension ``trace``.

        Raises
        ------
        httpx.ReadTimeout
            Where the deadline has passed.
        """
        stream = info.get("return_value")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")) and stream is not None:
            self._socket = stream.get_extra_info("socket")
        self.require()

    def require(self) -> None:
        """Raise httpx.ReadTimeout where the deadline has passed."""
        if self.over:
            raise self.error

    @property
    def error(self) -> httpx.ReadTimeout:
        """What is told where the deadline has passed."""
        import httpx

        return httpx.ReadTimeout(f"there was no whole answer within {self.seconds:g} s")

    def _cut(self) -> None:
        self.over = True
        connection = self._socket
        if connection is not None:
            with suppress(OSError):  # it is closed already
                # not SSLSocket's: that would go on without encryption
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


@frozen(kw_only=True, eq=False)
class CampaignServer:
    """The server of a campaign.

    Attributes
    ----------
    link : CampaignLink
        Where it is.
    patience : float
        How long a request is tried again, in seconds.
    transport : httpx.BaseTransport or None
        How requests travel; None: through the network.
    """

    link: CampaignLink
    patience: float
    transport: httpx.BaseTransport | None = field(default=None, repr=False)

    def read_campaign(self) -> dict[str, Any]:
        """Return what everybody may know of the campaign; errors as of `ask` and `read_object`."""
        return read_object(self.ask("GET", self._campaign))

    def join(self, participant: str, credential: str, config_hash: str) -> None:
        """Take part, with the link's invite where it has one, having agreed to a configuration."""
        body = {"config_hash": config_hash}
        if self.link.invite is not None:
            body["invite"] = self.link.invite
        path = f"{self._campaign}/participants/{participant}"
        content = canonical_json(body)
        read_object(self.ask("PUT", path, content=content, credential=credential))

    def read_tasks(self, credential: str) -> dict[str, Any]:
        """Return all tasks of the campaign."""
        return read_object(self.ask("GET", "/me/tasks", credential=credential))

    def read_image(self, sha256: str, credential: str) -> bytes:
        """Return the bytes of an image that the tasks name; whether it is that one is not known."""
        answer = self.ask("GET", f"/me/images/{sha256}", credential=credential)
        return require_success(answer).content

    def send(self, content: bytes, credential: str) -> dict[str, Any]:
        """Send reports; return what became of them."""
        return read_object(self.ask("POST", "/me/reports", content=content, credential=credential))

    def read_reports(self, credential: str) -> dict[str, Any]:
        """Return what the server holds of a worker."""
        return read_object(self.ask("GET", "/me/reports", credential=credential))

    def withdraw(self, credential: str) -> None:
        """Have a worker and all reports deleted; whom the server does not know is nobody."""
        answer = self.ask("DELETE", "/me", credential=credential)
        if answer.status_code != _UNAUTHORIZED:
            require_success(answer)

    @property
    def _campaign(self) -> str:
        return f"/public/campaigns/{self.link.campaign}"

    def ask(
        self, method: str, path: str, *, content: bytes = b"", credential: str | None = None
    ) -> httpx.Response:
        """Return what the server answers; refusals too.

        Parameters
        ----------
        method, path : str
            As ``"GET"`` and ``"/me/tasks"``.
        content : bytes
            Sent as it is, each time.
        credential : str, optional
            Of the worker.

        Raises
        ------
        UnansweredError
            Where nothing but failures came until patience ended.
        CampaignError
            Where an answer is packed, or longer than any answer can be.
        """
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
                raise UnansweredError(self._unanswered(answer, asked))
            sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> httpx.Response | httpx.RequestError:
        """Send a request over a connection of its own; what is in no request cannot be in it."""
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
                        trust_env=not local,  # a proxy is for what leaves this machine
                        transport=self.transport,
                    ) as client,
                    client.stream(
                        method,
                        url,
                        content=content or None,
                        extensions={"trace": deadline.watch},
                    ) as answer,
                ):
                    whole = _read(answer)
                    deadline.require()  # a cut may look like an end
                    return whole
            except httpx.RequestError as error:
                return deadline.error if deadline.over else error
            except httpx.InvalidURL as error:
                raise CampaignError(
                    f"the server {self.link.server} has no address: {error}"
                ) from None

    def _unanswered(self, answer: httpx.Response | httpx.RequestError, asked: float) -> str:
        if not isinstance(answer, Exception):
            later = f"; it asks to wait {asked:,.0f} s" * (asked > 0)
            return (
                f"the server {self.link.server} does not serve: {refusal(answer)}{later}; try later"
            )
        reason = hide_tokens(one_line(str(answer))) or type(answer).__name__
        return f"the server {self.link.server} cannot be reached: {reason}; try later"


def _read(answer: httpx.Response) -> httpx.Response:
    """Return an answer that is read whole; CampaignError where it cannot be one of a campaign."""
    import httpx

    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise CampaignError(
            "the server compresses its response, which was not requested: it was not read. Ask "
            "whoever invited you"
        )
    parts, size = [], 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > MAX_ANSWER:
            raise CampaignError(
                f"the server's answer is longer than {MAX_ANSWER:,} bytes, which no campaign "
                "needs: the rest was not read. Ask who invited you"
            )
        parts.append(part)
    return httpx.Response(answer.status_code, headers=answer.headers, content=b"".join(parts))


def _retry_after(response: httpx.Response) -> float:
    """Return how many seconds a server asks to wait; 0 where it does not say, or not clearly."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())


def require_success(response: httpx.Response) -> httpx.Response:
    """Return a response; CampaignError where it is a refusal, or leads elsewhere."""
    if response.is_success:
        return response
    if response.is_redirect:
        raise CampaignError(
            "the server redirects requests, and reports are sent only to the server of the "
            "link: ask for a link to the new address"
        )
    raise CampaignError(f"the server refuses: {hide_tokens(refusal(response))}")


def read_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object that a server answered with; CampaignError where it is none."""
    try:
        value = require_success(response).json()
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CampaignError(
            "the server answers with something else than a campaign: check the link"
        )
    return value
