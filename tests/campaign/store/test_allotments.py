"""Tasks that are handed out: evenly, at random, once, and to nobody else."""

import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, select, update
from tests.campaign.people import YES_NO, check_problem, new_desk

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import allotted_tasks, least_asked, read_aims
from quietcrowd.campaign.store.campaigns import delete_expired
from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.terms.tokens import token_hash

LABEL = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
IDS = [bytes([place]) * 16 for place in range(12)]


def by_times(asked):
    """Yield the tasks that were asked equally often, those that the fewest first."""
    for times in sorted(set(asked.values())):
        yield [task for task, count in asked.items() if count == times]


@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    share=st.floats(0, 1, exclude_min=True),
)
def test_those_that_the_fewest_were_asked_come_first(counts, share):
    asked = dict(zip(IDS, counts, strict=False))
    count = max(1, int(share * len(asked)))
    chosen = least_asked(by_times(asked), count)
    assert len(set(chosen)) == len(chosen) == count
    others = [asked[one] for one in asked.keys() - set(chosen)]
    assert max(asked[one] for one in chosen) <= min(others, default=9)


def test_ties_are_drawn_uniformly():
    """Each of 12 pairs of 4 tasks, order and all, has a chance of 1/12.

    Of 6,000 draws one of them is off by more than 155 with a probability below 1e-9 (of each count
    the standard deviation is 21.4; by Bernstein's inequality 24 exp(-155²/2/(458 + 155/3)) < 2e-9).
    """
    asked = dict.fromkeys(IDS[:4], 7)
    drawn = Counter(tuple(least_asked(by_times(asked), 2)) for _ in range(6_000))
    assert len(drawn) == 12
    assert all(abs(count - 500) <= 155 for count in drawn.values())


def allotted(worker):
    return worker.client.get("/me/tasks").raise_for_status().json().get("allotted")


def asked(server, campaign):
    """Return how many workers were asked each task."""
    task = tables.task.c
    mine = task.campaign_id == bytes.fromhex(campaign)
    with server.database.read() as connection:
        return dict(connection.execute(select(task.id, task.asked).where(mine)).all())


def handing_out(desk, each, tasks, **members):
    given = {"answers_per_participant": each, "allotment": "random", "join_mode": "open"}
    return desk.campaign(tasks=tasks, **given, **members)


@pytest.mark.grid
@pytest.mark.parametrize(("each", "tasks"), [(2, 5), (5, 5), (3, 4)])
def test_all_tasks_are_asked_equally_often_but_for_one(server, desk, each, tasks):
    campaign = handing_out(desk, each, tasks)
    given = Counter()
    for _ in range(7):
        ids = allotted(desk.worker(campaign))
        assert ids == sorted(set(ids))
        assert len(ids) == each
        given.update(ids)
        counts = asked(server, campaign)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert {id_.hex(): count for id_, count in counts.items() if count} == dict(given)


def test_a_worker_keeps_them(desk):
    campaign = handing_out(desk, 2, 6)
    worker = desk.worker(campaign)
    first = allotted(worker)
    for _ in range(5):
        desk.join(worker).raise_for_status()
        desk.worker(campaign)
        assert allotted(worker) == first


def test_who_leaves_or_is_erased_was_asked_all_the_same(server, desk):
    campaign = handing_out(desk, 2, 4)
    one, other = desk.worker(campaign), desk.worker(campaign)
    name = other.client.get("/me").json()["pseudonym"]
    before = asked(server, campaign)
    one.client.delete("/me").raise_for_status()
    desk.client.delete(f"/campaigns/{campaign}/workers/{name}").raise_for_status()
    desk.client.delete(f"/campaigns/{campaign}/workers/worker-0123456789abcdef").raise_for_status()
    assert asked(server, campaign) == before
    with server.database.read() as connection:
        person = tables.participant.c
        mine = select(person.allotment).where(person.campaign_id == bytes.fromhex(campaign))
        assert connection.execute(mine).all() == []


def test_with_the_end_of_retention_nothing_says_how_many_were_asked(server, desk):
    campaign, other = handing_out(desk, 1, 2), handing_out(desk, 1, 2)
    desk.worker(campaign)
    desk.worker(other)
    mine = tables.campaign.c.id == bytes.fromhex(campaign)
    with server.database.write() as connection:
        connection.execute(update(tables.campaign).where(mine).values(delete_at=1))
        delete_expired(connection, 2)
    assert [sum(asked(server, one).values()) for one in (campaign, other)] == [0, 1]


def report_all(worker, tasks=None):
    """Send a report on each task, or on these; return the receipt."""
    ids = tasks or [task["task_id"] for task in worker.tasks()]
    return worker.send(*(worker.report(task, 1) for task in ids)).raise_for_status().json()


@pytest.mark.parametrize("at_least", [1, 2])
def test_reports_on_others_are_refused_one_by_one(desk, at_least):
    campaign = handing_out(desk, 2, 5, at_least=at_least)
    worker = desk.worker(campaign)
    ids = allotted(worker)
    sent = [worker.report(task["task_id"], 1) for task in worker.tasks()]
    receipt = worker.send(*sent).raise_for_status().json()
    assert receipt["accepted"] == 2
    others = {one["report_id"] for one in sent if one["task_id"] not in ids}
    assert {one["report_id"] for one in receipt["rejected"]} == others
    assert {one["code"] for one in receipt["rejected"]} == {"unknown-task"}
    held = worker.client.get("/me/reports").json()["reports"]
    assert sorted(one["task_id"] for one in held) == ids
    again = worker.send(*sent).raise_for_status().json()
    assert (again["duplicates"], len(again["rejected"])) == (2, 3)


def test_tasks_of_another_worker_are_no_tasks_of_this_one(desk):
    campaign = handing_out(desk, 2, 4)
    one, other = desk.worker(campaign), desk.worker(campaign)
    assert not set(allotted(one)) & set(allotted(other))
    assert len(report_all(one, allotted(other))["rejected"]) == 2
    assert report_all(other, allotted(other))["accepted"] == 2


def join_at_an_older_server(server, worker):
    """Let a worker in as a server does that knows of no allotments."""
    row = {
        "id": bytes.fromhex(worker.id),
        "campaign_id": bytes.fromhex(worker.campaign),
        "token_sha256": token_hash(worker.credential),
        "pseudonym": "worker-0123456789abcdef",
        "consent_hash": bytes.fromhex(worker.config_hash),
    }
    with server.database.write() as connection:
        connection.execute(insert(tables.participant), row)


def test_who_joined_at_an_older_server_gets_tasks_by_joining_once_more(server, desk):
    campaign = handing_out(desk, 2, 5)
    worker = desk.guest(campaign)
    join_at_an_older_server(server, worker)
    assert allotted(worker) is None
    assert len(report_all(worker)["rejected"]) == 5
    desk.join(worker).raise_for_status()
    ids = allotted(worker)
    assert len(ids) == 2
    assert sum(asked(server, campaign).values()) == 2
    assert report_all(worker, ids)["accepted"] == 2


def test_after_closing_nobody_is_given_any(server, desk):
    campaign = handing_out(desk, 2, 5)
    worker = desk.guest(campaign)
    join_at_an_older_server(server, worker)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert desk.join(worker).status_code == 200
    assert allotted(worker) is None


def test_a_draft_that_an_older_server_opened_gives_all_to_everybody(server, desk):
    campaign = desk.campaign(join_mode="open", answers_per_participant=2)
    mine = tables.campaign.c.id == bytes.fromhex(campaign)
    with server.database.write() as connection:
        connection.execute(update(tables.campaign).where(mine).values(allotment="random"))
    assert desk.client.get(f"/campaigns/{campaign}").json()["allotment"] is None
    worker = desk.worker(campaign)
    assert allotted(worker) is None
    assert report_all(worker, [worker.tasks()[2]["task_id"]])["accepted"] == 1


def test_transactions_at_once_are_given_out_evenly(server, desk):
    campaign = handing_out(desk, 2, 4)
    guests = [desk.guest(campaign) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for answer in pool.map(desk.join, guests):
            answer.raise_for_status()
    assert set(asked(server, campaign).values()) == {4}


def test_the_configuration_says_so_and_drafts_can_be_changed(server):
    desk = new_desk(server)
    draft = desk.draft(answers_per_participant=4, allotment="random")
    assert draft["allotment"] == "random"
    desk.import_csv(draft["id"], "question\na\nb\nc\n").raise_for_status()
    url = f"/campaigns/{draft['id']}"
    check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")

    def change(**members):
        etag = {"If-Match": desk.client.get(url).headers["etag"]}
        return desk.client.patch(url, json=members, headers=etag)

    assert change(allotment=None).json()["allotment"] is None
    change(allotment="random", answers_per_participant=None).raise_for_status()
    check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")
    change(answers_per_participant=2).raise_for_status()
    desk.client.post(f"{url}/open").raise_for_status()
    config = desk.guest(draft["id"]).config
    assert (config["version"], config["allotment"]) == (5, "random")
    assert config["guarantee"]["worker_epsilon"] == pytest.approx(2)
    assert sum("2 of the 3 questions" in one for one in config["consent"]) == 1
    check_problem(change(allotment=None), 409, "campaign-open")


def by_results(desk, each=2, tasks=5, **members):
    given = {"answers_per_participant": each, "allotment": "suggested", "join_mode": "open"}
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=3.0)
    return desk.campaign(mechanism, tasks=tasks, **given, **members)


def names_of(worker):
    """Return the names of the tasks that a worker is asked, and their ids."""
    ids = set(allotted(worker))
    return {one["task"]: one["task_id"] for one in worker.tasks() if one["task_id"] in ids}


def report_disputed(desk, campaign, workers):
    """Let workers in who are of two minds about t0 and t1, and of one about all others."""
    asked = Counter()
    sent = [desk.worker(campaign) for _ in range(workers)]
    for worker in sent:
        ids = names_of(worker)
        values = {name: asked[name] % 2 if name in DISPUTED else 1 for name in ids}
        asked.update(list(ids))
        worker.send(*(worker.report(ids[name], values[name]) for name in ids)).raise_for_status()
    return sent


DISPUTED = {"t0", "t1"}


@pytest.mark.grid
@pytest.mark.slow
def test_where_reports_leave_the_truth_open_is_asked_next_and_evenly_before(server, desk):
    campaign = by_results(desk)
    report_disputed(desk, campaign, 10)
    counts = asked(server, campaign)
    assert set(counts.values()) == {4}  # 10 workers, two of five tasks each
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert set(names_of(desk.worker(campaign))) == DISPUTED
    given = Counter()
    for _ in range(6):  # once what was suggested is given, others are, too
        given.update(list(names_of(desk.worker(campaign))))
    assert len(given) == 5


@pytest.mark.grid
@pytest.mark.slow
def test_only_what_is_shown_decides(server, desk):
    """Joining, sending and withdrawing change nothing before the next release."""
    campaign = by_results(desk, at_least=10)
    inferrer, mine = Inferrer(server.database), bytes.fromhex(campaign)
    report_disputed(desk, campaign, 9)
    assert not inferrer.infer(mine)
    assert aims(server, campaign) == {}
    report_disputed(desk, campaign, 1)
    assert inferrer.infer(mine)
    shown = aims(server, campaign)
    assert len(shown) == 5
    left = {task: shown[task] - times for task, times in asked(server, campaign).items()}
    late = desk.worker(campaign)
    given = {bytes.fromhex(one) for one in allotted(late)}
    assert min(left[task] for task in given) >= max(left[task] for task in left.keys() - given)
    report_all(late, allotted(late))
    inferrer.infer(mine)
    assert aims(server, campaign) == shown
    late.client.delete("/me").raise_for_status()
    inferrer.infer(mine)
    assert aims(server, campaign) == shown


@pytest.mark.grid
@pytest.mark.slow
def test_without_results_that_are_shown_the_draw_is_even(server, desk):
    campaign = by_results(desk)
    sent = report_disputed(desk, campaign, 10)
    mine = bytes.fromhex(campaign)
    Inferrer(server.database).infer(mine)
    assert aims(server, campaign)
    held = tables.inference.c
    with server.database.write() as connection:  # as a server does that has no pages
        connection.execute(
            update(tables.inference).where(held.campaign_id == mine).values(etag="another")
        )
    counts = asked(server, campaign)
    worker = desk.worker(campaign)
    assert max(counts[bytes.fromhex(one)] for one in allotted(worker)) == min(counts.values())
    assert aims(server, campaign) == {}
    for one in sent:
        one.client.delete("/me").raise_for_status()
    assert not Inferrer(server.database).infer(mine)
    assert aims(server, campaign) == {}


def aims(server, campaign):
    """Return how often tasks are to be asked, as a server of this version reads it."""
    with server.database.read() as connection:
        mine = tables.campaign.c.id == bytes.fromhex(campaign)
        row = connection.execute(select(tables.campaign).where(mine)).one()
        return read_aims(connection, row)


@pytest.mark.grid
@pytest.mark.slow
def test_what_is_shown_tells_nothing_of_who_was_given_tasks(server, desk):
    """Results have the same ETag whoever joined meanwhile: how often is stored beside them."""
    campaign = by_results(desk)
    mine = bytes.fromhex(campaign)
    report_disputed(desk, campaign, 6)
    url, found = f"/campaigns/{campaign}/results", []
    for _ in range(2):
        Inferrer(server.database).infer(mine)
        shown = desk.client.get(url).raise_for_status()
        found.append((shown.headers["etag"], shown.json()))
        assert "aims" not in shown.json()
        desk.worker(campaign)
    assert found[0] == found[1]


def test_by_results_of_what_does_not_say_it_nothing_is_handed_out(server):
    desk = new_desk(server)
    some = {"answers_per_participant": 2, "allotment": "suggested"}
    votes, aware = qc.MajorityVote().to_dict(), qc.NoiseAware().to_dict()
    body = {"title": "T", "mechanism": LABEL.to_dict(), **some, "method": votes}
    refused = check_problem(desk.client.post("/campaigns", json=body), 422, "validation")
    assert "majority does not estimate the value" in refused["errors"][0]["message"]
    draft = desk.draft(**some, method=aware)
    url = f"/campaigns/{draft['id']}"

    def change(**members):
        etag = {"If-Match": desk.client.get(url).headers["etag"]}
        return desk.client.patch(url, json=members, headers=etag)

    check_problem(change(method=votes), 422, "validation")
    change(method=None).raise_for_status()
    change(allotment="random", method=votes).raise_for_status()
    check_problem(change(allotment="suggested"), 422, "validation")
    change(allotment="suggested", method=aware).raise_for_status()
    desk.import_csv(draft["id"], "question\na\nb\nc\n").raise_for_status()
    desk.client.post(f"{url}/open").raise_for_status()
    check_problem(change(method=votes), 422, "validation")


def test_what_is_stored_reads_as_it_was():
    assert allotted_tasks(b"".join(IDS[:3])) == tuple(IDS[:3])
    assert allotted_tasks(None) == ()


def test_a_copy_knows_them(server, desk, tmp_path):
    if server.database.path is None:
        pytest.skip("pg_dump writes its own format; tests/campaign/store/test_copies.py restores")
    campaign = handing_out(desk, 2, 5)
    worker = desk.worker(campaign)
    copy_to(server.database, tmp_path / "copy")
    with sqlite3.connect(tmp_path / "copy") as copied:
        mine = ("WHERE campaign_id = ?", (bytes.fromhex(campaign),))
        [(packed,)] = copied.execute(f"SELECT allotment FROM participant {mine[0]}", mine[1])
        [(given,)] = copied.execute(f"SELECT sum(asked) FROM task {mine[0]}", mine[1])
    assert [task.hex() for task in allotted_tasks(packed)] == allotted(worker)
    assert given == 2
