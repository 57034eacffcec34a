"""Routes of the pages, which are public and without data; an address with a query is rejected."""

import gzip
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from typing_extensions import override

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store.requesters import Shown
from quietcrowd.campaign.terms.server_address import address_of_host
from quietcrowd.campaign.web.files import PAGE, SERVICE_WORKER, STUDIO, PageFile, html_file
from quietcrowd.campaign.web.preview_page import PREVIEW_PAGE, PREVIEW_POLICY
from quietcrowd.campaign.web.worker_page import (
    ANY_CAMPAIGN,
    MANIFEST,
    SERVED,
    WORKER_PAGE,
    WORKER_POLICY,
    saved_page,
)
from quietcrowd.exceptions import ParameterError

_NO_QUERY = html_file(
    """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Invalid address</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../worker/worker.css">
<main>
<h1>Invalid address</h1>
<p>The part of this address after the question mark could identify you. The server did not store
  it, and did not start anything. Remove the question mark and everything between it and the sign #,
  if there is one. Or ask for a link without it.</p>
</main>
</html>
"""
)


class _WithoutQuery(APIRoute):
    """A page route that rejects an address with a query before it reads anything else."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def reject_query(request: Request) -> Response:
            if request.scope["query_string"]:
                return _response(request, _NO_QUERY, status=400)
            return await answer(request)

        return reject_query


router = APIRouter(include_in_schema=False, route_class=_WithoutQuery)

_STUDIO_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The header ``Content-Security-Policy`` of the studio: its preview is a frame."""


_GZIPPED: Mapping[PageFile, bytes] = {
    file: gzip.compress(file.content, mtime=0)
    for file in (*STUDIO.values(), *SERVED.values(), WORKER_PAGE, PREVIEW_PAGE, MANIFEST)
}


def _accepts_gzip(request: Request) -> bool:
    for one in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, weight = one.replace(" ", "").partition(";q=")
        if coding == "gzip":
            return weight == "" or weight.strip("0.") != ""
    return False


def _response(
    request: Request, file: PageFile, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    all_headers, content = {"Vary": "Accept-Encoding", **(headers or {})}, file.content
    if file in _GZIPPED and _accepts_gzip(request):
        all_headers["Content-Encoding"], content = "gzip", _GZIPPED[file]
    return Response(content, status, all_headers, media_type=file.media_type)


def _found(request: Request, files: Mapping[str, PageFile], path: str) -> Response:
    """Return a file; browsers may store it, and ask every time whether it has changed."""
    file = files.get(path)
    if file is None:
        raise ProblemError("not-found", "The page or file does not exist.")
    coding = "-gzip" if _accepts_gzip(request) else ""
    headers = {"Cache-Control": "no-cache", "ETag": f'"{file.integrity}{coding}"'}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(None, 304, {"Vary": "Accept-Encoding", **headers})
    return _response(request, file, headers=headers)


@router.get("/")
async def redirect_to_studio() -> Response:
    """Redirect to the studio; workers have other links."""
    return RedirectResponse("dashboard/")


@router.get("/dashboard")
@router.get("/dashboard/")
async def studio(request: Request) -> Response:
    """Return the studio; redirect to the path with a slash, which its relative paths require."""
    if not request.scope["path"].endswith("/"):
        return RedirectResponse("dashboard/")
    return _studio(request)


@router.get("/dashboard/{campaign}")
async def studio_of_campaign(campaign: Id, request: Request) -> Response:  # noqa: ARG001
    """Return the studio, which is the same page for all campaigns."""
    return _studio(request)


def _studio(request: Request) -> Response:
    return _response(request, STUDIO[PAGE], headers={"Content-Security-Policy": _STUDIO_POLICY})


@router.get("/dashboard/preview/j/{campaign}")
async def preview(campaign: Id, request: Request) -> Response:  # noqa: ARG001
    """Return the worker page for a preview, which gets its campaign from the studio around it."""
    headers = {"Content-Security-Policy": PREVIEW_POLICY}
    return _response(request, PREVIEW_PAGE, headers=headers)


@router.get("/web/studio/{name}")
async def studio_file(name: str, request: Request) -> Response:
    """Return a file of the studio."""
    return _found(request, STUDIO, name)


@router.get(f"/j/{SERVICE_WORKER}")
async def service_worker(request: Request) -> Response:
    """Return the service worker of the worker page; its path determines which pages it controls."""
    return _found(request, SERVED, f"j/{SERVICE_WORKER}")


@router.get("/j/{campaign}")
async def page_for_workers(campaign: Id, request: Request) -> Response:
    """Return the worker page, the same for all campaigns.

    The status is 404 for an unknown campaign, which the page reports. Lookups are batched, because
    anyone may request any campaign frequently.
    """
    lookups, shown = request.app.state.admission.lookups, Shown("campaign", bytes.fromhex(campaign))
    known = campaign == ANY_CAMPAIGN or await lookups.is_known(shown, remember=False)
    headers = {"Content-Security-Policy": WORKER_POLICY}
    if known and campaign != ANY_CAMPAIGN:
        about = f"../api/v1/public/campaigns/{campaign}"
        headers["Link"] = ", ".join(
            f"<{url}>; rel=preload; as=fetch; crossorigin" for url in (about, f"{about}/config")
        )
    return _response(request, WORKER_PAGE, 200 if known else 404, headers=headers)


@router.get("/worker/manifest.json")
async def manifest(request: Request) -> Response:
    """Return the hashes of all files of the worker page."""
    return _response(request, MANIFEST)


@router.get("/worker/saved.html")
async def save_page(request: Request) -> Response:
    """Return the worker page as one file, which contains this server's address."""
    try:
        server = request.app.state.address or address_of_host(request.headers.get("host", ""))
    except ParameterError:
        raise ProblemError("malformed", "Use the host name of the server.") from None
    return _response(
        request,
        saved_page(server),
        headers={"Content-Disposition": 'attachment; filename="quietcrowd.html"'},
    )


@router.get("/worker/{path:path}")
async def worker_file(path: str, request: Request) -> Response:
    """Return a file of the worker page."""
    return _found(request, SERVED, f"worker/{path}")
