import http.client
import json
import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError
from tests.campaign.people import PLAIN, check_problem, documented_paths
from tests.campaign.waiting import LONG

from quietcrowd.campaign.web.preview_page import PREVIEW_PAGE, PREVIEW_POLICY
from quietcrowd.campaign.web.worker_page import (
    MANIFEST,
    SERVED,
    WORKER_PAGE,
    WORKER_POLICY,
    saved_page,
)

CAMPAIGN = "0123456789abcdef" * 2
FILES = sorted(file.name for file in (files("quietcrowd.campaign.web") / "studio").iterdir())
WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))
KINDS = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}
POLICY = "content-security-policy"
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


STORED = ("/web/studio/main.js", "/worker/page.js")


def test_the_studio_is_the_same_for_all_campaigns(server):
    page = httpx.get(f"{server.url}/dashboard/{CAMPAIGN}", verify=PLAIN, timeout=LONG)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert (
        page.content
        == httpx.get(f"{server.url}/dashboard/{'f' * 32}", verify=PLAIN, timeout=LONG).content
    )


@pytest.mark.parametrize("path", ["/", "/dashboard", "/dashboard/"])
def test_addresses_without_a_campaign_lead_to_the_studio(server, path):
    page = httpx.get(f"{server.url}{path}", follow_redirects=True, verify=PLAIN, timeout=LONG)
    assert (page.status_code, page.url.path) == (200, "/dashboard/")
    assert (
        page.content
        == httpx.get(f"{server.url}/dashboard/{CAMPAIGN}", verify=PLAIN, timeout=LONG).content
    )
    steps = [answer.headers["location"] for answer in page.history]
    assert steps == ([] if path == "/dashboard/" else ["dashboard/"])  # below any address


def test_a_preview_may_request_nothing_and_only_the_studio_frames_it(server):
    page = httpx.get(f"{server.url}/dashboard/preview/j/{CAMPAIGN}", verify=PLAIN, timeout=LONG)
    assert page.content == PREVIEW_PAGE.content
    policy = page.headers[POLICY]
    assert policy == PREVIEW_POLICY
    assert "connect-src" not in policy
    for part in ("default-src 'none'", "frame-ancestors 'self'", "sandbox allow-scripts"):
        assert part in policy.split("; ")
    for name in ("indexedDB", "fetch("):
        assert name not in page.text


def test_the_page_for_workers_is_the_same_for_all_campaigns(desk, server):
    page = httpx.get(f"{server.url}/j/{desk.campaign()}", verify=PLAIN, timeout=LONG)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    kept = httpx.get(f"{server.url}/j/{'0' * 32}", verify=PLAIN, timeout=LONG)
    assert kept.status_code == 200
    assert page.content == kept.content == WORKER_PAGE.content
    for name in re.findall(r' (?:src|href)="([^"]*)"', page.text):
        if name != "data:,":
            assert httpx.get(urljoin(str(page.url), name), timeout=LONG).status_code == 200
    check_problem(
        httpx.get(f"{server.url}/j/secret", verify=PLAIN, timeout=LONG), 422, "validation"
    )


def test_the_page_of_no_campaign_says_so(desk, server):
    for campaign in ("f" * 32, desk.draft()["id"]):
        found = httpx.get(f"{server.url}/j/{campaign}", verify=PLAIN, timeout=LONG)
        assert found.status_code == 404
        assert found.content == WORKER_PAGE.content


def test_the_page_for_workers_needs_no_database(server, monkeypatch):
    def fail(*_):
        raise OperationalError("", None, Exception())

    monkeypatch.setattr("quietcrowd.campaign.server.admission.known_among", fail)
    assert httpx.get(f"{server.url}/j/{'f' * 32}", verify=PLAIN, timeout=LONG).status_code == 200


def test_a_browser_is_told_what_the_page_for_workers_may_do(server):
    headers = httpx.get(f"{server.url}/j/{CAMPAIGN}", verify=PLAIN, timeout=LONG).headers
    assert headers.get_list("content-security-policy") == [WORKER_POLICY]
    others = {name: value for name, value in HEADERS.items() if "policy" not in name[:23]}
    assert {name: headers.get(name) for name in others} == others


@pytest.mark.parametrize("path", SERVED)
def test_files_for_workers_are_those_of_the_package(server, path):
    found = httpx.get(f"{server.url}/{path}", verify=PLAIN, timeout=LONG)
    assert found.content == SERVED[path].content
    kind = KINDS[path.rpartition(".")[2]]
    assert found.headers["content-type"] == f"{kind}; charset=utf-8"
    assert found.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_a_worker_loads_one_script_and_one_style_sheet():
    files = ("page.js", "worker.css", "app.webmanifest", "icon.svg")
    assert SERVED.keys() == {"j/service_worker.js", *(f"worker/{name}" for name in files)}
    for path in ("j/service_worker.js", "worker/worker.css"):
        assert SERVED[path].content == (WORKER / path.partition("/")[2]).read_bytes()


COMPRESSED = [f"j/{'0' * 32}", "worker/manifest.json", f"dashboard/{CAMPAIGN}", *SERVED]


@pytest.mark.parametrize("path", [*COMPRESSED, "web/studio/main.js"])
@pytest.mark.parametrize(
    "accepted", ["gzip", "br, GZIP", "zstd;q=1.0, gzip;q=0.5", "gzip ; q=0.001"]
)
def test_pages_are_sent_as_they_were_compressed_at_the_start(server, path, accepted):
    sent = httpx.get(
        f"{server.url}/{path}", headers={"Accept-Encoding": accepted}, verify=PLAIN, timeout=LONG
    )
    plain = httpx.get(
        f"{server.url}/{path}", headers={"Accept-Encoding": "br"}, verify=PLAIN, timeout=LONG
    )
    assert sent.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert sent.content == plain.content
    assert int(sent.headers["content-length"]) < int(plain.headers["content-length"])
    assert sent.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "br, gzip; q=0.000", "gzipped"])
def test_what_a_client_does_not_accept_is_not_sent(server, accepted):
    sent = httpx.get(
        f"{server.url}/worker/page.js",
        headers={"Accept-Encoding": accepted},
        verify=PLAIN,
        timeout=LONG,
    )
    assert "content-encoding" not in sent.headers
    assert sent.content == SERVED["worker/page.js"].content


@given(accepted=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_header_is_answered(server, accepted):
    sent = httpx.get(
        f"{server.url}/worker/worker.css",
        headers={"Accept-Encoding": accepted.strip(), "If-None-Match": accepted.strip()},
        verify=PLAIN,
        timeout=LONG,
    )
    assert sent.status_code == 200
    assert sent.content == SERVED["worker/worker.css"].content


@pytest.mark.parametrize("path", ["worker/page.js", "web/studio/main.js"])
def test_a_file_that_a_browser_has_is_not_sent_again(server, path):
    def ask(accepted, known=""):
        headers = {"Accept-Encoding": accepted, "If-None-Match": known}
        return httpx.get(f"{server.url}/{path}", headers=headers, verify=PLAIN, timeout=LONG)

    tags = {ask(accepted).headers["etag"]: accepted for accepted in ("gzip", "identity")}
    assert len(tags) == 2
    for tag, accepted in tags.items():
        again = ask(accepted, f'"other", W/{tag}')
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == "no-cache"
        assert again.headers["vary"] == "Accept-Encoding"
        assert {ask(other, tag).status_code for other in tags.values()} == {200, 304}


def test_the_campaign_is_asked_for_with_the_files(server, desk):
    campaign = desk.campaign()
    links = httpx.get(f"{server.url}/j/{campaign}", verify=PLAIN, timeout=LONG).headers["link"]
    asked = [urljoin(f"{server.url}/j/{campaign}", url) for url in re.findall("<(.*?)>", links)]
    assert [httpx.get(url, timeout=LONG).status_code for url in asked] == [200, 200]
    for other in ("0" * 32, "f" * 32):
        page = httpx.get(f"{server.url}/j/{other}", verify=PLAIN, timeout=LONG)
        assert "link" not in page.headers


def test_the_manifest_is_served(server):
    found = httpx.get(f"{server.url}/worker/manifest.json", verify=PLAIN, timeout=LONG)
    assert found.json() == json.loads(MANIFEST.text)
    assert found.headers["content-type"] == "application/json; charset=utf-8"


def test_the_page_can_be_saved_as_a_file(server):
    saved = httpx.get(f"{server.url}/worker/saved.html", verify=PLAIN, timeout=LONG)
    assert saved.content == saved_page(server.url).content
    assert saved.headers["content-disposition"] == 'attachment; filename="quietcrowd.html"'


@pytest.mark.parametrize(
    ("host", "address"),
    [("Crowd.Example", "https://crowd.example"), ("localhost:81", "http://localhost:81")],
)
def test_the_saved_page_holds_the_address_that_was_asked_for(server, host, address):
    saved = httpx.get(
        f"{server.url}/worker/saved.html", headers={"Host": host}, verify=PLAIN, timeout=LONG
    )
    assert saved.content == saved_page(address).content


@pytest.mark.parametrize(
    "host", ['a"><script>secret', "secret;b", "secret b", "[::1]:secret", "-?"]
)
def test_no_other_host_is_written_into_a_page(server, host):
    answer = httpx.get(
        f"{server.url}/worker/saved.html", headers={"Host": host}, verify=PLAIN, timeout=LONG
    )
    check_problem(answer, 400, "malformed")
    assert "secret" not in answer.text


def test_a_server_that_knows_its_address_writes_that_one(start_server):
    server = start_server(public_url="https://crowd.example/below")
    saved = httpx.get(
        f"{server.url}/worker/saved.html",
        headers={"Host": "other.example"},
        verify=PLAIN,
        timeout=LONG,
    )
    assert saved.content == saved_page("https://crowd.example/below").content


@pytest.mark.parametrize(
    "path",
    [
        *(f"/j/{CAMPAIGN}", "/j/secret", f"/dashboard/{CAMPAIGN}", "/web/studio/main.js"),
        *("/worker/page.js", "/worker/manifest.json", "/worker/saved.html"),
        *("/j/service_worker.js", "/worker/secret"),
    ],
)
def test_a_query_is_refused_in_words_and_not_repeated(server, path):
    refused = httpx.get(f"{server.url}{path}?PROLIFIC_PID=secret", verify=PLAIN, timeout=LONG)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "text/html; charset=utf-8"
    assert "after the question mark" in refused.text
    assert "secret" not in refused.text
    assert "<script" not in refused.text


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_page_are_those_of_the_package(server, name):
    found = httpx.get(f"{server.url}/web/studio/{name}", verify=PLAIN, timeout=LONG)
    assert found.content == (files("quietcrowd.campaign.web") / "studio" / name).read_bytes()
    assert found.headers["content-type"] == f"{KINDS[name.rpartition('.')[2]]}; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        f"/dashboard/{CAMPAIGN}",
        "/web/studio/main.js",
        "/web/nothing/main.js",
        "/worker/page.js",
        "/worker/manifest.json",
        f"/j/{CAMPAIGN}?query",
        "/none",
    ],
)
def test_a_browser_is_told_to_load_nothing_from_elsewhere(server, path):
    headers = httpx.get(f"{server.url}{path}", verify=PLAIN, timeout=LONG).headers
    expected = HEADERS | ({"cache-control": "no-cache"} if path in STORED else {})
    if path.startswith("/dashboard/"):
        usual = HEADERS[POLICY]
        expected[POLICY] = usual.replace(
            "connect-src 'self'; ", "connect-src 'self'; frame-src 'self'; "
        )
    assert {name: headers.get(name) for name in HEADERS} == expected
    assert "set-cookie" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/web/studio/none.js",
        "/web/none/main.js",
        "/web/studio/",
        "/web/studio",
        "/web/",
        "/web/studio/../pages.py",
        "/web/studio/..%2fpages.py",
        "/web/studio/%2e%2e/pages.py",
        "/web/%2e%2e/server.py",
        "/web/../server.py",
        "/web/studio//etc/passwd",
        "/web/studio/%2fetc%2fpasswd",
        "/web/studio/main.js%00.css",
        "/web/studio/..",
        "/dashboard//",
        f"/dashboard/{CAMPAIGN}/",
        f"/dashboard/{CAMPAIGN}/main.js",
        "/worker/",
        "/worker",
        "/worker/index.html",
        "/worker/page/",
        "/worker/service_worker.js",
        "/worker/../pages.py",
        "/worker/..%2fpages.py",
        "/worker/page/../page/main.js",
        "/worker//etc/passwd",
        "/worker/page/main.js",
        "/worker/page.js%00",
        f"/j/{CAMPAIGN}/",
        f"/j/{CAMPAIGN}/page/main.js",
    ],
)
def test_nothing_else_is_served(server, path):
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)  # sends paths as they are
    connection.request("GET", path)
    answer = connection.getresponse()
    assert (answer.status, answer.read()[:1]) == (404, b"{")
    connection.close()


def test_what_is_no_campaign_is_refused(server):
    refused = httpx.get(f"{server.url}/dashboard/secret", verify=PLAIN, timeout=LONG)
    check_problem(refused, 422, "validation")
    assert "secret" not in refused.text


def test_pages_are_no_part_of_the_interface():
    assert all(path.startswith("/api/v1/") for path in documented_paths())
