import re
import secrets
import threading

import pytest
from attrs import evolve
from tests.campaign.people import check_problem, new_desk

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store.dashboards import CODE_SECONDS, TOKEN_SECONDS
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.campaign.terms.tokens import new_token


@pytest.fixture
def name():
    return f"rotates {secrets.token_hex(8)}"


def test_keys_are_listed_by_their_ends_alone(server, name):
    made = [issue_key(server.database, name, expires_at=end) for end in (None, 4_000_000_000)]
    past = issue_key(server.database, name, expires_at=1_000)
    listed = server.client(made[0]).get("/keys")
    items = {one["last4"]: one for one in listed.json()["items"]}
    assert items.keys() == {key[-4:] for key in (*made, past)}
    assert [items[key[-4:]]["expires_at"] for key in made] == [None, 4_000_000_000]
    assert [items[key[-4:]]["state"] for key in (*made, past)] == ["valid", "valid", "expired"]
    assert [items[key[-4:]]["shown"] for key in made] == [True, False]
    for key in (*made, past):
        assert key[:-4] not in listed.text


def test_a_revoked_key_is_told_so_and_nobody_else_is(server, name):
    leaked, kept = (issue_key(server.database, name) for _ in range(2))
    desk = server.client(kept)
    [id_] = [one["id"] for one in desk.get("/keys").json()["items"] if not one["shown"]]
    check_problem(new_desk(server).client.delete(f"/keys/{id_}"), 404, "not-found")
    assert server.client(leaked).get("/campaigns").status_code == 200
    assert desk.delete(f"/keys/{id_}").status_code == 204
    assert desk.delete(f"/keys/{id_}").status_code == 204
    check_problem(server.client(leaked).get("/campaigns"), 401, "key-revoked")
    check_problem(server.client(new_token("qck_")).get("/campaigns"), 401, "credential")
    check_problem(server.client(f"{leaked[:-1]}_").get("/campaigns"), 401, "credential")
    assert desk.get("/campaigns").status_code == 200
    states = {one["last4"]: one["state"] for one in desk.get("/keys").json()["items"]}
    assert states == {leaked[-4:]: "revoked", kept[-4:]: "valid"}


def test_a_key_ends_itself(server, name):
    client = server.client(issue_key(server.database, name))
    [mine] = client.get("/keys").json()["items"]
    assert client.delete(f"/keys/{mine['id']}").status_code == 204
    check_problem(client.get("/keys"), 401, "key-revoked")


def test_a_key_expires_to_the_second(start_server, name):
    server = start_server()
    key = issue_key(server.database, name, expires_at=2_000)
    for now, status in ((1_999.9, 200), (2_000.0, 401)):
        server.app.state.service = evolve(server.service, clock=lambda now=now: now)
        assert server.client(key).get("/keys").status_code == status
    check_problem(server.client(key).get("/keys"), 401, "key-expired")


PSEUDONYM = "worker-[0-9a-f]{16}"
PARTS = ("/results", "/results/head", "/results/truths")


@pytest.fixture
def campaign(desk, server):
    """Return a campaign with results."""
    made = desk.campaign(join_mode="open", completion_code="BIRD-77")
    for _ in range(4):
        desk.worker(made).send_values(1, 0, 1)
    Inferrer(server.database).infer(bytes.fromhex(made))
    named = desk.client.get(f"/campaigns/{made}/results").json()["workers"][0]["worker"]
    desk.client.put(f"/campaigns/{made}/excluded/{named}").raise_for_status()
    Inferrer(server.database).infer(bytes.fromhex(made))
    return made


def exchange(desk, campaign, code):
    return desk.server.client(code).post(f"/campaigns/{campaign}/dashboard-tokens")


def test_a_code_is_a_link_and_good_once(desk, campaign):
    made = desk.client.post(f"/campaigns/{campaign}/dashboard-codes")
    assert made.status_code == 201
    code = made.json()["code"]
    assert made.json() == {
        "code": code,
        "fragment": f"/dashboard/{campaign}#c={code}",
        "seconds": 600,
    }
    first = exchange(desk, campaign, code)
    assert (first.status_code, first.json()["seconds"]) == (201, TOKEN_SECONDS)
    check_problem(exchange(desk, campaign, code), 401, "code-invalid")
    assert desk.server.client(first.json()["token"]).get(f"/campaigns/{campaign}").is_success


def test_of_many_who_show_a_code_at_once_one_gets_a_token(desk, campaign):
    code, statuses = desk.code(campaign), []
    clients = [desk.server.client(code) for _ in range(8)]
    ready = threading.Barrier(len(clients))

    def show(client):
        ready.wait()
        answer = client.post(f"/campaigns/{campaign}/dashboard-tokens")
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=show, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201, *([401] * 7)]


def test_a_code_is_of_one_campaign(desk, campaign):
    code, other = desk.code(campaign), desk.campaign()
    check_problem(exchange(desk, other, code), 401, "code-invalid")
    assert exchange(desk, campaign, code).status_code == 201
    check_problem(exchange(desk, campaign, new_token("qcd_")), 401, "code-invalid")
    for shown in (desk.key, new_token("qcr_"), "qcd_short", ""):
        check_problem(exchange(desk, campaign, shown or None), 401, "credential")


def test_a_token_reads_the_results_of_one_campaign_and_no_worker(desk, campaign):
    reader = desk.server.client(desk.token(campaign))
    url = f"/campaigns/{campaign}"
    own, seen = (client.get(url).json() for client in (desk.client, reader))
    assert own.pop("completion_code") == "BIRD-77"
    assert seen.pop("completion_code") is None
    assert own == seen
    results, shown = (client.get(f"{url}/results") for client in (desk.client, reader))
    assert len(results.json()["excluded"]) == 1
    unnamed = {"workers": [], "excluded": []}
    assert shown.json() | {"warnings": []} == {**results.json(), **unnamed, "warnings": []}
    assert re.search(PSEUDONYM, results.text)
    check_problem(reader.get(f"{url}/results/workers"), 401, "credential")
    for path in ("", *PARTS, "/truths", "/truths?format=csv", "/tasks"):
        answer = reader.get(f"{url}{path}")
        assert answer.status_code == 200
        assert re.search(PSEUDONYM, answer.text) is None
    assert reader.get(f"{url}/truths").text == desk.client.get(f"{url}/truths").text
    for path in PARTS:
        seen, own = (one.get(url + path).headers["etag"] for one in (reader, desk.client))
        for client, etag, status in (
            (reader, seen, 304),
            (reader, own, 200),
            (desk.client, seen, 200),
            (desk.client, own, 304),
        ):
            answer = client.get(url + path, headers={"If-None-Match": etag})
            assert answer.status_code == status
    check_problem(reader.get(f"/campaigns/{desk.campaign()}"), 404, "not-found")


def test_codes_and_tokens_end(start_server):
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign()

    def at(seconds):
        server.app.state.service = evolve(server.service, clock=lambda: seconds)

    at(1_000.0)
    early, late = desk.code(campaign), desk.code(campaign)
    at(1_000.0 + CODE_SECONDS - 0.1)
    made = exchange(desk, campaign, early)
    reader = server.client(made.raise_for_status().json()["token"])
    at(1_000.0 + CODE_SECONDS)
    check_problem(exchange(desk, campaign, late), 401, "code-invalid")
    end = 1_000 + CODE_SECONDS - 1 + TOKEN_SECONDS
    at(end - 0.1)
    assert reader.get(f"/campaigns/{campaign}").status_code == 200
    at(end + 0.0)
    check_problem(reader.get(f"/campaigns/{campaign}"), 401, "code-invalid")


def test_nothing_outlives_the_key_that_made_it(start_server):
    server = start_server()
    server.app.state.service = evolve(server.service, clock=lambda: 1_000.0)
    desk = new_desk(server)
    campaign = desk.campaign()
    [name] = ["keeps"]
    short = issue_key(server.database, name, expires_at=1_300)
    client = server.client(short)
    mine = client.post("/campaigns", json={"title": "t", "mechanism": desk.draft()["mechanism"]})
    made = client.post(f"/campaigns/{mine.json()['id']}/dashboard-codes").json()
    assert exchange(desk, mine.json()["id"], made["code"]).json()["seconds"] == 300

    code, reader = desk.code(campaign), server.client(desk.token(campaign))
    [key] = desk.client.get("/keys").json()["items"]
    assert reader.get(f"/campaigns/{campaign}").status_code == 200
    desk.client.delete(f"/keys/{key['id']}").raise_for_status()
    check_problem(reader.get(f"/campaigns/{campaign}"), 401, "code-invalid")
    check_problem(exchange(desk, campaign, code), 401, "code-invalid")


def test_a_deleted_campaign_has_no_readers(desk, campaign):
    reader, code = desk.server.client(desk.token(campaign)), desk.code(campaign)
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    check_problem(reader.get(f"/campaigns/{campaign}"), 401, "code-invalid")
    check_problem(exchange(desk, campaign, code), 401, "code-invalid")
