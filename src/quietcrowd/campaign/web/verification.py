"""Check that a server serves the worker page of this release, as far as one check can show."""

import hashlib
import json
import zlib
from collections.abc import Iterator
from typing import TypeAlias

import httpx
from attrs import asdict, frozen

import quietcrowd
from quietcrowd.campaign.device.http_client import DEADLINE, TIMEOUT, Deadline
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.server_address import address_in_page
from quietcrowd.campaign.web.files import PageFile
from quietcrowd.campaign.web.worker_page import (
    ANY_CAMPAIGN,
    MANIFEST,
    SERVED,
    WORKER_PAGE,
    WORKER_POLICY,
    saved_page,
)
from quietcrowd.exceptions import CampaignError, ParameterError

_ANY_PAGE = f"j/{ANY_CAMPAIGN}"
_NOT_FOUND = 404
_MOST_BYTES = 2**20
_MOST_NAMES = 20
_LATER = (408, 429, 500, 502, 503, 504)
_MANIFEST, _SAVED = "worker/manifest.json", "worker/saved.html"
_POLICY = "content-security-policy"

_Answer: TypeAlias = httpx.Response


@frozen(kw_only=True)
class Difference:
    """A file that a server serves differently; `path` is relative to the server's address."""

    path: str
    reason: str


@frozen(kw_only=True)
class Verification:
    """The result of a comparison between a server and a release.

    Attributes
    ----------
    version : str
        The release.
    files : int
        Number of requested files.
    saved_page : str or None
        SHA-384 in hex of this server's saved page in this release; None if no page can contain the
        server's address.
    """

    server: str
    version: str
    files: int
    saved_page: str | None
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def to_dict(self) -> dict[str, object]:
        """Return the result as a JSON-ready dict."""
        return {**asdict(self), "same": self.same}


def verify_server(
    server: str, campaign: str = ANY_CAMPAIGN, *, transport: httpx.BaseTransport | None = None
) -> Verification:
    """Compare a server's worker page with this release, or raise CampaignError."""
    expected = dict(SERVED)
    expected[f"j/{campaign}"] = WORKER_PAGE
    saved = _saved(server)
    if saved is not None:
        expected[_SAVED] = saved
    local = server.startswith("http:")
    with httpx.Client(
        headers={"Accept-Encoding": "gzip"},  # as browsers send it
        timeout=TIMEOUT,
        verify=not local,
        trust_env=not local,
        transport=transport,
    ) as client:
        found = [*_compare_manifest(_get(client, server, _MANIFEST))]
        for path, file in expected.items():
            answer = _get(client, server, path)
            if answer.status_code == _NOT_FOUND and path == f"j/{campaign}" != _ANY_PAGE:
                raise CampaignError("campaign.page-campaign-unknown", server=server)
            found += _compare(path, answer, file, server)
    return Verification(
        server=server,
        version=quietcrowd.__version__,
        files=len(expected) + 1,
        saved_page=None if saved is None else hashlib.sha384(saved.content).hexdigest(),
        differences=tuple(found),
    )


def _saved(server: str) -> PageFile | None:
    try:
        return saved_page(address_in_page(server))
    except ParameterError:
        return None


def _get(client: httpx.Client, server: str, path: str) -> _Answer:
    """Return the response, possibly cut off; raise CampaignError without one."""
    with Deadline(seconds=DEADLINE) as deadline:
        try:
            with client.stream(
                "GET", f"{server}/{path}", extensions={"trace": deadline.watch}
            ) as answer:
                whole = _read(answer)
                deadline.require()
        except (httpx.RequestError, httpx.InvalidURL) as error:
            shown = deadline.error if deadline.over else error
            raise CampaignError(
                "campaign.page-server-unreachable", server=server, reason=one_line(str(shown))
            ) from None
    if whole.status_code in _LATER:
        raise CampaignError(
            "campaign.page-file-refused", server=server, path=path, status=whole.status_code
        )
    return whole


def _read(answer: _Answer) -> _Answer:
    content = b""
    for part in answer.iter_raw():
        content += part
        if len(content) > _MOST_BYTES:
            break
    if answer.headers.get("content-encoding") == "gzip":
        content = _unpacked(content)
    headers = {name: answer.headers.get(name, "") for name in (_POLICY, "content-type")}
    return httpx.Response(answer.status_code, headers=headers, content=content)


def _unpacked(content: bytes) -> bytes:
    """Decompress one whole gzip member; return nothing, which differs, for all else."""
    member = zlib.decompressobj(wbits=31)
    try:
        unpacked = member.decompress(content, _MOST_BYTES)
    except zlib.error:
        return b""
    return unpacked if member.eof and not member.unused_data else b""


def _compare(path: str, answer: _Answer, file: PageFile, server: str) -> Iterator[Difference]:
    reason = None
    if answer.status_code != 200:
        reason = f"is missing: status {answer.status_code}"
    elif answer.content != file.content:
        there = PageFile(content=answer.content, media_type="").integrity
        reason = f"differs: {there}, in this release {file.integrity}"
        elsewhere = saved_page("/".join(server.split("/")[:3]))  # knows no path in its address
        if path == _SAVED and answer.content == elsewhere.content:
            reason = "contains another server address: use quietcrowd serve --public-url"
    elif answer.headers["content-type"] != file.media_type:
        reason = f"has the media type {one_line(answer.headers['content-type'])!r}"
    if reason is not None:
        yield Difference(path=path, reason=reason)
    if file is WORKER_PAGE and answer.headers[_POLICY] != WORKER_POLICY:
        yield Difference(path=path, reason="has another content security policy")


def _compare_manifest(answer: _Answer) -> Iterator[Difference]:
    if answer.status_code == 200 and answer.content == MANIFEST.content:
        return
    for reason in _manifest_reasons(answer):
        yield Difference(path=_MANIFEST, reason=reason)


def _manifest_reasons(answer: _Answer) -> list[str]:
    if answer.status_code != 200:
        return [f"is missing: status {answer.status_code}"]
    ours = json.loads(MANIFEST.text)
    try:
        theirs = json.loads(answer.content)
        version, files = theirs["version"], theirs["files"]
        strange = sorted(files.keys() - ours["files"].keys())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ["cannot be read"]
    reasons = [
        f"lists {one_line(str(name))[:100]}, which is not in this release"
        for name in strange[:_MOST_NAMES]
    ]
    if version != ours["version"]:
        reasons.insert(0, f"has version {one_line(str(version))[:100]}, not {ours['version']}")
    return reasons or ["differs from the list of this release"]
