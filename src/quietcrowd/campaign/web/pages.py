"""The routes of pages: public, without data. What a page shows it asks the API for, with a key."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import PurePath

from attrs import frozen
from fastapi import APIRouter, Response

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.schemas import Id

__all__ = ["PageFile", "dashboard", "invitation", "page_file", "router"]

router = APIRouter(include_in_schema=False)

_MEDIA = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}


@frozen(kw_only=True)
class PageFile:
    """A file of a page.

    Attributes
    ----------
    content : bytes
        As it lies in the package.
    media_type : str
        What it is.
    """

    content: bytes
    media_type: str


def _read_files(page: str) -> Mapping[str, PageFile]:
    """Return the files of a page by their names."""
    return {
        file.name: PageFile(
            content=file.read_bytes(),
            media_type=f"{_MEDIA[PurePath(file.name).suffix]}; charset=utf-8",
        )
        for file in (files(__package__) / page).iterdir()
    }


_FILES = {page: _read_files(page) for page in ("dashboard", "join")}
"""All that is ever served: nothing is looked up on the disk by a name that came in."""


def _response(page: str, name: str) -> Response:
    found = _FILES.get(page, {}).get(name)
    if found is None:
        raise ProblemError("not-found", "There is no such page, and no such file of one.")
    return Response(found.content, media_type=found.media_type)


@router.get("/dashboard/{campaign}")
async def dashboard(campaign: Id) -> Response:  # noqa: ARG001
    """Return the page that shows a requester a campaign: the same for all campaigns."""
    return _response("dashboard", "index.html")


@router.get("/j/{campaign}")
async def invitation(campaign: Id) -> Response:  # noqa: ARG001
    """Return the page that tells a worker what to do with a link: the same for all campaigns."""
    return _response("join", "index.html")


@router.get("/web/{page}/{name}")
async def page_file(page: str, name: str) -> Response:
    """Return a file that a page consists of."""
    return _response(page, name)
