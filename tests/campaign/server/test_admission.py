import asyncio
import io
import json
import re
import secrets
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http import HTTPStatus
from types import SimpleNamespace

import httpx
import psycopg
import pytest
from attrs import define, field
from sqlalchemy.exc import OperationalError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from tests.campaign.people import PLAIN, check_problem, new_desk
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.server import admission as module
from quietcrowd.campaign.server import logs
from quietcrowd.campaign.server.admission import Admission, Lookups, asker_of
from quietcrowd.campaign.server.connections import TimedConnection
from quietcrowd.campaign.server.in_flight import ANONYMOUS, NEWCOMER
from quietcrowd.campaign.server.incoming import TurningAway
from quietcrowd.campaign.server.limits import JoinLimits, RateLimits, Sources
from quietcrowd.campaign.store.requesters import Shown, issue_key
from quietcrowd.campaign.terms.settings import MAX_BODY, MAX_FILE, MAX_SMALL_BODY
from quietcrowd.campaign.terms.tokens import new_token, token_hash

KEY, CREDENTIAL, CODE, TOKEN = (prefix + 43 * "A" for prefix in ("qck_", "qcw_", "qcd_", "qcr_"))
CAMPAIGN = "a" * 32
JOINING = f"/api/v1/public/campaigns/{CAMPAIGN}/participants/{'b' * 32}"

_KEY, _CREDENTIAL = Shown("key", token_hash(KEY)), Shown("credential", token_hash(CREDENTIAL))
_CODE, _TOKEN = Shown("code", token_hash(CODE)), Shown("token", token_hash(TOKEN))


def asker(method, path, token=None):
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return asker_of({"method": method, "path": path}, Headers(headers))


@pytest.mark.parametrize(
    ("method", "path", "token", "shown", "name", "most"),
    [
        ("GET", "/api/v1/campaigns", KEY, _KEY, _KEY.hash, MAX_BODY),
        ("GET", f"/api/v1/campaigns/{CAMPAIGN}/\n", KEY, _KEY, _KEY.hash, MAX_BODY),
        ("POST", "/api/v1/campaigns", CREDENTIAL, None, ANONYMOUS, MAX_BODY),
        ("GET", "/api/v1/keys", KEY, _KEY, _KEY.hash, MAX_BODY),
        ("POST", "/api/v1/plans", KEY, _KEY, _KEY.hash, MAX_BODY),
        ("POST", f"/api/v1/campaigns/{CAMPAIGN}/tasks/reading", KEY, _KEY, _KEY.hash, MAX_FILE),
        (
            "POST",
            f"/api/v1/campaigns/{CAMPAIGN}/images",
            TOKEN,
            _TOKEN,
            _TOKEN.hash,
            MAX_SMALL_BODY,
        ),
        ("GET", f"/api/v1/campaigns/{CAMPAIGN}", TOKEN, _TOKEN, _TOKEN.hash, MAX_SMALL_BODY),
        ("POST", f"/api/v1/campaigns/{CAMPAIGN}/x", CODE, _CODE, _CODE.hash, MAX_SMALL_BODY),
        ("GET", "/api/v1/me", TOKEN, None, ANONYMOUS, MAX_BODY),
        ("POST", "/api/v1/me/reports", CREDENTIAL, _CREDENTIAL, _CREDENTIAL.hash, MAX_BODY),
        ("GET", "/api/v1/me", KEY, None, ANONYMOUS, MAX_BODY),
        ("GET", "/api/v1/me", f"{CREDENTIAL} a", None, ANONYMOUS, MAX_BODY),
        ("PUT", JOINING, CREDENTIAL, _CREDENTIAL, NEWCOMER, MAX_SMALL_BODY),
        ("GET", JOINING, CREDENTIAL, None, ANONYMOUS, MAX_SMALL_BODY),
        ("OPTIONS", "/api/v1/campaigns", KEY, None, ANONYMOUS, MAX_SMALL_BODY),
        ("GET", "/api/v1/readyz", KEY, None, ANONYMOUS, MAX_SMALL_BODY),
        ("GET", "/j/x", None, None, ANONYMOUS, MAX_SMALL_BODY),
    ],
)
def test_what_a_request_shows_follows_from_its_path(method, path, token, shown, name, most):
    found = asker(method, path, token)
    assert (found.shown, found.name, found.most) == (shown, name, most)


@define
class FakeLookups:
    known: set
    forgotten: list = field(factory=list)
    asked: list = field(factory=list)

    async def is_known(self, shown, *, remember=True):
        self.asked.append((shown.kind, remember))
        return shown in self.known

    def learn(self, shown):
        self.known.add(shown)

    def forget(self, shown):
        self.forgotten.append(shown)


def request(address="192.0.2.1"):
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def admission(*known, burst=1, held=(), room=100):
    async def hold_back():
        held.append(True)

    return Admission(
        lookups=FakeLookups(set(known)),
        limits=RateLimits(rate=0.001, burst=burst),
        joins=JoinLimits(sources=Sources(), per_minute=0.001, at_once=room),
        hold_back=hold_back,
    )


def refusal(waiting):
    """Return the name of the problem with which one is not let in; None where one is."""
    try:
        asyncio.run(waiting)
    except ProblemError as problem:
        return problem.name
    return None


def test_who_is_known_is_let_in_and_counted():
    middleware, worker = admission(_CREDENTIAL), asker("GET", "/api/v1/me", CREDENTIAL)
    seen = [refusal(middleware.admit(worker, request())) for _ in range(3)]
    assert seen == [None, "too-many-requests", "too-many-requests"]


def test_all_strangers_share_one_bucket_and_wait_where_it_is_empty():
    held = []
    middleware = admission(burst=2, held=held)
    strangers = [
        asker("GET", path, new_token(prefix))
        for path, prefix in [("/api/v1/me", "qcw_"), ("/api/v1/campaigns", "qck_")] * 2
    ]
    seen = [
        refusal(middleware.admit(one, request()))
        for one in [*strangers, asker("GET", "/api/v1/me")]
    ]
    assert seen == ["credential"] * 2 + ["too-many-requests"] * 3
    assert len(held) == 3


def test_links_of_dashboards_that_are_no_more_are_told_so_by_their_routes():
    reading = asker("GET", f"/api/v1/campaigns/{CAMPAIGN}", TOKEN)
    exchanging = asker("POST", f"/api/v1/campaigns/{CAMPAIGN}/dashboard-tokens", CODE)
    middleware = admission(burst=2, held=[])
    seen = [refusal(middleware.admit(one, request())) for one in (reading, exchanging, reading)]
    assert seen == [None, None, "too-many-requests"]
    assert middleware.lookups.asked == [("token", True), ("code", False), ("token", True)]
    middleware.learn(reading, HTTPStatus.UNAUTHORIZED)
    assert middleware.lookups.forgotten == []


def test_a_key_that_has_ended_is_told_so_again(start_server):
    desk = new_desk(start_server())
    [key] = desk.client.get("/keys").raise_for_status().json()["items"]
    desk.client.delete(f"/keys/{key['id']}").raise_for_status()
    for _ in range(2):
        check_problem(desk.client.get("/campaigns"), 401, "key-revoked")


PUBLIC = [f"/api/v1/public/campaigns/{CAMPAIGN}", "/api/v1/openapi.json", "/api/v1/x"]
UNCOUNTED = ["/api/v1/healthz", "/api/v1/readyz", "/worker/worker.css", f"/j/{CAMPAIGN}", "/x"]


@pytest.mark.parametrize("path", UNCOUNTED)
def test_pages_and_health_are_for_all_as_often_as_they_ask(path):
    middleware = admission()
    assert [refusal(middleware.admit(asker("GET", path), request())) for _ in range(3)] == [
        None
    ] * 3
    assert middleware.lookups.asked == []


def test_where_nothing_is_wanted_each_source_has_a_bucket():
    held = []
    middleware = admission(burst=3, held=held)
    askers = [asker("GET", path) for path in PUBLIC] + [asker("SECRET", "/api/v1/x", KEY)]
    for place in (1, 2):
        seen = [refusal(middleware.admit(one, request(f"192.0.2.{place}"))) for one in askers]
        assert seen == [None] * 3 + ["too-many-requests"]
    assert len(held) == 2
    assert refusal(middleware.admit(asker("GET", "/api/v1/me"), request())) == "credential"
    assert middleware.lookups.asked == []


_THERE = Shown("campaign", bytes.fromhex(CAMPAIGN))


@pytest.mark.parametrize(
    ("known", "room", "seen"),
    [
        ((_THERE,), 1, None),
        ((_THERE,), 0, "too-many-joins"),
        ((_THERE, _CREDENTIAL), 0, None),
        ((), 0, None),
    ],
)
def test_who_is_new_needs_room(known, room, seen):
    held = []
    middleware = admission(*known, held=held, room=room)
    assert refusal(middleware.admit(asker("PUT", JOINING, CREDENTIAL), request())) == seen
    assert len(held) == (seen is not None)
    assert not any(remember for _, remember in middleware.lookups.asked)


@pytest.mark.parametrize("known", [(), (_CREDENTIAL,)])
def test_those_who_join_count_as_their_sources_do(known):
    held = []
    middleware = admission(*known, burst=2, held=held)
    newcomer, public = asker("PUT", JOINING, CREDENTIAL), asker("GET", PUBLIC[0])
    for place in (1, 2):
        where = request(f"192.0.2.{place}")
        seen = [refusal(middleware.admit(one, where)) for one in (newcomer, public, newcomer)]
        assert seen == [None, None, "too-many-requests"]
    assert len(held) == 2
    assert middleware.lookups.asked == []


def test_answers_say_who_is_known():
    middleware = admission()
    newcomer, worker = (
        asker(method, path, CREDENTIAL)
        for method, path in (("PUT", JOINING), ("GET", "/api/v1/me"))
    )
    for status in (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED):
        middleware.learn(worker, status)
    assert middleware.lookups.forgotten == [_CREDENTIAL]
    middleware.learn(newcomer, HTTPStatus.FORBIDDEN)
    assert middleware.lookups.known == set()
    middleware.learn(newcomer, HTTPStatus.CREATED)
    assert middleware.lookups.known == {_CREDENTIAL}
    middleware.learn(asker("GET", "/api/v1/me"), HTTPStatus.UNAUTHORIZED)


@pytest.mark.usefixtures("held_briefly")
def test_strangers_keep_nobody_from_joining_and_asking(start_server):
    own = start_server(requests_per_second=0.001, burst=20, joins_per_minute=0)
    desk, stranger = new_desk(own), own.client(new_token("qcw_"))
    campaign, closed = desk.campaign(join_mode="open"), desk.campaign()
    invite = desk.invite(closed)[0]
    seen = [stranger.get("/me").status_code for _ in range(21)]
    assert seen == [401] * 20 + [429]
    check_problem(own.client().get("/campaigns"), 429, "too-many-requests")
    for one, shown in ((campaign, None), (closed, invite)):
        worker = desk.guest(one)
        assert desk.join(worker, shown).status_code == 201
        assert desk.join(worker, shown).status_code == 200
        assert worker.client.get("/me").status_code == 200
    uninvited = desk.guest(closed)
    check_problem(desk.join(uninvited, new_token("qci_")), 403, "invite-invalid")


@pytest.mark.usefixtures("held_briefly")
def test_who_floods_what_is_public_keeps_nobody_else_from_it(start_server):
    own = start_server(requests_per_second=0.001, burst=3, trusted_proxy="127.0.0.1")
    campaign, client = new_desk(own).campaign(tasks=1), own.client()
    client.headers["X-Forwarded-For"] = "192.0.2.1"
    path = f"/public/campaigns/{campaign}"
    assert [client.get(path).status_code for _ in range(4)] == [200] * 3 + [429]
    refused = client.get("/openapi.json")
    check_problem(refused, 429, "too-many-requests")
    assert refused.headers["retry-after"] == "1"
    assert [client.get(one).status_code for one in ("/healthz", "/readyz")] == [200, 200]
    assert client.get(f"{own.url}/j/{campaign}").status_code == 200
    client.headers["X-Forwarded-For"] = "192.0.2.2"
    assert client.get(path).status_code == 200


def test_who_leaves_is_a_stranger_from_then_on(start_server):
    desk = new_desk(start_server())
    worker = desk.worker(desk.campaign(join_mode="open"))
    assert worker.client.get("/me").status_code == 200
    worker.client.delete("/me").raise_for_status()
    for _ in range(2):
        check_problem(worker.client.get("/me"), 401, "credential")


def test_a_source_asks_so_often_at_most(start_server, monkeypatch):
    """Its rejections are delayed: otherwise they would keep the server busy."""
    held = []

    async def hold_back(_):
        held.append(True)

    monkeypatch.setattr(TurningAway, "hold_back", hold_back)
    own = start_server(source_requests_per_second=0.001, source_burst=3, trusted_proxy="127.0.0.1")
    client = own.client()
    for place, seen in ((1, [200, 200, 200, 429]), (2, [200])):
        headers = {"X-Forwarded-For": f"192.0.2.{place}"}
        assert [client.get("/readyz", headers=headers).status_code for _ in seen] == seen
    assert client.get("/healthz").status_code == 200
    assert held == [True]


@pytest.fixture
def looked(server, monkeypatch):
    """Return what looks up, and what was looked up in the database."""
    seen = []

    def note(connection, shown_key):
        seen.append(set(shown_key))
        return known_among(connection, shown_key)

    known_among = module.known_among
    monkeypatch.setattr(module, "known_among", note)
    found = Lookups(database=server.database)
    yield found, seen
    found.close()
    assert not found.alive


def shown_key(token):
    return Shown("key", token_hash(token))


def ask(looked_up, *tokens, **members):
    async def asked():
        wanted = (looked_up.is_known(one, **members) for one in tokens)
        return await asyncio.gather(*wanted)

    return asyncio.run(asked())


def test_what_was_found_is_remembered_and_so_is_what_was_not(looked, server):
    found, seen = looked
    key = shown_key(issue_key(server.database, secrets.token_hex(8)))
    stranger = shown_key(new_token("qck_"))
    assert ask(found, key, stranger) == [True, False]
    assert set().union(*seen) == {key, stranger}
    seen.clear()
    assert ask(found, key, stranger) == [True, False]
    assert seen == []


def test_what_is_not_to_be_remembered_is_looked_up_again(looked):
    found, seen = looked
    stranger = shown_key(new_token("qck_"))
    for _ in range(2):
        assert ask(found, stranger, remember=False) == [False]
    assert seen == [{stranger}] * 2


def test_many_are_looked_up_at_once(looked):
    found, seen = looked
    assert not any(ask(found, *(shown_key(new_token("qck_")) for _ in range(400))))
    assert len(seen) < 40


def test_it_is_told_what_changes(looked):
    found, seen = looked
    one = shown_key(new_token("qck_"))
    found.learn(one)
    assert ask(found, one) == [True]
    found.forget(one)
    assert ask(found, one) == [False]
    found.learn(one)
    assert ask(found, one) == [True]
    assert seen == []


def test_what_is_remembered_is_so_for_a_while_and_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    memory = module._Memory(seconds=60.0)
    tokens = [shown_key(new_token("qck_")) for _ in range(3)]
    for one in tokens:
        memory.add(one)
    assert [one in memory for one in tokens] == [False, True, True]
    now[0] = 59.9
    assert [one in memory for one in tokens] == [False, True, True]
    now[0] = 60.1
    assert not any(one in memory for one in tokens)


@pytest.mark.usefixtures("log_as_before")
def test_without_a_database_nobody_is_a_stranger(looked, monkeypatch):
    def fail(*_):
        raise OperationalError("", None, Exception())

    found, _ = looked
    monkeypatch.setattr(module, "known_among", fail)
    stranger = shown_key(new_token("qck_"))
    assert ask(found, stranger) == [True]
    monkeypatch.undo()
    assert ask(found, stranger) == [False]


@pytest.mark.parametrize("path", ["/api/v1/healthz", "/secret", "/api/v1/openapi.json"])
def test_every_answer_carries_the_headers_of_a_careful_server(server, path):
    headers = httpx.get(f"{server.url}{path}", verify=PLAIN, timeout=LONG).headers
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
    middleware, arrived = threading.Event(), threading.Event()

    def wait(*_, **__):
        arrived.set()
        assert middleware.wait(LONG)
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
        middleware.set()
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


@pytest.mark.grid
@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked", b"Content-Length: 999999"])
def test_who_sends_nothing_more_keeps_nobody_from_being_served(start_server, head):
    own = start_server(at_once=2)
    desk = new_desk(own)
    worker = desk.worker(desk.campaign(join_mode="open"))
    with ExitStack() as held:
        for _ in range(70):
            held.enter_context(connect(own)).sendall(shown(desk) + head + b"\r\n\r\n")
        assert in_time(lambda: own.app.state.shared.incoming.waiting == 70)
        worker.send_values(1, 0)
        with connect(own) as whole:
            whole.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
            assert whole.recv(12) == b"HTTP/1.1 401"
    assert in_time(lambda: own.app.state.shared.incoming.waiting == 0)


def read_all(connection):
    """Return what comes until a connection ends."""
    answer = b""
    while part := connection.recv(65_536):
        answer += part
    return answer


def test_a_body_has_to_come_in_time(start_server, monkeypatch):
    monkeypatch.setattr(TimedConnection, "await_head", lambda self, *, coming: None)  # noqa: ARG005
    own = start_server()
    own.app.state.shared.incoming.patience = 0.2
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
    own = start_server(joins_at_once=1, joins_per_minute=0.1)
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
    assert b"\r\nretry-after: 600\r\n" in answer.lower()  # as `too-many-joins` has it
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
