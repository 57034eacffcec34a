"""What every request passes: size, rate, log, headers, and a catch for what nobody foresaw."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from attrs import define
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietcrowd.campaign.logs import log_failure, log_request
from quietcrowd.campaign.problems import ProblemError, as_response
from quietcrowd.campaign.rate_limits import RateLimits
from quietcrowd.campaign.settings import MAX_BODY

__all__ = ["Gate"]

TOO_LARGE = 413

_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@define
class Gate:
    """The outermost layer of the application."""

    app: ASGIApp
    limits: RateLimits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.monotonic(), {"status": 0}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                MutableHeaders(scope=message).update(_HEADERS)
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
        problem = self._refusal(Headers(scope=scope))
        if problem is not None:
            await as_response(problem)(scope, receive, send)
            return
        total = 0

        async def receive_some() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > MAX_BODY:
                raise HTTPException(TOO_LARGE)  # the one kind that FastAPI lets through
            return message

        await self.app(scope, receive_some, send)

    def _refusal(self, headers: Headers) -> ProblemError | None:
        length: Any = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY:
            return ProblemError("too-large", f"A request has at most {MAX_BODY:,} bytes.")
        credential = headers.get("authorization")
        if credential is not None and not self.limits.allow(credential.encode("latin-1")):
            return ProblemError("too-many-requests", "Wait a moment.")
        return None
