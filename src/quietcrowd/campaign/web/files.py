"""The files of pages in the package, and their hashes."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from attrs import frozen

_MEDIA = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}

PAGE = "index.html"
SERVICE_WORKER = "service_worker.js"


@frozen(kw_only=True)
class PageFile:
    """A file of a page, as it is served."""

    content: bytes
    media_type: str

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode()

    @property
    def integrity(self) -> str:
        """SHA-384 for integrity attributes: ``sha384-`` and base64."""
        return _named_hash("sha384", self.content)


def html_file(text: str) -> PageFile:
    """Return an HTML file."""
    return PageFile(content=text.encode(), media_type=_media_type(PAGE))


def fill(template: str, places: Mapping[str, str]) -> str:
    """Replace each placeholder, which must occur once; replacements are not searched for others."""
    for place in places:
        if template.count(place) != 1:
            raise ValueError(f"{place!r} must occur once; it occurs {template.count(place)} times")
    starts = sorted((template.index(place), place) for place in places)
    filled, end = [], 0
    for start, place in starts:
        filled += [template[end:start], places[place]]
        end = start + len(place)
    return "".join([*filled, template[end:]])


def policy_hash(text: str) -> str:
    """Return the hash of an inline text in the form of a content security policy."""
    return f"'{_named_hash('sha256', text.encode())}'"


def _named_hash(name: str, content: bytes) -> str:
    digest = hashlib.new(name, content).digest()
    return f"{name}-{base64.b64encode(digest).decode()}"


def _media_type(path: str) -> str:
    return f"{_MEDIA[PurePosixPath(path).suffix]}; charset=utf-8"


def _walk(folder: Traversable, within: str = "") -> Iterator[tuple[str, PageFile]]:
    for entry in folder.iterdir():
        path = f"{within}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        else:
            yield path, PageFile(content=entry.read_bytes(), media_type=_media_type(path))


def _read_files(page: str) -> Mapping[str, PageFile]:
    return dict(sorted(_walk(files(__package__) / page)))


WORKER = _read_files("worker")
PREVIEW = _read_files("preview")
STUDIO = {
    **_read_files("studio"),
    **{name: WORKER[f"page/{name}"] for name in ("elements.js", "qr.js")},
}
"""All files that are ever served: no name in a request is looked up on disk."""
