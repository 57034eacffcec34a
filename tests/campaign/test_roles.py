"""Who may ask what: every route, for every kind of asker. A new route without a row fails."""

import re
import secrets
from functools import cache, partial
from pathlib import Path

import pytest
from tests.campaign.people import YES_NO, Desk, documented_paths, new_desk
from tests.campaign.pictures import PNG, hash_of

from quietcrowd import RandomizedResponse
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import key_id, token_hash

DRAFT = {"title": "T", "mechanism": RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()}
ANYONE = (200,) * 9
CSV = {"content": b"task,a\nnew,1\n", "headers": {"Content-Type": "text/csv"}}
OWN = "/api/v1/campaigns/{campaign}"
INVITE = f"qci_{'A' * 43}"
PUBLIC = "/api/v1/public/campaigns/{campaign}"
HTTP = Path(__file__).parents[2] / "docs" / "reference" / "http.md"


def owners(status, stranger=404):
    """Only the campaign's requester."""
    return (401, stranger, 401, 401, 401, status, 401, 401, 401)


def readers(status):
    """The campaign's requester, and whoever has a token for its results; a code is none."""
    return (401, 404, 401, 401, 401, status, status, 404, 401)


def workers(status):
    """Whoever takes part, in whichever campaign: what is shown is their own."""
    return (401, 401, 401, status, status, 401, 401, 401, 401)


ROLES = (
    *("nobody", "stranger", "former", "elsewhere", "worker", "owner"),
    *("reader", "reader elsewhere", "code"),
)

ROWS = {
    ("GET", "/api/v1/healthz"): ("open", {}, ANYONE),
    ("GET", "/api/v1/readyz"): ("open", {}, ANYONE),
    ("GET", "/api/v1/campaigns"): ("open", {}, owners(200, stranger=200)),
    ("POST", "/api/v1/campaigns"): ("open", {"json": DRAFT}, owners(201, stranger=201)),
    ("GET", OWN): ("open", {}, readers(200)),
    ("PATCH", OWN): (
        "open",
        {"json": {"max_participants": 9}, "headers": {"If-Match": '"3"'}},
        owners(200),
    ),
    ("DELETE", OWN): ("open", {}, owners(204)),
    ("POST", f"{OWN}/open"): ("draft", {}, owners(200)),
    ("POST", f"{OWN}/close"): ("open", {}, owners(200)),
    ("GET", f"{OWN}/readiness"): ("draft", {}, owners(200)),
    ("GET", f"{OWN}/preview"): ("open", {}, owners(200)),
    ("POST", f"{OWN}/copy"): ("open", {}, owners(201)),
    ("POST", f"{OWN}/tasks"): ("draft", CSV, owners(200)),
    ("POST", f"{OWN}/tasks/reading"): ("draft", CSV, owners(200)),
    ("GET", f"{OWN}/tasks"): ("open", {}, readers(200)),
    ("DELETE", f"{OWN}/tasks"): ("draft", {}, owners(204)),
    ("PUT", f"{OWN}/images/{{sha256}}"): ("draft", {"content": PNG}, owners(204)),
    ("POST", f"{OWN}/images"): ("draft", {"content": PNG}, owners(200)),
    ("GET", f"{OWN}/images/{{sha256}}"): ("open", {}, owners(200)),
    ("POST", f"{OWN}/invites"): ("invite", {"json": {"count": 1, "local": True}}, owners(201)),
    ("GET", f"{OWN}/invites"): ("open", {}, owners(200)),
    ("DELETE", f"{OWN}/invites"): ("open", {}, owners(204)),
    ("POST", f"{OWN}/invites/revoke"): ("open", {"json": {"invite": INVITE}}, owners(204)),
    ("POST", f"{OWN}/invites/replace"): ("invite", {"json": {"invite": INVITE}}, owners(201)),
    ("GET", f"{OWN}/funnel"): ("open", {}, readers(200)),
    ("GET", f"{OWN}/excluded"): ("open", {}, owners(200)),
    ("PUT", f"{OWN}/excluded/{{worker}}"): ("open", {}, owners(204)),
    ("DELETE", f"{OWN}/excluded/{{worker}}"): ("open", {}, owners(204)),
    ("DELETE", f"{OWN}/workers/{{worker}}"): ("open", {}, owners(204)),
    ("GET", f"{OWN}/results"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/results/head"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/results/truths"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/results/workers"): ("open", {}, owners(409)),
    ("GET", f"{OWN}/estimates"): ("open", {}, readers(409)),
    ("POST", f"{OWN}/inferences"): ("open", {}, owners(202)),
    ("GET", f"{OWN}/reports"): ("open", {}, owners(200)),
    ("GET", f"{OWN}/truths"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/shares"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/rounds"): ("open", {}, readers(409)),
    ("GET", f"{OWN}/series"): ("open", {}, readers(409)),
    ("POST", f"{OWN}/dashboard-codes"): ("open", {}, owners(201)),
    ("POST", f"{OWN}/dashboard-tokens"): ("open", {}, (*[401] * 8, 201)),
    ("GET", "/api/v1/keys"): ("open", {}, owners(200, stranger=200)),
    ("GET", "/api/v1/server"): ("open", {}, owners(200, stranger=200)),
    ("GET", "/api/v1/plans"): ("open", {}, owners(200, stranger=200)),
    ("POST", "/api/v1/plans"): ("open", {"json": {"tasks": 1}}, owners(422, stranger=422)),
    ("DELETE", "/api/v1/keys/{key}"): ("open", {}, owners(204)),
    ("GET", PUBLIC): ("open", {}, ANYONE),
    ("GET", f"{PUBLIC}/config"): ("open", {}, ANYONE),
    ("PUT", f"{PUBLIC}/participants/{{participant}}"): (
        "open",
        {"json": {"config_hash": "of the campaign"}},
        (401, 401, 401, 401, 200, 401, 401, 401, 401),
    ),
    ("GET", "/api/v1/me"): ("open", {}, workers(200)),
    ("PUT", "/api/v1/me/place"): ("open", {}, workers(204)),
    ("GET", "/api/v1/me/tasks"): ("open", {}, workers(200)),
    ("GET", "/api/v1/me/images/{sha256}"): ("open", {}, (401, 401, 401, 404, 200, *[401] * 4)),
    ("GET", "/api/v1/me/reports"): ("open", {}, workers(200)),
    ("POST", "/api/v1/me/reports"): (
        "open",
        {"json": {"config_hash": "of the campaign", "reports": "of a task"}},
        (401, 401, 401, 409, 200, *[401] * 4),
    ),
    ("DELETE", "/api/v1/me"): ("open", {}, workers(204)),
}


def test_every_route_has_a_row():
    paths = documented_paths()
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == (
        ROWS.keys()
    )


def test_the_page_on_http_has_every_route():
    written = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (\S+)`", HTTP.read_text())
    short = {"*": OWN, "+": PUBLIC}
    named = {
        (method, short[path[0]] + path[1:] if path[0] in short else f"/api/v1{path}")
        for method, path in written
    }
    assert named == ROWS.keys()


@pytest.fixture(scope="module")
def cast(server):
    """Return those who ask and are the same for all routes."""
    name = secrets.token_hex(8)
    former = issue_key(server.database, name)
    issue_key(server.database, name, replace=True)
    spare, key = (issue_key(server.database, f"{name} owns") for _ in range(2))
    desk, other = Desk(server, key, server.client(key)), new_desk(server)
    tokens = {"nobody": None, "stranger": other.key, "former": former, "owner": desk.key}
    tokens["reader elsewhere"] = desk.token(desk.campaign())
    return desk, tokens, key_id(token_hash(spare)).hex()


def new_stage(cast, state, image):
    """Return a campaign, who takes part in one, and what all askers show."""
    desk, tokens, _ = cast
    campaign = desk.campaign(join_mode="open", image=image)
    worker, elsewhere = desk.worker(campaign), desk.worker(desk.campaign(join_mode="open"))
    if state == "draft":
        campaign = desk.draft()["id"]
        desk.import_csv(campaign, "task,a\nold,1\n").raise_for_status()
    elif state == "invite":
        campaign = desk.campaign()
    shown = {**tokens, "elsewhere": elsewhere.credential, "worker": worker.credential}
    shown |= {"reader": desk.token(campaign), "code": desk.code(campaign)}
    return campaign, worker, shown


@pytest.fixture(scope="module")
def stage(cast):
    """Return a way to have a stage: one for all GET of a kind, which change nothing of it."""
    shared = cache(partial(new_stage, cast))
    return lambda method, *kind: (shared if method == "GET" else shared.__wrapped__)(*kind)


@pytest.mark.grid
@pytest.mark.parametrize(("method", "path"), ROWS)
def test_a_route_answers_those_whom_it_is_for(server, cast, stage, method, path):
    state, request, expected = ROWS[method, path]
    image = PNG if "sha256" in path else None
    campaign, worker, shown = stage(method, state, image)
    body = request.get("json", {})
    if "config_hash" in body:
        request = {"json": {"config_hash": worker.config_hash}}
        if "reports" in body:
            task = worker.tasks()[0]["task_id"]
            request["json"]["reports"] = [worker.report(task, 1)]
    named = {"campaign": campaign, "participant": worker.id, "sha256": hash_of(PNG)}
    named["key"] = cast[2]
    named["worker"] = worker.client.get("/me").json()["pseudonym"]
    url = path.format(**named).removeprefix("/api/v1")
    seen = {role: server.client(shown[role]).request(method, url, **request) for role in ROLES}
    statuses = {role: answer.status_code for role, answer in seen.items()}
    assert statuses == dict(zip(ROLES, expected, strict=True))
    if path not in (PUBLIC, f"{PUBLIC}/config", OWN):
        told = [role for role in ROLES if worker.campaign in seen[role].text]
        assert set(told) <= {"owner", "worker"}
