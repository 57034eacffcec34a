import gzip
import hashlib
import json
import zlib

import httpx
import pytest

import quietcrowd
from quietcrowd.campaign.web.verification import Verification, verify_server
from quietcrowd.campaign.web.worker_page import (
    ANY_CAMPAIGN,
    MANIFEST,
    SERVED,
    WORKER_PAGE,
    WORKER_POLICY,
    saved_page,
)
from quietcrowd.exceptions import CampaignError

SERVER = "https://crowd.example"
PAGE = f"j/{ANY_CAMPAIGN}"


class Fake(httpx.BaseTransport):
    """A server of files, some of them changed; it counts what it is asked."""

    def __init__(self, changed=None, policy=WORKER_POLICY, server=SERVER, packed=None):
        files = {**SERVED, "worker/manifest.json": MANIFEST, PAGE: WORKER_PAGE}
        files["worker/saved.html"] = saved_page(server)
        self.policy, self.packed = policy, packed
        self.answers = {
            path: (200, file.media_type, file.content) for path, file in files.items()
        } | (changed or {})
        self.asked = []

    def handle_request(self, request):
        path = request.url.path.removeprefix("/")
        self.asked.append(path)
        status, kind, content = self.answers[path]
        headers = {"content-type": kind, "content-security-policy": self.policy}
        if request.headers["accept-encoding"] == "gzip" and self.packed:
            headers["content-encoding"], content = "gzip", self.packed(content)
        parts = iter([content]) if isinstance(content, bytes) else content
        return httpx.Response(status, headers=headers, content=parts)


def differences(changed=None, **members):
    found = verify_server(SERVER, transport=Fake(changed, **members))
    assert found.same == (not found.differences)
    return [(one.path, one.reason) for one in found.differences]


def test_the_files_of_this_release_are_the_same():
    fake = Fake()
    found = verify_server(SERVER, transport=fake)
    assert found == Verification(
        server=SERVER,
        version=quietcrowd.__version__,
        files=len(SERVED) + 3,
        saved_page=hashlib.sha384(saved_page(SERVER).content).hexdigest(),
        differences=(),
    )
    assert found.same
    assert sorted(fake.asked) == sorted(fake.answers)
    assert found.to_dict()["same"] is True


COMPARED = [*SERVED, PAGE, "worker/saved.html"]


def changed(change, paths=COMPARED):
    """Return the answers on some paths after a change of status, media type and content."""
    return {path: change(*Fake().answers[path]) for path in paths}


def with_a_byte_more(status, kind, content):
    return status, kind, content + b"\n"


@pytest.mark.grid
@pytest.mark.parametrize("path", COMPARED)
def test_a_changed_byte_is_found(path):
    [[where, reason]] = differences(changed(with_a_byte_more, [path]))
    assert where == path
    assert reason.startswith("differs: sha384-")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (with_a_byte_more, "differs: sha384-"),
        (lambda _, kind, content: (404, kind, content), "is missing: status 404"),
        (lambda _, kind, content: (301, kind, content), "is missing: status 301"),
        (lambda status, _, content: (status, "text/x", content), "has the media type 'text/x'"),
    ],
    ids=["a byte", "404", "301", "text/x"],
)
def test_every_change_of_every_file_is_found(change, reason):
    found = differences(changed(change))
    assert sorted(where for where, _ in found) == sorted(COMPARED)
    assert all(told.startswith(reason) for _, told in found)


def test_another_policy_is_found():
    assert differences(policy="default-src *") == [(PAGE, "has another content security policy")]


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (b"{", ["cannot be read"]),
        (b"[]", ["cannot be read"]),
        (b'{"version": 1, "files": []}', ["cannot be read"]),
        (b"[" * 100_000, ["cannot be read"]),
        (b'{"version": "9\\u001b", "files": {}}', ["has version 9\ufffd, not "]),
        (b" " + MANIFEST.content, ["differs from the list of this release"]),
        (
            MANIFEST.content.replace(b'"files": {', b'"files": {"worker/evil.js": "",'),
            ["lists worker/evil.js, which is not in this release"],
        ),
    ],
)
def test_another_manifest_is_found(content, reasons):
    path = "worker/manifest.json"
    found = differences({path: (200, "application/json", content)})
    assert [where for where, _ in found] == [path] * len(reasons)
    for (_, reason), told in zip(found, reasons, strict=True):
        assert reason.startswith(told)


def test_of_many_strange_names_a_few_are_told():
    listed = {**json.loads(MANIFEST.text), "files": {f"x{place}": "" for place in range(999)}}
    content = json.dumps(listed).encode()
    assert len(differences({"worker/manifest.json": (200, "", content)})) == 20
    assert differences({"worker/manifest.json": (404, "", b"")}) == [
        ("worker/manifest.json", "is missing: status 404")
    ]


def test_what_is_too_long_is_not_read_to_its_end():
    def endless():
        for place in range(3_000):
            assert place < 2_000
            yield b"x" * 1_000

    [[path, _]] = differences({"worker/worker.css": (200, "text/css", endless())})
    assert path == "worker/worker.css"


def test_files_are_compared_as_browsers_get_them():
    assert differences(packed=gzip.compress) == []
    paths = {path for path, _ in differences(changed(with_a_byte_more), packed=gzip.compress)}
    assert paths == set(COMPARED)


@pytest.mark.grid
@pytest.mark.parametrize(
    "packed",
    [
        bytes,
        zlib.compress,
        lambda content: gzip.compress(content)[:-9],
        lambda content: gzip.compress(content) + b"more",
        lambda _: gzip.compress(bytes(2**26)),
    ],
    ids=["not compressed", "deflate", "cut off", "more", "very long"],
)
def test_what_is_not_compressed_as_it_says_differs(packed):
    paths = {path for path, _ in differences(packed=packed)}
    assert paths == {*COMPARED, "worker/manifest.json"}


def test_a_server_below_a_path_has_to_know_it():
    class Below(Fake):
        def handle_request(self, request):
            request.url = request.url.copy_with(path=request.url.path.removeprefix("/below"))
            return super().handle_request(request)

    [found] = verify_server(f"{SERVER}/below", transport=Below()).differences
    assert found.reason == ("contains another server address: use quietcrowd serve --public-url")
    assert verify_server(f"{SERVER}/below", transport=Below(server=f"{SERVER}/below")).same


def test_a_server_whose_address_no_page_can_hold_gives_no_saved_page():
    fake = Fake()
    found = verify_server("http://[::1]:8000", transport=fake)
    assert (found.saved_page, found.same) == (None, True)
    assert "worker/saved.html" not in fake.asked


def test_a_server_that_does_not_answer_is_not_judged():
    class Gone(httpx.BaseTransport):
        def handle_request(self, request):
            raise httpx.ConnectError("gone\x1b", request=request)

    with pytest.raises(CampaignError, match="cannot be reached: gone\ufffd; try again later"):
        verify_server(SERVER, transport=Gone())
    with pytest.raises(CampaignError, match=r"does not serve worker/worker\.css: status 503"):
        differences({"worker/worker.css": (503, "text/plain", b"")})


def test_a_campaign_that_there_is_not_is_no_difference():
    campaign = "f" * 32
    page = (404, WORKER_PAGE.media_type, WORKER_PAGE.content)
    with pytest.raises(CampaignError, match="has no such campaign"):
        verify_server(SERVER, campaign, transport=Fake({f"j/{campaign}": page}))
    assert differences({PAGE: page}) == [(PAGE, "is missing: status 404")]
