import http.client
import re
from importlib.resources import files
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from tests.campaign.people import check_problem, documented_paths

CAMPAIGN = "0123456789abcdef" * 2
FILES = sorted(file.name for file in (files("quietcrowd.campaign.web") / "dashboard").iterdir())
KINDS = {"css": "text/css", "html": "text/html", "js": "text/javascript"}
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


def test_the_dashboard_is_the_same_for_all_campaigns(server):
    page = httpx.get(f"{server.url}/dashboard/{CAMPAIGN}")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.content == httpx.get(f"{server.url}/dashboard/{'f' * 32}").content


def test_a_link_in_a_browser_tells_what_to_do_with_it(server):
    page = httpx.get(f"{server.url}/j/{CAMPAIGN}")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "quietcrowd answer" in page.text
    assert "<script" not in page.text
    assert CAMPAIGN not in page.text
    [style] = re.findall(r'rel="stylesheet" href="([^"]*)"', page.text)
    assert httpx.get(urljoin(str(page.url), style)).status_code == 200
    check_problem(httpx.get(f"{server.url}/j/secret"), 422, "validation")


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_page_are_those_of_the_package(server, name):
    found = httpx.get(f"{server.url}/web/dashboard/{name}")
    assert found.content == (files("quietcrowd.campaign.web") / "dashboard" / name).read_bytes()
    assert found.headers["content-type"] == f"{KINDS[name.rpartition('.')[2]]}; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        f"/dashboard/{CAMPAIGN}",
        f"/j/{CAMPAIGN}",
        "/web/dashboard/main.js",
        "/web/nothing/main.js",
        "/none",
    ],
)
def test_a_browser_is_told_to_load_nothing_from_elsewhere(server, path):
    headers = httpx.get(f"{server.url}{path}").headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "set-cookie" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/web/dashboard/none.js",
        "/web/none/main.js",
        "/web/dashboard/",
        "/web/dashboard",
        "/web/",
        "/web/dashboard/../pages.py",
        "/web/dashboard/..%2fpages.py",
        "/web/dashboard/%2e%2e/pages.py",
        "/web/%2e%2e/server.py",
        "/web/../server.py",
        "/web/dashboard//etc/passwd",
        "/web/dashboard/%2fetc%2fpasswd",
        "/web/dashboard/main.js%00.css",
        "/web/dashboard/..",
        "/dashboard/",
        f"/dashboard/{CAMPAIGN}/",
        f"/dashboard/{CAMPAIGN}/main.js",
    ],
)
def test_nothing_else_is_served(server, path):
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)  # sends paths as they are
    connection.request("GET", path)
    answer = connection.getresponse()
    assert (answer.status, answer.read()[:1]) == (404, b"{")
    connection.close()


def test_what_is_no_campaign_is_refused(server):
    refused = httpx.get(f"{server.url}/dashboard/secret")
    check_problem(refused, 422, "validation")
    assert "secret" not in refused.text


def test_pages_are_no_part_of_the_interface():
    assert all(path.startswith("/api/v1/") for path in documented_paths())
