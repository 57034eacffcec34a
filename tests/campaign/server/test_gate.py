import io
import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from tests.campaign.people import PLAIN, check_problem, new_desk
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.server import logs
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import new_token


@pytest.mark.parametrize("path", ["/api/v1/healthz", "/secret", "/api/v1/openapi.json"])
def test_every_answer_carries_the_headers_of_a_careful_server(server, path):
    headers = httpx.get(f"{server.url}{path}", verify=PLAIN).headers
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
def test_unknown_paths_and_methods_are_problems(desk, method, path, status, name):
    answer = desk.client.request(method, f"{desk.server.url}{path}")
    check_problem(answer, status, name)
    assert "secret" not in answer.text
    assert status != 405 or answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/campaigns", "GET, POST"),
        (f"/campaigns/{'0' * 32}", "DELETE, GET, PATCH"),
        ("/me/reports", "GET, POST"),
    ],
)
def test_all_methods_of_a_path_are_told(desk, path, methods):
    worker = desk.worker(desk.campaign(join_mode="open"))
    answer = (worker if path.startswith("/me") else desk).client.put(path)
    check_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == methods


@pytest.mark.parametrize("content", [b"{secret", b"\xffsecret", b"[" * 100_000])
def test_what_cannot_be_read_is_malformed(desk, content):
    answer = desk.client.post(
        "/campaigns", content=content, headers={"Content-Type": "application/json"}
    )
    check_problem(answer, 400, "malformed")
    assert "secret" not in answer.text


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", ["/me/reports", "/campaigns"])
def test_a_body_has_a_largest_size(desk, path, streamed):
    content = b" " * (MAX_BODY + 1)
    worker = desk.worker(desk.campaign(join_mode="open"))
    answer = (worker if path.startswith("/me") else desk).client.post(
        path,
        content=iter([content[:-1], content[-1:]]) if streamed else content,
        headers={"Content-Type": "application/json"},
    )
    check_problem(answer, 413, "too-large")


@pytest.mark.usefixtures("held_briefly")
def test_a_credential_may_not_ask_too_often(start_server):
    own = start_server(requests_per_second=0.001, burst=2)
    desk, other = new_desk(own), new_desk(own)
    assert [desk.client.get("/campaigns").status_code for _ in range(2)] == [200, 200]
    refused = desk.client.get("/campaigns")
    check_problem(refused, 429, "too-many-requests")
    assert refused.headers["retry-after"] == "1"
    assert other.client.get("/campaigns").status_code == 200


SPELLINGS = ("Bearer {}", "bearer {}", "BEARER {}", "Bearer   {}", "Bearer \t{}", "Basic {}")


@pytest.mark.usefixtures("held_briefly")
def test_a_credential_is_the_same_however_it_is_spelt(start_server):
    own = start_server(requests_per_second=0.001, burst=4)
    client, token = own.client(), new_desk(own).key
    seen = [
        client.get("/campaigns", headers={"Authorization": spelling.format(token)}).status_code
        for spelling in SPELLINGS
    ]
    assert seen == [200, 200, 200, 200, 429, 429]


def test_what_nobody_foresaw_is_a_problem_without_words(start_server, monkeypatch):
    own = start_server()

    def fail(*_, **__):
        raise RuntimeError("secret")

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", fail)
    answer = own.client().get(f"/public/campaigns/{'0' * 32}")
    assert "request" not in check_problem(answer, 500, "internal")
    assert "secret" not in answer.text


@pytest.mark.usefixtures("log_as_before")
def test_failures_of_requesters_have_a_time_and_an_id_and_those_of_workers_have_not(
    start_server, monkeypatch
):
    own, stream = start_server(), io.StringIO()
    logs.start_log(stream)
    desk = new_desk(own)
    worker = desk.worker(desk.campaign(join_mode="open"))
    lost = psycopg.errors.DiskFull("planted-secret")

    def fail(*_, **__):
        raise OperationalError("planted-secret", {}, lost)

    def break_down(*_, **__):
        raise RuntimeError("planted-secret")

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.find_participant", fail)
    monkeypatch.setattr("quietcrowd.campaign.server.service.requester_of", fail)
    of_worker = check_problem(worker.client.get("/me"), 503, "unavailable")
    first = check_problem(desk.client.get("/campaigns"), 503, "unavailable")
    monkeypatch.setattr("quietcrowd.campaign.server.service.requester_of", break_down)
    second = check_problem(desk.client.get("/campaigns"), 500, "internal")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    about_worker, *about_requester = [line for line in lines if "error" in line]
    assert "request" not in of_worker
    assert set(about_worker) == {"event", "error", "code", "place"}
    assert [line["request"] for line in about_requester] == [first["request"], second["request"]]
    assert [line.get("code") for line in about_requester] == ["53100", None]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", one["time"]) for one in about_requester)
    assert not any("time" in line or "request" in line for line in lines if "error" not in line)
    assert "planted-secret" not in stream.getvalue()


def test_what_comes_on_top_of_too_much_is_refused_for_a_while(start_server, monkeypatch):
    gate, arrived = threading.Event(), threading.Event()

    def wait(*_, **__):
        arrived.set()
        assert gate.wait(LONG)
        raise ProblemError("not-found", "It was held up.")

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    own = start_server(at_once=1)
    path = f"/public/campaigns/{'0' * 32}"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(own.client().get, path)
        assert arrived.wait(LONG)
        refused = own.client(new_token("qcw_")).post("/me/reports", content=b"{not read")
        check_problem(refused, 503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert own.client().get("/healthz").status_code == 200
        gate.set()
        check_problem(first.result(), 404, "not-found")
    check_problem(own.client().get(path), 404, "not-found")


@pytest.mark.usefixtures("held_briefly")
def test_who_takes_answers_slowly_keeps_nobody_from_being_served(start_server, monkeypatch):
    """A key asks for more exports than the server works on, and takes none of them."""

    def endless(_):
        while True:
            yield "x" * MAX_BODY

    monkeypatch.setattr(ReportExport, "json_lines", endless)
    own = start_server(at_once=6, at_once_each=3, requests_per_second=0)
    slow, other = new_desk(own), new_desk(own)
    url = f"/campaigns/{slow.campaign()}/reports"
    with ExitStack() as stack:
        statuses = []
        for _ in range(8):
            answer = own.client(slow.key).stream("GET", url)
            statuses.append(stack.enter_context(answer).status_code)
        assert statuses == [200] * 3 + [429] * 5
        assert other.client.get("/campaigns").status_code == 200
        assert own.client(new_token("qcw_")).get("/me").status_code == 401
        refused = slow.client.get("/campaigns")
        check_problem(refused, 429, "too-many-requests")
        assert refused.headers["retry-after"] == "1"
    assert in_time(lambda: slow.client.get("/campaigns").status_code == 200)


KIND = {"Content-Type": "application/json"}


def test_a_body_counts_with_what_it_is(start_server):
    own = start_server()
    own.app.user_middleware[0].kwargs["in_flight"].size = MAX_BODY - 1
    client = new_desk(own).client
    refused = client.post("/campaigns", content=b" " * MAX_BODY, headers=KIND)
    check_problem(refused, 503, "busy")
    for content in (iter([b"{", b"}"]), b"{}"):
        check_problem(client.post("/campaigns", content=content, headers=KIND), 422, "validation")


def connect(server):
    return socket.create_connection(server.url.removeprefix("http://").split(":"))


HEAD = b"POST /api/v1/campaigns HTTP/1.1\r\nHost: here\r\n"


def shown(desk):
    """Return the head of a request, but for its end, that shows a requester's key."""
    return HEAD + f"Authorization: Bearer {desk.key}\r\n".encode()


@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked", b"Content-Length: 999999"])
def test_who_sends_nothing_more_keeps_nobody_from_being_served(start_server, head):
    own = start_server(at_once=2)
    desk = new_desk(own)
    worker = desk.worker(desk.campaign(join_mode="open"))
    with ExitStack() as held:
        for _ in range(70):
            held.enter_context(connect(own)).sendall(shown(desk) + head + b"\r\n\r\n")
        assert in_time(lambda: own.app.state.door.incoming.waiting == 70)
        worker.send_values(1, 0)
        with connect(own) as whole:
            whole.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
            assert whole.recv(12) == b"HTTP/1.1 401"
    assert in_time(lambda: own.app.state.door.incoming.waiting == 0)


def read_all(connection):
    """Return what comes until a connection ends."""
    answer = b""
    while part := connection.recv(65_536):
        answer += part
    return answer


def test_a_body_has_to_come_in_time(start_server):
    own = start_server()
    own.app.state.door.incoming.patience = 0.2
    with connect(own) as slow:
        slow.sendall(shown(new_desk(own)) + b"Content-Length: 2\r\n\r\n{")
        answer = read_all(slow)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"urn:quietcrowd:problem:too-slow" in answer
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert b"\r\ncontent-security-policy: " in answer


def test_an_empty_body_in_chunks_is_a_body(desk):
    answer = desk.client.post("/campaigns", content=iter([]), headers=KIND)
    check_problem(answer, 422, "validation")


@pytest.mark.parametrize("path", ["/me/reports", "/campaigns"])
def test_the_body_of_somebody_unknown_is_not_waited_for(server, path):
    head = f"POST /api/v1{path} HTTP/1.1\r\nHost: here\r\nContent-Length: 999999\r\n\r\n"
    with connect(server) as stranger:
        stranger.settimeout(LONG)
        stranger.sendall(head.encode())
        answer = stranger.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b"\r\nconnection: close\r\n" in answer.lower()


@pytest.mark.usefixtures("held_briefly")
def test_the_body_of_a_join_without_room_is_not_waited_for(start_server):
    own = start_server(joins_at_once=1, joins_per_minute=1.0)
    desk = new_desk(own)
    campaign = desk.campaign(join_mode="open")
    worker, guest = desk.worker(campaign), desk.guest(campaign)
    head = (
        f"PUT /api/v1/public/campaigns/{campaign}/participants/{guest.id} HTTP/1.1\r\nHost: here"
        f"\r\nAuthorization: Bearer {guest.credential}\r\nContent-Length: 3999\r\n\r\n"
    )
    with connect(own) as stranger:
        stranger.settimeout(LONG)
        stranger.sendall(head.encode())
        answer = stranger.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
    assert b"\r\nretry-after: 60\r\n" in answer.lower()  # as `too-many-joins` has it
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert desk.join(worker).status_code == 200


@pytest.mark.parametrize("path", ["/me/reports", "/campaigns"])
def test_who_sends_on_gets_the_refusal_all_the_same(server, path):
    client = server.client(new_token("qcw_" if path.startswith("/me") else "qck_"))
    for _ in range(3):
        check_problem(client.post(path, content=b" " * MAX_BODY, headers=KIND), 401, "credential")


def test_who_is_not_known_may_send_little(server):
    for method in ("GET", "POST"):
        path = f"/public/campaigns/{'0' * 32}"
        answer = server.client().request(method, path, content=b" " * 5_000, headers=KIND)
        check_problem(answer, 413, "too-large")


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
@pytest.mark.parametrize("path", [b"campaigns", b"healthz"])
@pytest.mark.parametrize("length", [b"Content-Length: 5\r\n", b""])
def test_a_request_has_one_end(server, path, length, version):
    chunked = b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    first = b"POST /api/v1/" + path + b" HTTP/" + version + b"\r\nHost: here\r\n" + length
    second = b"GET /api/v1/healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
    with connect(server) as proxy:
        proxy.sendall(first + chunked + second)
        answer = read_all(proxy)
    if length or version == b"1.0":
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"urn:quietcrowd:problem:malformed" in answer
        assert answer.count(b"HTTP/1.1 ") == 1
    else:
        assert answer.count(b"HTTP/1.1 ") == 1 + (path == b"healthz")


def test_head_is_get_without_the_body(desk):
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    for client, paths in (
        (desk.client, ("/healthz", "/readyz", "/campaigns", f"/campaigns/{campaign}/tasks")),
        (desk.client, (f"/campaigns/{campaign}/reports", "/openapi.json", "/nothing")),
        (worker.client, ("/me", "/me/tasks", f"/public/campaigns/{campaign}/config")),
        (desk.server.client(), (f"{desk.server.url}/j/{campaign}", "/me")),
    ):
        for path in paths:
            full, head = (client.request(method, path) for method in ("GET", "HEAD"))
            assert head.content == b""
            told = [dict(answer.headers) for answer in (full, head)]
            for headers in told:
                headers.pop("date")
            assert (head.status_code, told[1]) == (full.status_code, told[0])
    check_problem(desk.client.post("/healthz"), 405, "method-not-allowed")
    assert desk.client.head("/me/reports").status_code == 401
    assert desk.client.head(f"/campaigns/{campaign}/open").status_code == 405


def test_head_of_an_endless_answer_ends(start_server, monkeypatch):
    def endless(_):
        while True:
            yield "x" * MAX_BODY

    monkeypatch.setattr(ReportExport, "json_lines", endless)
    own = start_server(at_once_each=1)
    desk = new_desk(own)
    url = f"/campaigns/{desk.campaign()}/reports"
    for _ in range(3):
        assert in_time(lambda: desk.client.head(url).status_code == 200)
