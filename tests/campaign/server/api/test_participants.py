import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from attrs import evolve
from sqlalchemy import select
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import check_problem, new_desk

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server import incoming, limits
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.campaign.terms.tokens import new_token, token_hash, withdrawn_hash


def test_a_worker_can_check_what_is_agreed_to(desk):
    guest = desk.guest(desk.campaign())
    assert canonical_hash(guest.config).hex() == guest.config_hash
    assert any("50 % sure of it before" in sentence for sentence in guest.config["consent"])


def test_a_draft_is_not_public(server, desk):
    draft = desk.draft()["id"]
    check_problem(server.client().get(f"/public/campaigns/{draft}"), 404, "not-found")


def test_the_configuration_can_be_had_as_it_is_hashed(server, desk):
    campaign = desk.campaign()
    public = server.client().get(f"/public/campaigns/{campaign}").json()
    answer = server.client().get(f"/public/campaigns/{campaign}/config")
    assert answer.headers["content-type"] == "application/json"
    assert hashlib.sha256(answer.content).hexdigest() == public["config_hash"]
    assert answer.headers["etag"] == f'"{public["config_hash"]}"'
    assert answer.json() == public["config"]
    for path in (f"{desk.draft()['id']}/config", f"{'0' * 32}/config"):
        check_problem(server.client().get(f"/public/campaigns/{path}"), 404, "not-found")


def test_joining_twice_is_joining_once(desk):
    campaign = desk.campaign()
    guest, [invite] = desk.guest(campaign), desk.invite(campaign)
    first, second = desk.join(guest, invite), desk.join(guest, invite)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json() == guest.client.get("/me").json()
    assert first.json()["consent_hash"] == guest.config_hash
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 0
    assert [guest.place().status_code for _ in range(2)] == [204, 204]
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 1


@pytest.mark.parametrize(
    "invite",
    [None, "secret", new_token("qci_"), new_token("qck_")],
    ids=["none", "no token", "unknown", "of a requester"],
)
def test_an_invite_is_needed(desk, invite):
    refused = desk.join(desk.guest(desk.campaign()), invite)
    check_problem(refused, 403, "invite-invalid")
    assert "secret" not in refused.text


def test_an_invite_of_another_campaign_is_none(desk):
    [invite] = desk.invite(desk.campaign())
    check_problem(desk.join(desk.guest(desk.campaign()), invite), 403, "invite-invalid")


def test_a_refused_worker_keeps_the_invite(desk):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    wrong = evolve(desk.guest(campaign), config_hash="0" * 64)
    check_problem(desk.join(wrong, invite), 409, "config-mismatch")
    assert desk.join(desk.guest(campaign), invite).status_code == 201


def test_a_participant_is_who_shows_the_credential(desk):
    campaign = desk.campaign(join_mode="open")
    guest, other = desk.guest(campaign), desk.guest(campaign)
    foreign = evolve(guest, credential=other.credential)
    check_problem(desk.join(foreign), 401, "credential")


def test_a_credential_serves_one_campaign(desk):
    worker = desk.worker(desk.campaign(join_mode="open"))
    elsewhere = desk.guest(desk.campaign(join_mode="open"))
    again = evolve(elsewhere, credential=worker.credential, client=worker.client)
    check_problem(desk.join(again), 409, "credential-used")


def test_a_campaign_can_be_full(desk):
    campaign = desk.campaign(join_mode="open", max_participants=1)
    worker = desk.worker(campaign)
    check_problem(desk.join(desk.guest(campaign)), 409, "full")
    assert desk.join(worker).status_code == 200


def test_nobody_joins_what_is_closed(desk):
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    guest = desk.guest(campaign)
    desk.client.post(f"/campaigns/{campaign}/close")
    check_problem(desk.join(guest), 409, "campaign-closed")
    assert desk.join(worker).json()["state"] == "closed"


def test_all_tasks_come_at_once_and_without_what_only_the_requester_knows(desk):
    draft = desk.draft(join_mode="open")["id"]
    desk.import_csv(draft, "task,question,gold\na,A?,yes\nb,B?,\n")
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    worker = desk.worker(draft)
    answer = worker.client.get("/me/tasks")
    assert answer.json()["config_hash"] == worker.config_hash
    tasks = answer.json()["tasks"]
    assert {(task["task"], task["data"]["question"]) for task in tasks} == {
        ("a", "A?"),
        ("b", "B?"),
    }
    assert "gold" not in answer.text
    listed = [{key: task[key] for key in ("task_id", "task", "data")} for task in tasks]
    assert canonical_hash(listed).hex() == worker.config["tasks_hash"]


@pytest.mark.parametrize("close", [False, True])
def test_leaving_takes_all_reports_along(desk, close):
    campaign = desk.campaign(join_mode="open")
    worker, other = desk.worker(campaign), desk.worker(campaign)
    worker.send_values(1, 1, 0)
    other.send_values(0)
    if close:
        desk.client.post(f"/campaigns/{campaign}/close")
    assert worker.client.delete("/me").status_code == 204
    check_problem(worker.client.get("/me"), 401, "credential")
    left = desk.client.get(f"/campaigns/{campaign}").json()
    assert (left["participants"], left["reports"]) == (1, 1)


@pytest.mark.parametrize("join_mode", ["open", "invite"])
def test_who_left_does_not_come_back_with_the_same_credential(desk, join_mode):
    campaign = desk.campaign(join_mode=join_mode)
    worker = desk.worker(campaign)
    worker.send_values(1)
    worker.client.delete("/me").raise_for_status()
    invite = None if join_mode == "open" else desk.invite(campaign)[0]
    check_problem(desk.join(worker, invite), 409, "withdrawn")
    assert desk.join(desk.guest(campaign), invite).status_code == 201
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()


def test_what_is_kept_of_who_left_goes_with_the_campaign(server, desk):
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    worker.client.delete("/me").raise_for_status()
    kept = select(tables.withdrawn).where(tables.withdrawn.c.campaign_id == bytes.fromhex(campaign))
    with server.database.read() as connection:
        [row] = connection.execute(kept).all()
    assert row.credential_hash == withdrawn_hash(worker.credential)
    assert bytes.fromhex(worker.id) not in row.credential_hash
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    with server.database.read() as connection:
        assert connection.execute(kept).all() == []


def test_results_go_with_those_whose_reports_they_were_made_of(server, desk):
    campaign = desk.campaign(join_mode="open")
    worker, guest = desk.worker(campaign), desk.worker(campaign)
    worker.send_values(1, 1, 0)
    desk.worker(campaign).send_values(0, 1, 0)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = f"/campaigns/{campaign}/results"
    guest.client.delete("/me").raise_for_status()
    assert desk.client.get(results).status_code == 200
    worker.client.delete("/me").raise_for_status()
    check_problem(desk.client.get(results), 409, "no-results")


def test_a_sketch_that_is_deleted_takes_the_results_along(server, desk):
    mechanism = MECHANISMS["matrix factorisation"]
    campaign = desk.campaign(mechanism, join_mode="open")
    worker = desk.worker(campaign)
    worker.send_all(mechanism, {"t0": 1, "t1": 2, "t2": 3})
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    desk.client.get(f"/campaigns/{campaign}/results").raise_for_status()
    worker.client.delete("/me").raise_for_status()
    check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")


@pytest.mark.parametrize(
    "token",
    [None, "secret", new_token("qcw_"), new_token("qck_")],
    ids=["none", "no token", "unknown", "of a requester"],
)
@pytest.mark.parametrize("path", ["/me", "/me/tasks", "/me/reports"])
def test_nobody_else_is_let_in(server, token, path):
    check_problem(server.client(token).get(path), 401, "credential")


def test_an_invite_is_shown_once_and_lies_in_the_fragment(desk):
    campaign = desk.campaign()
    told = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 3, "local": True})
    assert told.status_code == 201
    invites = told.json()
    assert invites["fragments"] == [f"/j/{campaign}#i={token}" for token in invites["invites"]]
    counts = desk.client.get(f"/campaigns/{campaign}/invites")
    assert counts.json() == {"invites": 3, "used": 0}
    assert "qci_" not in counts.text


def test_invites_that_were_not_used_can_be_revoked(desk):
    campaign = desk.campaign()
    used, unused = desk.invite(campaign, 2)
    worker = desk.guest(campaign)
    desk.join(worker, used).raise_for_status()
    worker.place().raise_for_status()
    assert desk.client.delete(f"/campaigns/{campaign}/invites").status_code == 204
    check_problem(desk.join(desk.guest(campaign), unused), 403, "invite-invalid")
    check_problem(desk.join(desk.guest(campaign), used), 403, "invite-invalid")
    counts = desk.client.get(f"/campaigns/{campaign}/invites").json()
    assert counts == {"invites": 1, "used": 1}


def test_a_campaign_for_all_needs_no_invites(desk):
    campaign = desk.campaign(join_mode="open")
    refused = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 1})
    check_problem(refused, 409, "bad-state")


def test_nobody_is_invited_to_what_is_closed(desk):
    campaign = desk.campaign()
    desk.client.post(f"/campaigns/{campaign}/close")
    refused = desk.client.post(f"/campaigns/{campaign}/invites", json={"count": 1})
    check_problem(refused, 409, "campaign-closed")


def stored(server, campaign):
    """Return all that is stored of a campaign's invites, and of the campaign."""
    invite, table = tables.invite.c, tables.campaign
    mine = bytes.fromhex(campaign)
    with server.database.read() as connection:
        row = connection.execute(select(table).where(table.c.id == mine)).mappings().one()
        rows = connection.execute(
            select(invite.token_sha256, invite.revoked).where(invite.campaign_id == mine)
        ).all()
    return dict(row), {one.token_sha256: one.revoked for one in rows}


@pytest.mark.grid
@pytest.mark.parametrize("least", [1, 5])
def test_a_presented_invite_is_revoked_and_nobody_can_tell_which_it_was(server, desk, least):
    campaign = desk.campaign(at_least=least)
    url = f"/campaigns/{campaign}/invites"
    used, unused, other = desk.invite(campaign, 3)
    unknown = new_token("qci_")
    worker = desk.guest(campaign)
    desk.join(worker, used).raise_for_status()
    worker.place().raise_for_status()
    counts, (row, _) = desk.client.get(url).json(), stored(server, campaign)
    for token in (used, unused, unknown, unused):
        answer = desk.client.post(f"{url}/revoke", json={"invite": token})
        assert (answer.status_code, answer.content) == (204, b"")
        now, invites = stored(server, campaign)
        assert invites[token_hash(token)] == 2
        assert now == row
        assert desk.client.get(url).json() == counts
        check_problem(desk.join(desk.guest(campaign), token), 403, "invite-invalid")
    assert worker.client.get("/me").is_success
    assert desk.join(desk.guest(campaign), other).status_code == 201
    refused = desk.client.post(f"{url}/revoke", json={"invite": "qci_secret"})
    assert "secret" not in check_problem(refused, 422, "validation")
    desk.client.delete(url).raise_for_status()
    assert set(stored(server, campaign)[1].values()) == {1, 2}
    left = desk.client.get(url).json()
    assert left["invites"] == left["used"] == (1 if least == 1 else 0)


def test_releases_alone_make_a_campaign_full(desk):
    campaign = desk.campaign(join_mode="open", at_least=2, max_participants=2)
    workers = [desk.worker(campaign) for _ in range(4)]
    workers[0].send_values(1)
    late = desk.worker(campaign)
    workers[1].send_values(1)
    check_problem(desk.join(desk.guest(campaign)), 409, "full")
    assert desk.join(late).status_code == 200
    workers[0].client.delete("/me").raise_for_status()
    check_problem(desk.join(desk.guest(campaign)), 409, "full")
    for worker in workers[2:]:
        worker.send_values(1)
    assert desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 3
    check_problem(desk.join(desk.guest(campaign)), 409, "full")


def test_who_withdrew_makes_room_with_the_next_release(desk):
    campaign = desk.campaign(join_mode="open", at_least=2, max_participants=4)
    workers = [desk.worker(campaign) for _ in range(6)]
    for worker in workers[:4]:
        worker.send_values(1)
    for worker in workers[:3]:
        worker.client.delete("/me").raise_for_status()
    check_problem(desk.join(desk.guest(campaign)), 409, "full")
    for worker in workers[4:]:
        worker.send_values(1)
    assert desk.join(desk.guest(campaign)).status_code == 201


def invent(desk, campaign, count):
    """Invent workers; return what they are answered."""
    return [desk.join(desk.guest(campaign)).status_code for _ in range(count)]


@pytest.mark.usefixtures("held_briefly")
def test_one_source_invents_few_workers_at_once(start_server):
    server = start_server(joins_at_once=5, joins_per_minute=0.01)
    desk = new_desk(server)
    campaign, invited = desk.campaign(join_mode="open"), desk.campaign()
    worker = desk.worker(campaign)
    assert invent(desk, campaign, 10) == [201] * 4 + [429] * 6
    refused = desk.join(desk.guest(campaign))
    check_problem(refused, 429, "too-many-joins")
    assert int(refused.headers["Retry-After"]) >= 2
    assert desk.join(worker).status_code == 200
    check_problem(desk.join(desk.guest(invited), desk.invite(invited)[0]), 429, "too-many-joins")
    forged = desk.guest(campaign)
    forged.client.headers["X-Forwarded-For"] = "198.51.100.7"
    check_problem(desk.join(forged), 429, "too-many-joins")


@pytest.mark.usefixtures("held_briefly")
def test_behind_a_proxy_that_is_named_each_worker_is_a_source(start_server):
    server = start_server(joins_at_once=2, joins_per_minute=0.01, trusted_proxy="127.0.0.1")
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open")
    seen = []
    for place in range(6):
        guest = desk.guest(campaign)
        guest.client.headers["X-Forwarded-For"] = f"203.0.113.9, 198.51.100.{place // 3}"
        seen.append(desk.join(guest).status_code)
    assert seen == [201, 201, 429] * 2


@pytest.mark.nightly
def test_inventing_workers_is_slow_by_default(start_server, monkeypatch):
    """In a trial 110 were invented a second."""
    monkeypatch.setattr(incoming, "_HOLD", 0.0)  # with it, it is slower
    server = start_server(requests_per_second=0)
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=5)
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: 1e6))
    assert invent(desk, campaign, 150).count(201) == 100


@pytest.fixture
def campaign(desk):
    return desk.campaign(join_mode="open")


@pytest.fixture
def worker(desk, campaign):
    return desk.worker(campaign)


def receipt(accepted=0, duplicates=0, rejected=(), code=None):
    counts = {"accepted": accepted, "duplicates": duplicates, "rejected": list(rejected)}
    return {**counts, "completion_code": code}


def rejected(item, code):
    return {"report_id": item["report_id"], "code": code}


def test_what_is_acknowledged_is_stored(worker):
    sent = worker.send_values(1, 0, 1)
    held = worker.client.get("/me/reports").json()
    assert held["sketch"] is None
    assert sorted(one["report_id"] for one in held["reports"]) == sorted(
        one["report_id"] for one in sent
    )
    assert worker.client.get("/me").json()["reports"] == 3


def test_the_same_again_is_a_success_without_effect(worker):
    sent = worker.send_values(1, 0)
    assert worker.send(*sent).json() == receipt(duplicates=2)
    assert worker.client.get("/me").json()["reports"] == 2


def test_another_report_on_the_same_task_is_a_conflict(worker):
    [first, second] = worker.send_values(1, 0)
    other_value = {**first, "value": 0}
    other_id = {**second, "report_id": secrets.token_hex(16)}
    answer = worker.send(other_value, other_id).json()
    assert answer == receipt(
        rejected=[rejected(other_value, "conflict"), rejected(other_id, "conflict")]
    )
    held = worker.client.get("/me/reports").json()["reports"]
    assert {one["report_id"]: one["value"] for one in held} == {
        first["report_id"]: 1,
        second["report_id"]: 0,
    }


def test_an_id_stands_for_one_report(desk, campaign, worker):
    one, two, three = (task["task_id"] for task in worker.tasks())
    first = worker.report(one, 1)
    again = {**worker.report(two, 1), "report_id": first["report_id"]}
    assert worker.send(first, again).json() == receipt(1, rejected=[rejected(again, "conflict")])
    assert worker.send(again).json() == receipt(rejected=[rejected(again, "conflict")])
    thief = desk.worker(campaign)
    assert thief.send(first).json() == receipt(rejected=[rejected(first, "conflict")])
    third = worker.report(three, 0)
    assert worker.send(third, third).json() == receipt(1, duplicates=1)


def test_one_report_does_not_fail_the_others(worker):
    task = worker.tasks()[0]["task_id"]
    fine = worker.report(task, 1)
    unknown = worker.report("f" * 32, 1)
    outside = worker.report(worker.tasks()[1]["task_id"], 2)
    negative = worker.report(worker.tasks()[1]["task_id"], -1)
    with_bit = worker.report(worker.tasks()[1]["task_id"], 1, bit=1)
    answer = worker.send(unknown, outside, negative, with_bit, fine).json()
    assert answer == receipt(
        1,
        rejected=[
            rejected(unknown, "unknown-task"),
            rejected(outside, "out-of-domain"),
            rejected(negative, "out-of-domain"),
            rejected(with_bit, "out-of-domain"),
        ],
    )


def test_a_worker_gives_no_more_answers_than_agreed(desk):
    worker = desk.worker(desk.campaign(join_mode="open", answers_per_participant=2))
    tasks = [task["task_id"] for task in worker.tasks()]
    reports = [worker.report(task, 1) for task in tasks]
    assert worker.send(*reports).json() == receipt(2, rejected=[rejected(reports[2], "budget")])


def test_a_task_of_another_campaign_is_unknown(desk, worker):
    elsewhere = desk.worker(desk.campaign(join_mode="open"))
    foreign = worker.report(elsewhere.tasks()[0]["task_id"], 1)
    assert worker.send(foreign).json() == receipt(rejected=[rejected(foreign, "unknown-task")])


def test_nothing_is_taken_in_that_was_not_agreed_to(worker):
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    check_problem(worker.send(report, config_hash="0" * 64), 409, "config-mismatch")


def test_what_is_closed_takes_nothing_new_but_acknowledges_what_it_has(desk, campaign, worker):
    [sent] = worker.send_values(1)
    desk.client.post(f"/campaigns/{campaign}/close")
    late = worker.report(worker.tasks()[1]["task_id"], 1)
    check_problem(worker.send(late), 409, "campaign-closed")
    assert worker.send(sent).json() == receipt(duplicates=1)


@pytest.mark.grid
def test_the_same_report_from_many_at_once_is_stored_once(worker):
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    with ThreadPoolExecutor(20) as pool:
        answers = [one.json() for one in pool.map(lambda _: worker.send(report), range(100))]
    assert sum(answer["accepted"] for answer in answers) == 1
    assert sum(answer["duplicates"] for answer in answers) == 99


def test_of_different_reports_at_once_one_wins(worker):
    task = worker.tasks()[0]["task_id"]
    reports = [worker.report(task, place % 2) for place in range(40)]
    with ThreadPoolExecutor(20) as pool:
        answers = [one.json() for one in pool.map(worker.send, reports)]
    assert sum(answer["accepted"] for answer in answers) == 1
    assert sum(len(answer["rejected"]) for answer in answers) == 39


EVERY_TASK = ["one-layer with NULL", "laplace, filled", "laplace with a bit"]


def batch(worker, name):
    bit = 100 if name == "laplace with a bit" else None
    return [worker.report(task["task_id"], 1, bit) for task in worker.tasks()]


@pytest.mark.parametrize("name", EVERY_TASK)
def test_where_every_task_is_reported_all_come_at_once_or_none(desk, name):
    worker = desk.worker(desk.campaign(MECHANISMS[name], join_mode="open"))
    reports = batch(worker, name)
    for wrong in (reports[:2], [*reports[:2], {**reports[2], "task_id": "f" * 32}]):
        document = check_problem(worker.send(*wrong), 422, "validation")
        assert document["errors"][0]["code"] == "incomplete"
    assert worker.client.get("/me").json()["reports"] == 0
    assert worker.send(*reports).json() == receipt(3)
    assert worker.send(*reports).json() == receipt(duplicates=3)
    changed = [*reports[:2], {**reports[2], "value": 0}]
    check_problem(worker.send(*changed), 422, "validation")


@pytest.mark.nightly
@pytest.mark.grid
def test_the_largest_batch_fits(desk):
    name = "laplace with a bit"
    draft = desk.draft(MECHANISMS[name], join_mode="open")["id"]
    desk.import_csv(draft, "a\n" + "1\n" * MAX_REPORTS).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    worker = desk.worker(draft)
    value, bit = (worker.config["report"][name][0] for name in ("value", "bit"))
    reports = [worker.report(task["task_id"], value, bit) for task in worker.tasks()]
    assert worker.send(*reports).json() == receipt(MAX_REPORTS)


SKETCHES = {
    "matrix factorisation": [1, -2, 2**30, 0],
    "matrix factorisation, ridge": [0.5, -1.25, 3],
}


@pytest.mark.grid
@pytest.mark.parametrize("name", SKETCHES)
def test_a_worker_has_one_sketch(desk, name):
    campaign = desk.campaign(MECHANISMS[name], join_mode="open")
    worker = desk.worker(campaign)
    sketch = {"report_id": secrets.token_hex(16), "numbers": SKETCHES[name]}
    assert worker.send(sketch=sketch).json() == receipt(1)
    assert worker.send(sketch=sketch).json() == receipt(duplicates=1)
    other = {**sketch, "numbers": [*SKETCHES[name][:-1], 7]}
    assert worker.send(sketch=other).json() == receipt(rejected=[rejected(sketch, "conflict")])
    thief = desk.worker(campaign)
    assert thief.send(sketch=sketch).json() == receipt(rejected=[rejected(sketch, "conflict")])
    assert worker.client.get("/me/reports").json() == {"reports": [], "sketch": sketch}
    document = check_problem(
        desk.worker(campaign).send(sketch={**sketch, "numbers": [1]}), 422, "validation"
    )
    assert document["errors"][0]["code"] == "out-of-domain"
    desk.client.post(f"/campaigns/{campaign}/close")
    check_problem(thief.send(sketch={**sketch, "report_id": "1" * 32}), 409, "campaign-closed")


def test_an_upload_of_nothing_does_not_reach_the_writer(worker, monkeypatch):
    monkeypatch.delattr("quietcrowd.campaign.server.writer.Writer.submit")
    for answer in (worker.send(), worker.send(sketch=None)):
        assert check_problem(answer, 422, "validation")["errors"][0]["code"] == "empty"


def test_a_campaign_takes_reports_or_sketches(desk, worker):
    sketch = {"report_id": secrets.token_hex(16), "numbers": [1, 2, 3, 4]}
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    sketcher = desk.worker(desk.campaign(MECHANISMS["matrix factorisation"], join_mode="open"))
    for answer in (worker.send(sketch=sketch), sketcher.send(report)):
        assert check_problem(answer, 422, "validation")["errors"][0]["code"] == "kind"
    both = sketcher.send(report, sketch=sketch)
    assert check_problem(both, 422, "validation")["errors"][0]["code"] == "kind"


CODE = "C1-É"


def test_a_completion_code_is_given_once_all_is_stored(desk):
    worker = desk.worker(desk.campaign(join_mode="open", completion_code=CODE))
    [task, other, _] = (task["task_id"] for task in worker.tasks())
    sent = worker.report(task, 1)
    strange = worker.report(other, 2)
    answer = worker.send(sent, strange).json()
    assert answer == receipt(accepted=1, rejected=[rejected(strange, "out-of-domain")])
    assert worker.send(sent).json() == receipt(duplicates=1, code=CODE)
    assert worker.send(worker.report(other, 0)).json() == receipt(accepted=1, code=CODE)


def test_a_sketch_has_a_completion_code_too(desk):
    mechanism = MECHANISMS["matrix factorisation"]
    worker = desk.worker(desk.campaign(mechanism, join_mode="open", completion_code=CODE))
    sketch = {"report_id": secrets.token_hex(16), "numbers": [0] * 4}
    assert worker.send(sketch=sketch).json() == receipt(accepted=1, code=CODE)
    assert worker.send(sketch=sketch).json() == receipt(duplicates=1, code=CODE)
    other = {**sketch, "numbers": [1] * 4}
    assert worker.send(sketch=other).json() == receipt(rejected=[rejected(other, "conflict")])


def test_a_completion_code_is_the_same_for_all_and_nowhere_else(server, desk):
    campaign = desk.campaign(join_mode="open", completion_code=CODE)
    for worker in (desk.worker(campaign), desk.worker(campaign)):
        [task, *_] = worker.tasks()
        assert worker.send(worker.report(task["task_id"], 1)).json()["completion_code"] == CODE
        for path in (f"/public/campaigns/{campaign}", "/me", "/me/tasks", "/me/reports"):
            assert CODE not in worker.client.get(path).raise_for_status().text
    with server.database.read() as connection:
        for table in tables.metadata.sorted_tables:
            rows = connection.execute(select(table)).all()
            holds = [row for row in rows if CODE in row]
            assert (len(holds) > 0) == (table.name == "campaign")
    assert desk.client.get(f"/campaigns/{campaign}").json()["completion_code"] == CODE
