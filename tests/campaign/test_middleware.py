import httpx
import pytest
from tests.campaign.people import check_problem

from quietcrowd.campaign.settings import MAX_BODY
from quietcrowd.campaign.tokens import new_token


@pytest.mark.parametrize("path", ["/api/v1/healthz", "/secret", "/api/v1/openapi.json"])
def test_every_answer_carries_the_headers_of_a_careful_server(server, path):
    headers = httpx.get(f"{server.url}{path}").headers
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/secret", 404, "not-found"),
        ("GET", "/api/v1/secret", 404, "not-found"),
        ("GET", "/api/v1/campaigns/", 404, "not-found"),
        ("PUT", "/api/v1/campaigns", 405, "method-not-allowed"),
        ("SECRET", "/api/v1/healthz", 405, "method-not-allowed"),
        ("GET", "/api/v1/public/campaigns/secret", 422, "validation"),
    ],
)
def test_unknown_paths_and_methods_are_problems(server, method, path, status, name):
    answer = httpx.request(method, f"{server.url}{path}")
    check_problem(answer, status, name)
    assert "secret" not in answer.text
    assert status != 405 or answer.headers["allow"]


@pytest.mark.parametrize("content", [b"{secret", b"\xffsecret", b"[" * 100_000])
def test_what_cannot_be_read_is_malformed(desk, content):
    answer = desk.client.post(
        "/campaigns", content=content, headers={"Content-Type": "application/json"}
    )
    check_problem(answer, 400, "malformed")
    assert "secret" not in answer.text


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", ["/me/reports", "/campaigns"])
def test_a_body_has_a_largest_size(server, path, streamed):
    content = b" " * (MAX_BODY + 1)
    answer = server.client(new_token("qcw_")).post(
        path,
        content=iter([content[:-1], content[-1:]]) if streamed else content,
        headers={"Content-Type": "application/json"},
    )
    check_problem(answer, 413, "too-large")


def test_a_credential_may_not_ask_too_often(start_server):
    own = start_server(requests_per_second=0.001, burst=2)
    client = own.client(new_token("qcw_"))
    assert [client.get("/me").status_code for _ in range(2)] == [401, 401]
    refused = client.get("/me")
    check_problem(refused, 429, "too-many-requests")
    assert refused.headers["retry-after"] == "1"
    assert own.client(new_token("qcw_")).get("/me").status_code == 401


def test_what_nobody_foresaw_is_a_problem_without_words(start_server, monkeypatch):
    own = start_server()

    def fail(*_, **__):
        raise RuntimeError("secret")

    monkeypatch.setattr("quietcrowd.campaign.api.participants.public_campaign", fail)
    answer = own.client().get(f"/public/campaigns/{'0' * 32}")
    check_problem(answer, 500, "internal")
    assert "secret" not in answer.text
