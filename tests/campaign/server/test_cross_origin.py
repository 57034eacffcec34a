import httpx
import pytest
from tests.campaign.people import PLAIN, check_problem, documented_paths
from tests.campaign.waiting import LONG
from tests.campaign.web.browser import chromium

PAGES = [("GET", path) for path in ("/j/{campaign}", "/dashboard/{campaign}", "/worker/saved.html")]


def operations():
    return [
        (method.upper(), path) for path, methods in documented_paths().items() for method in methods
    ]


def is_of_workers(path):
    return path.startswith(("/api/v1/public/", "/api/v1/me"))


def filled(path):
    worker = {"participant": "1" * 32, "worker": "1" * 32, "key": "4" * 32}
    return path.format(campaign="0" * 32, task="2" * 32, sha256="3" * 64, **worker)


def preflight(server, method, path, origin):
    return httpx.options(
        f"{server.url}{filled(path)}",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization,content-type",
        },
        verify=PLAIN,
    )


def told(answer):
    return {name: value for name, value in answer.headers.items() if name[:14] == "access-control"}


def test_there_are_routes_of_workers_and_others():
    workers = [path for _, path in operations() if is_of_workers(path)]
    assert len(workers) >= 7
    assert len(operations()) > 2 * len(workers)


def test_a_saved_page_may_ask_what_workers_ask_and_nothing_else(server):
    for method, path in (*operations(), *PAGES):
        beforehand = preflight(server, method, path, "null")
        answer = httpx.request(
            method,
            f"{server.url}{filled(path)}",
            headers={"Origin": "null"},
            verify=PLAIN,
            timeout=LONG,
        )
        if not is_of_workers(path):
            assert told(beforehand) == told(answer) == {}, path
            assert beforehand.status_code == 405, path
            continue
        assert beforehand.status_code == 204, path
        methods = beforehand.headers["access-control-allow-methods"]
        assert method in methods.split(", "), path
        headers = beforehand.headers["access-control-allow-headers"]
        assert headers == "Authorization, Content-Type", path
        for one in (beforehand, answer):
            assert one.headers["access-control-allow-origin"] == "null", path
            assert one.headers["access-control-expose-headers"] == "ETag, Retry-After", path
            assert one.headers["vary"] == "Origin", path
            assert "access-control-allow-credentials" not in one.headers, path


@pytest.mark.parametrize("origin", ["https://crowd.example", "file://", "NULL", "", "null, null"])
def test_no_other_origin_may_ask(server, origin):
    for method, path in operations():
        if not is_of_workers(path):
            continue
        beforehand = preflight(server, method, path, origin)
        assert beforehand.status_code == 405, path
        assert told(beforehand) == {}, path
        answer = httpx.request(
            method,
            f"{server.url}{filled(path)}",
            headers={"Origin": origin},
            verify=PLAIN,
            timeout=LONG,
        )
        assert told(answer) == {}, path


def test_what_only_looks_like_a_path_of_workers_is_none(server):
    for path in ("/api/v1/mere", "/api/v1/public", "/api/v1/campaigns/me", "/api/v1/me.json"):
        answer = httpx.get(
            f"{server.url}{path}", headers={"Origin": "null"}, verify=PLAIN, timeout=LONG
        )
        assert answer.status_code in (401, 404)
        assert told(answer) == {}


def test_refusals_can_be_read_too(server):
    answer = httpx.get(
        f"{server.url}/api/v1/me",
        headers={"Origin": "null", "Authorization": "Bearer qck_x"},
        verify=PLAIN,
        timeout=LONG,
    )
    check_problem(answer, 401, "credential")
    assert answer.headers["access-control-allow-origin"] == "null"


ASK = """async ([url, options]) => {
  try {
    const answer = await fetch(url, options);
    return [answer.status, answer.headers.get("etag") !== null];
  } catch (error) {
    return error.name;
  }
}"""


@pytest.mark.slow
def test_a_browser_lets_a_file_ask_for_workers_alone(server, desk, tmp_path):
    campaign = desk.campaign()
    file = tmp_path / "page.html"
    file.write_text("<!doctype html><title>saved</title>")
    asked = {
        f"/public/campaigns/{campaign}": [200, True],
        "/me": [401, False],
        f"/campaigns/{campaign}": "TypeError",
        "/healthz": "TypeError",
    }
    with chromium() as browser:
        page = browser.new_page()
        page.goto(file.as_uri())
        shown = {"headers": {"Authorization": "Bearer qcw_x"}}
        seen = {path: page.evaluate(ASK, [f"{server.url}/api/v1{path}", shown]) for path in asked}
        assert seen == asked
