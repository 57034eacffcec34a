"""The files that pages consist of, as they lie in the package, and their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from attrs import frozen

__all__ = [
    "DASHBOARD",
    "PAGE",
    "SERVICE_WORKER",
    "WORKER",
    "PageFile",
    "fill",
    "html_file",
    "policy_hash",
]

_MEDIA = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
}

PAGE = "index.html"
"""What a browser loads first."""

SERVICE_WORKER = "service_worker.js"
"""What works without a network; it has an address of its own."""


@frozen(kw_only=True)
class PageFile:
    """A file of a page.

    Attributes
    ----------
    content : bytes
        As it is served.
    media_type : str
        What it is.
    """

    content: bytes
    media_type: str

    @property
    def text(self) -> str:
        """The file as a text."""
        return self.content.decode()

    @property
    def integrity(self) -> str:
        """Its SHA-384, as browsers are told it: ``sha384-`` and base64."""
        return _named_hash("sha384", self.content)


def html_file(text: str) -> PageFile:
    """Return a text as a file that a browser shows."""
    return PageFile(content=text.encode(), media_type=_media_type(PAGE))


def fill(template: str, places: Mapping[str, str]) -> str:
    """Return a template with its places filled; what is filled in is not looked through.

    Parameters
    ----------
    template : str
        A text.
    places : mapping of str to str
        What is to stand instead of a part of it.

    Raises
    ------
    ValueError
        Where a part is not there once.
    """
    for place in places:
        if template.count(place) != 1:
            raise ValueError(f"{place!r} must be there once; it is {template.count(place)} times")
    starts = sorted((template.index(place), place) for place in places)
    filled, end = [], 0
    for start, place in starts:
        filled += [template[end:start], places[place]]
        end = start + len(place)
    return "".join([*filled, template[end:]])


def policy_hash(text: str) -> str:
    """Return what a content security policy names an inline text by."""
    return f"'{_named_hash('sha256', text.encode())}'"


def _named_hash(name: str, content: bytes) -> str:
    digest = hashlib.new(name, content).digest()
    return f"{name}-{base64.b64encode(digest).decode()}"


def _media_type(path: str) -> str:
    return f"{_MEDIA[PurePosixPath(path).suffix]}; charset=utf-8"


def _walk(folder: Traversable, within: str = "") -> Iterator[tuple[str, PageFile]]:
    """Give all files of a folder, by their paths."""
    for entry in folder.iterdir():
        path = f"{within}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        else:
            yield path, PageFile(content=entry.read_bytes(), media_type=_media_type(path))


def _read_files(page: str) -> Mapping[str, PageFile]:
    """Return the files of a page by their paths, in order."""
    return dict(sorted(_walk(files(__package__) / page)))


DASHBOARD = _read_files("dashboard")
WORKER = _read_files("worker")
"""All that is ever served: nothing is looked up on the disk by a name that came in."""
