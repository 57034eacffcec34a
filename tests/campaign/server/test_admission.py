import asyncio
from http import HTTPStatus

import pytest
from attrs import define, field
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from tests.campaign.people import check_problem, new_desk

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.admission import Admission, asker_of
from quietcrowd.campaign.server.in_flight import ANONYMOUS, NEWCOMER
from quietcrowd.campaign.server.join_limits import JoinLimits
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.sources import Sources
from quietcrowd.campaign.store.shown_tokens import Shown
from quietcrowd.campaign.terms.settings import MAX_BODY, MAX_SMALL_BODY
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
    door, worker = admission(_CREDENTIAL), asker("GET", "/api/v1/me", CREDENTIAL)
    seen = [refusal(door.admit(worker, request())) for _ in range(3)]
    assert seen == [None, "too-many-requests", "too-many-requests"]


def test_all_strangers_share_one_bucket_and_wait_where_it_is_empty():
    held = []
    door = admission(burst=2, held=held)
    strangers = [
        asker("GET", path, new_token(prefix))
        for path, prefix in [("/api/v1/me", "qcw_"), ("/api/v1/campaigns", "qck_")] * 2
    ]
    seen = [refusal(door.admit(one, request())) for one in [*strangers, asker("GET", "/api/v1/me")]]
    assert seen == ["credential"] * 2 + ["too-many-requests"] * 3
    assert len(held) == 3


def test_links_of_dashboards_that_are_no_more_are_told_so_by_their_routes():
    reading = asker("GET", f"/api/v1/campaigns/{CAMPAIGN}", TOKEN)
    exchanging = asker("POST", f"/api/v1/campaigns/{CAMPAIGN}/dashboard-tokens", CODE)
    door = admission(burst=2, held=[])
    seen = [refusal(door.admit(one, request())) for one in (reading, exchanging, reading)]
    assert seen == [None, None, "too-many-requests"]
    assert door.lookups.asked == [("token", True), ("code", False), ("token", True)]
    door.learn(reading, HTTPStatus.UNAUTHORIZED)
    assert door.lookups.forgotten == []


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
    door = admission()
    assert [refusal(door.admit(asker("GET", path), request())) for _ in range(3)] == [None] * 3
    assert door.lookups.asked == []


def test_where_nothing_is_wanted_each_source_has_a_bucket():
    held = []
    door = admission(burst=3, held=held)
    askers = [asker("GET", path) for path in PUBLIC] + [asker("SECRET", "/api/v1/x", KEY)]
    for place in (1, 2):
        seen = [refusal(door.admit(one, request(f"192.0.2.{place}"))) for one in askers]
        assert seen == [None] * 3 + ["too-many-requests"]
    assert len(held) == 2
    assert refusal(door.admit(asker("GET", "/api/v1/me"), request())) == "credential"
    assert door.lookups.asked == []


_OPEN = Shown("open-campaign", bytes.fromhex(CAMPAIGN))


@pytest.mark.parametrize(
    ("known", "room", "seen"),
    [
        ((_OPEN,), 1, None),
        ((_OPEN,), 0, "too-many-joins"),
        ((_OPEN, _CREDENTIAL), 0, None),
        ((), 0, None),
    ],
)
def test_who_is_new_needs_room_where_anybody_may_join(known, room, seen):
    held = []
    door = admission(*known, held=held, room=room)
    assert refusal(door.admit(asker("PUT", JOINING, CREDENTIAL), request())) == seen
    assert len(held) == (seen is not None)
    assert not any(remember for _, remember in door.lookups.asked)


@pytest.mark.parametrize("known", [(), (_CREDENTIAL,)])
def test_those_who_join_count_as_their_sources_do(known):
    held = []
    door = admission(*known, burst=2, held=held)
    newcomer, public = asker("PUT", JOINING, CREDENTIAL), asker("GET", PUBLIC[0])
    for place in (1, 2):
        where = request(f"192.0.2.{place}")
        seen = [refusal(door.admit(one, where)) for one in (newcomer, public, newcomer)]
        assert seen == [None, None, "too-many-requests"]
    assert len(held) == 2
    assert door.lookups.asked == []


def test_answers_say_who_is_known():
    door = admission()
    newcomer, worker = (
        asker(method, path, CREDENTIAL)
        for method, path in (("PUT", JOINING), ("GET", "/api/v1/me"))
    )
    for status in (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED):
        door.learn(worker, status)
    assert door.lookups.forgotten == [_CREDENTIAL]
    door.learn(newcomer, HTTPStatus.FORBIDDEN)
    assert door.lookups.known == set()
    door.learn(newcomer, HTTPStatus.CREATED)
    assert door.lookups.known == {_CREDENTIAL}
    door.learn(asker("GET", "/api/v1/me"), HTTPStatus.UNAUTHORIZED)


@pytest.mark.usefixtures("held_briefly")
def test_strangers_keep_nobody_from_joining_and_asking(start_server):
    own = start_server(requests_per_second=0.01, burst=20, joins_per_minute=0)
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
    own = start_server(requests_per_second=0.01, burst=3, proxy="127.0.0.1")
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


@pytest.mark.usefixtures("held_briefly")
def test_a_source_asks_so_often_at_most(start_server):
    own = start_server(source_requests_per_second=0.01, source_burst=3, proxy="127.0.0.1")
    client = own.client()
    for place, seen in ((1, [200, 200, 200, 429]), (2, [200])):
        headers = {"X-Forwarded-For": f"192.0.2.{place}"}
        assert [client.get("/readyz", headers=headers).status_code for _ in seen] == seen
    assert client.get("/healthz").status_code == 200
