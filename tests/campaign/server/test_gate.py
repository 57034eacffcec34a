import asyncio
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
from tests.campaign.people import check_problem, new_desk
from tests.campaign.waiting import in_time

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.server import gate, logs
from quietcrowd.campaign.server.gate import IncomingBodies, InFlight, RateLimits
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import new_token


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


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/campaigns", "GET, POST"),
        (f"/api/v1/campaigns/{'0' * 32}", "DELETE, GET, PATCH"),
        ("/api/v1/me/reports", "GET, POST"),
    ],
)
def test_all_methods_of_a_path_are_told(server, path, methods):
    answer = httpx.put(f"{server.url}{path}")
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


SPELLINGS = ("Bearer {}", "bearer {}", "BEARER {}", "Bearer   {}", "Bearer \t{}", "Basic {}")


def test_a_credential_is_the_same_however_it_is_spelt(start_server):
    own = start_server(requests_per_second=0.001, burst=2)
    client, token = own.client(), new_token("qcw_")
    seen = [
        client.get("/me", headers={"Authorization": spelling.format(token)}).status_code
        for spelling in SPELLINGS
    ]
    assert seen == [401, 401, 429, 429, 429, 429]


def test_all_that_shows_no_credential_counts_as_one(start_server):
    own = start_server(requests_per_second=0.001, burst=2)
    client, token = own.client(), new_token("qcw_")
    shown = ["", "Bearer", "Bearer a", f"Bearer {token} a", token, f"Bearer x{token}"]
    seen = [client.get("/me", headers={"Authorization": one}).status_code for one in shown]
    assert seen == [401, 401, 429, 429, 429, 429]
    assert client.get("/me").status_code == 401
    assert own.client(token).get("/me").status_code == 401


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
        assert gate.wait(30)
        raise ProblemError("not-found", "It was held up.")

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    own = start_server(at_once=1)
    path = f"/public/campaigns/{'0' * 32}"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(own.client().get, path)
        assert arrived.wait(30)
        refused = own.client(new_token("qcw_")).post("/me/reports", content=b"{not read")
        check_problem(refused, 503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert own.client().get("/healthz").status_code == 200
        gate.set()
        check_problem(first.result(), 404, "not-found")
    check_problem(own.client().get(path), 404, "not-found")


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


def test_a_body_counts_with_what_it_is(start_server):
    own = start_server()
    own.app.user_middleware[0].kwargs["in_flight"].size = MAX_BODY - 1
    client = own.client(new_token("qcw_"))
    kind = {"Content-Type": "application/json"}
    refused = client.post("/me/reports", content=b" " * MAX_BODY, headers=kind)
    check_problem(refused, 503, "busy")
    for content in (iter([b"{", b"}"]), b"{}"):
        check_problem(client.post("/me/reports", content=content, headers=kind), 422, "validation")


def connect(server):
    return socket.create_connection(server.url.removeprefix("http://").split(":"))


HEAD = b"POST /api/v1/me/reports HTTP/1.1\r\nHost: here\r\n"


@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked", b"Content-Length: 999999"])
def test_who_sends_nothing_more_keeps_nobody_from_being_served(start_server, head):
    own = start_server(at_once=2)
    desk = new_desk(own)
    worker = desk.worker(desk.campaign(join_mode="open"))
    with ExitStack() as held:
        for _ in range(70):
            held.enter_context(connect(own)).sendall(HEAD + head + b"\r\n\r\n")
        assert in_time(lambda: own.app.state.incoming.waiting == 70)
        worker.send_values(1, 0)
        with connect(own) as whole:
            whole.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
            assert whole.recv(12) == b"HTTP/1.1 401"
    assert in_time(lambda: own.app.state.incoming.waiting == 0)


def test_a_body_has_to_come_in_time(start_server):
    own = start_server()
    own.app.state.incoming.patience = 0.2
    with connect(own) as slow:
        slow.sendall(HEAD + b"Content-Length: 2\r\n\r\n{")
        answer = b""
        while part := slow.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"urn:quietcrowd:problem:too-slow" in answer
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert b"\r\ncontent-security-policy: " in answer


def test_an_empty_body_in_chunks_is_a_body(server):
    answer = server.client(new_token("qcw_")).post(
        "/me/reports", content=iter([]), headers={"Content-Type": "application/json"}
    )
    check_problem(answer, 422, "validation")


def whole(incoming, *parts):
    """Return the body that comes in parts; one of None never comes."""
    waiting = list(parts)

    async def receive():
        assert incoming.waiting
        body = waiting.pop(0)
        if body is None:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    return asyncio.run(incoming.whole(receive))


@pytest.mark.parametrize("parts", [[b""], [b"a"], [b"a", b""], [b"", b"a"], [b"a", b"b", b"c"]])
def test_a_body_is_what_came(parts):
    incoming = IncomingBodies(size=2, patience=60)
    assert whole(incoming, *parts) == b"".join(parts)
    assert whole(incoming, *parts) == b"".join(parts)
    assert incoming.waiting == 0


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ([b"a", None], "too-slow"),
        ([b" " * MAX_BODY, b"a"], "too-large"),
        ([b" " * (MAX_BODY + 1)], "too-large"),
    ],
)
def test_what_is_refused_leaves_room(parts, name):
    incoming = IncomingBodies(size=MAX_BODY, patience=0.01)
    for _ in range(2):
        with pytest.raises(ProblemError, match=name):
            whole(incoming, *parts)
    assert whole(incoming, b" " * (MAX_BODY - 1), b"a")[-1:] == b"a"


def test_pieces_have_so_much_room_and_what_is_whole_needs_none():
    incoming = IncomingBodies(size=3, patience=60)
    with pytest.raises(ProblemError, match="busy"):
        whole(incoming, b"abcd", b"e")
    assert whole(incoming, b"abcde") == b"abcde"


def test_a_sender_who_goes_away_is_no_failure():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(ProblemError, match="malformed"):
        asyncio.run(IncomingBodies(size=MAX_BODY, patience=60).whole(receive))


def enter(in_flight, size, credential=None):
    """Count a request where there is room for it, and return whether there was."""
    room = in_flight.has_room(size) and in_flight.has_share(credential)
    if room:
        in_flight.enter(size, credential)
    return room


def test_so_many_requests_are_worked_on_at_once():
    in_flight = InFlight(requests=2, size=100, each=1)
    assert [enter(in_flight, 0) for _ in range(3)] == [True, True, False]
    in_flight.leave(0, None)
    assert [enter(in_flight, 0) for _ in range(2)] == [True, False]


def test_so_many_bytes_are_worked_on_at_once():
    in_flight = InFlight(requests=10, size=100, each=1)
    assert [enter(in_flight, size) for size in (60, 60, 40, 1)] == [True, False, True, False]
    in_flight.leave(60, None)
    assert enter(in_flight, 60)


def test_everyone_has_a_share_and_what_has_left_is_forgotten():
    in_flight = InFlight(requests=10, size=100, each=2)
    assert [enter(in_flight, 0, b"me") for _ in range(3)] == [True, True, False]
    assert enter(in_flight, 0, b"you")
    assert enter(in_flight, 0)
    in_flight.leave(0, b"me")
    assert [enter(in_flight, 0, b"me") for _ in range(2)] == [True, False]
    in_flight.leave(0, b"you")
    assert list(in_flight._of) == [b"me"]


def test_a_bucket_empties_and_fills_again():
    limits = RateLimits(rate=2.0, burst=3)
    assert [limits.allow(b"me", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert not limits.allow(b"me", now=0.4)
    assert limits.allow(b"me", now=0.5)
    assert [limits.allow(b"me", now=100.0) for _ in range(4)] == [True, True, True, False]


def test_everyone_has_a_bucket():
    limits = RateLimits(rate=1.0, burst=1)
    assert limits.allow(b"me", now=0.0)
    assert not limits.allow(b"me", now=0.0)
    assert limits.allow(b"you", now=0.0)


def test_no_rate_is_no_limit():
    limits = RateLimits(rate=0, burst=1)
    assert all(limits.allow(b"me", now=0.0) for _ in range(10))


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(gate, "_MOST_BUCKETS", 2)
    limits = RateLimits(rate=1.0, burst=1)
    for name in (b"a", b"b", b"c"):
        assert limits.allow(name, now=0.0)
    assert not limits.allow(b"c", now=0.0)
    assert limits.allow(b"a", now=0.0)  # was forgotten
