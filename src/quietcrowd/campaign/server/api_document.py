"""The OpenAPI document, rendered once and cached."""

from __future__ import annotations

import asyncio
import hashlib

from attrs import define, field
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from quietcrowd.campaign.server.etags import known_already, not_modified
from quietcrowd.campaign.terms.settings import PREFIX

PATH = f"{PREFIX}/openapi.json"


@define
class ApiDocument:
    """Cached OpenAPI document of an application."""

    app: FastAPI
    _rendered: tuple[bytes, str] | None = field(default=None, init=False)
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    async def answer(self, request: Request) -> Response:
        """Return the document, or 304 if the client has it."""
        async with self._lock:
            if self._rendered is None:
                self._rendered = await run_in_threadpool(self._render)
        content, tag = self._rendered
        if known_already(tag, request.headers.get("if-none-match")):
            return not_modified(tag)
        return Response(content, headers={"ETag": tag}, media_type="application/json")

    def _render(self) -> tuple[bytes, str]:
        content = bytes(JSONResponse(self.app.openapi()).body)
        return content, f'"{hashlib.sha256(content).hexdigest()}"'
