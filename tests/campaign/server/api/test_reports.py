import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import check_problem

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.settings import MAX_REPORTS


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
