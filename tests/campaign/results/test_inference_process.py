import io
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from attrs import make_class
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from tests.campaign.mechanisms import MECHANISMS, mechanisms_by_day
from tests.campaign.people import check_problem, new_desk

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.results import inference_process
from quietcrowd.campaign.results.inference_process import (
    Inferrer,
    messages_of,
    next_answers,
    task_aims,
)
from quietcrowd.campaign.results.reports import ReportsToInfer, read_stored
from quietcrowd.campaign.results.snapshots import Again
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.exceptions import AnswerError
from quietcrowd.inference import METHODS, RatioMean, WeightedMean, usual_method
from quietcrowd.inference.labels import noise_aware


def send_crowd(desk, mechanism, workers=6, tasks=5, **members):
    """Return a campaign in which all workers agree, and the workers' reports by pseudonym."""
    campaign = desk.campaign(mechanism, tasks=tasks, join_mode="open", **members)
    domain = mechanism.domain
    truth = domain.labels if hasattr(domain, "labels") else (1.0, 9.0)
    answers = {f"t{place}": truth[place % len(truth)] for place in range(tasks)}
    sent = {}
    for _ in range(workers):
        worker = desk.worker(campaign)
        name = worker.client.get("/me").json()["pseudonym"]
        sent[name] = worker.send_all(mechanism, answers)
    return campaign, sent


def stored(server, campaign):
    with server.database.read() as connection:
        row = connection.execute(
            select(tables.campaign).where(tables.campaign.c.id == bytes.fromhex(campaign))
        ).one()
        return read_stored(connection, ReportsToInfer.of(connection, row))


@pytest.mark.grid
@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_stored_is_what_was_sent(server, desk, name):
    mechanism = MECHANISMS[name]
    campaign, sent = send_crowd(desk, mechanism, workers=3)
    found = stored(server, campaign).rows.reports
    assert found.mechanism == mechanism
    assert found.table.workers.to_pylist() == sorted(sent)
    frame = found.to_frame().set_index("worker")
    for worker, reports in sent.items():
        own = frame.loc[[worker]].reset_index(drop=True)
        assert own.equals(reports.to_frame().drop(columns="worker"))


@pytest.mark.grid
@pytest.mark.parametrize("name", mechanisms_by_day("sets of labels", "laplace with a bit"))
def test_results_are_those_of_the_library(server, desk, name):
    mechanism = MECHANISMS[name]
    campaign, _ = send_crowd(desk, mechanism)
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    reports = stored(server, campaign).rows.reports
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        usual = usual_method(reports.table.domain, reports.mechanism)
        method = METHODS[usual]()
        if usual == "noise-aware":  # a campaign names no groups
            method = method.set_params(groups=False)
        estimate = method.fit(reports)
    truths = [row["truth"] for row in results["truths"]]
    assert truths == estimate.truths_as("pyarrow")["truth"].to_pylist()
    assert results["method"] == estimate.method.to_dict()
    assert results["participants"] == 6
    messages = {one["message"] for one in results["warnings"]}
    assert set(messages_of(told)) <= messages
    assert not any(re.search("gold=|--|prior=|epsilon", one) for one in messages)
    guarantee = mechanism.guarantee(answers=5, tasks=5)
    for worker in results["workers"]:
        assert worker["answer_epsilon"] is None or worker["answer_epsilon"] > 0
        assert worker["total_epsilon"] is None or worker["total_epsilon"] >= guarantee.epsilon
        if worker["total_tail"] is not None and guarantee.delta:
            assert worker["total_tail"] > worker["total_epsilon"]
    assert results["privacy"]["delta"] == guarantee.delta
    tail = results["privacy"]["tail"]
    assert (tail is None) == (guarantee.delta == 0)
    if tail is not None:
        assert tail["probability"] == guarantee.delta
        assert tail["answer_epsilon"] == guarantee.tail.epsilon > guarantee.epsilon


@pytest.mark.grid
def test_later_inferences_start_from_earlier_ones(server, desk):
    mechanism = MECHANISMS["laplace"]
    campaign, _ = send_crowd(desk, mechanism)
    inferrer = Inferrer(server.database)
    url = f"/campaigns/{campaign}/results"
    inferrer.infer(bytes.fromhex(campaign))
    first = desk.client.get(url).json()
    inferrer.infer(bytes.fromhex(campaign))
    second = desk.client.get(url).json()
    assert second["iterations"] < first["iterations"]
    worker = desk.worker(campaign)
    worker.send_all(mechanism, {"t0": 1.0})
    inferrer.infer(bytes.fromhex(campaign))
    assert desk.client.get(url).json()["reports"] == first["reports"] + 1


@pytest.mark.grid
def test_who_withdraws_is_in_no_result(server, desk):
    mechanism = MECHANISMS["one-layer"]
    campaign, _ = send_crowd(desk, mechanism)
    worker = desk.worker(campaign)
    worker.send_all(mechanism, {"t0": "no"})
    name = worker.client.get("/me").json()["pseudonym"]
    inferrer = Inferrer(server.database)
    url = f"/campaigns/{campaign}/results"
    inferrer.infer(bytes.fromhex(campaign))
    assert name in desk.client.get(url).text
    worker.client.delete("/me").raise_for_status()
    check_problem(desk.client.get(url), 409, "no-results")
    inferrer.infer(bytes.fromhex(campaign))
    assert name not in desk.client.get(url).text


@pytest.mark.grid
def test_who_withdraws_during_an_inference_is_in_no_result(server, desk, monkeypatch):
    campaign, _ = send_crowd(desk, MECHANISMS["one-layer"])
    worker = desk.worker(campaign)
    worker.send_values(1)
    write = Inferrer._write

    def write_late(*given):
        worker.client.delete("/me").raise_for_status()
        return write(*given)

    monkeypatch.setattr(Inferrer, "_write", write_late)
    assert not Inferrer(server.database).infer(bytes.fromhex(campaign))
    check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")


@pytest.mark.grid
def test_known_truths_stay_as_they_are(server, desk):
    draft = desk.draft(MECHANISMS["one-layer"], join_mode="open")["id"]
    desk.import_csv(draft, "task,gold\nt0,no\nt1,yes\nt2,\n").raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for _ in range(4):
        desk.worker(draft).send_values(1, 1, 1)
    Inferrer(server.database).infer(bytes.fromhex(draft))
    results = desk.client.get(f"/campaigns/{draft}/results").json()
    assert [row["truth"] for row in results["truths"]][:2] == ["no", "yes"]


def test_assumptions_that_fail_are_warned_of(server, desk):
    method = WeightedMean(max_iter=1).to_dict()
    campaign = desk.campaign(MECHANISMS["laplace"], join_mode="open", method=method)
    desk.worker(campaign).send_all(MECHANISMS["laplace"], {"t0": 1.0, "t1": 2.0, "t2": 3.0})
    desk.worker(campaign).send_all(MECHANISMS["laplace"], {"t0": 1.0})
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    codes = {one["code"] for one in results["warnings"]}
    assert codes == {
        *("not-converged", "assumption", "dominant-worker", "few-reports"),
        *("agreement-unknown", "open-to-all"),
    }
    assert results["agreement"]["answers"] is results["agreement"]["answers_error"] is None
    assert not results["converged"]


def test_no_worker_is_dominant_where_all_gave_as_much(server, desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    for _ in range(2):
        desk.worker(campaign).send_values(1, 1, 1)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    assert "dominant-worker" not in {one["code"] for one in results["warnings"]}


def test_devices_that_seem_not_to_randomise_are_named(server, desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], tasks=60, join_mode="open")
    for _ in range(6):
        desk.worker(campaign).send_values(*[1] * 60)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    (told,) = [one["message"] for one in results["warnings"] if one["code"] == "too-consistent"]
    assert told.startswith("6 of 6 people (")
    named = [worker["worker"] for worker in results["workers"] if worker["worker"] in told]
    assert len(named) == 5
    assert len(results["workers"]) == 6


def test_a_method_that_does_not_fit_says_so(server, desk):
    campaign = desk.campaign(MECHANISMS["laplace"], join_mode="open", method=RatioMean().to_dict())
    desk.worker(campaign).send_all(MECHANISMS["laplace"], {"t0": 1.0})
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    [told] = results["warnings"]
    assert told["code"] == "failed"
    assert "can choose the default again" in told["message"]
    assert results["truths"] == []


def test_advice_is_for_a_requester_without_a_terminal(server, desk, monkeypatch):
    mechanism = MECHANISMS["one-layer"]
    chosen, crowded = (
        send_crowd(desk, mechanism, method=method)[0]
        for method in (qc.MajorityVote().to_dict(), None)
    )

    def told(campaign):
        Inferrer(server.database).infer(bytes.fromhex(campaign))
        results = desk.client.get(f"/campaigns/{campaign}/results").json()
        return " ".join(one["message"] for one in results["warnings"])

    assert "The default method corrects for the noise" in told(chosen)
    monkeypatch.setattr(noise_aware, "MOST_CELLS", 1)
    assert "Download the reports" in told(crowded)
    other = AnswerError("inference.labels-needed", name="KOS", domain="(0, 1)")
    assert to_requester(other).endswith("Use WeightedMean, Mean or Median.")


def test_nothing_comes_of_nothing(server, desk):
    inferrer = Inferrer(server.database)
    assert not inferrer.infer(bytes.fromhex(desk.campaign()))
    assert not inferrer.infer(b"0" * 16)


def test_the_process_answers_line_by_line(server, desk, monkeypatch, capsys):
    campaign, _ = send_crowd(desk, MECHANISMS["one-layer"], workers=2)
    url = server.database.url.render_as_string(hide_password=False)
    begin = {"database": url, "modules": ["json", "no_such_module"], "large": {}}
    lines = [json.dumps(begin), campaign, "0" * 32, "no id", "1" * 32, ""]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    monkeypatch.setattr("os.nice", lambda _: None)
    infer = Inferrer.infer

    def infer_or_fail(self, one):
        if one == bytes.fromhex("1" * 32):
            raise OperationalError("a statement", {}, Exception("gone"))
        return infer(self, one)

    monkeypatch.setattr(Inferrer, "infer", infer_or_fail)
    inference_process.main()
    assert capsys.readouterr().out == "done 0.000\nnothing\nfailed ValueError\nlater\n"
    assert Database.open(url).path == server.database.path


@pytest.mark.grid
@pytest.mark.parametrize("name", ["one-layer", "laplace with a bit", "two-layer"])
def test_copies_that_one_report_serves_are_one_task_where_agreement_is_judged(server, desk, name):
    mechanism = MECHANISMS[name]
    draft = desk.draft(mechanism, join_mode="open")["id"]
    rows = [f"t{place},{'Drugs?' if place < 3 else place}" for place in range(5)]
    desk.import_csv(draft, "\n".join(["task,question", *rows])).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    domain = mechanism.domain
    label = domain.labels[-1] if hasattr(domain, "labels") else 5.0
    for _ in range(3):
        desk.worker(draft).send_all(mechanism, {f"t{place}": label for place in range(5)})
    found = stored(server, draft)
    assert len(found.rows.reports.table.tasks) == 5
    tasks = found.independent.reports.table.tasks.to_pylist()
    assert tasks == (["t0", "t3", "t4"] if name != "two-layer" else [f"t{i}" for i in range(5)])
    assert len(found.independent) == 3 * len(tasks)
    assert found.independent.mechanism == mechanism


@pytest.mark.grid
def test_honest_workers_are_not_named_for_copies(server, desk):
    """Each sends one report sixty times: most of them are of one opinion, all the time."""
    draft = desk.draft(join_mode="open")["id"]
    desk.import_csv(
        draft, "\n".join(["task,question", *(f"t{place},Drugs?" for place in range(60))])
    )
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for value in (1, 1, 1, 1, 1, 1, 0):
        desk.worker(draft).send_values(*[value] * 60)
    assert Inferrer(server.database).infer(bytes.fromhex(draft))
    results = desk.client.get(f"/campaigns/{draft}/results").json()
    assert len(results["truths"]) == 60
    assert "too-consistent" not in {one["code"] for one in results["warnings"]}


LOUD = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=6.0)
"""A report differs from its answer with a probability below 0.0025."""


def answer_all(server, campaign, devices, label):
    """Let each device answer all tasks alike; return its client."""
    clients = []
    for device in devices:
        client = Client(f"{server.url}/j/{campaign}", folder=device)
        client.join()
        client.answer(dict.fromkeys((task.name for task in client.tasks), label))
        clients.append(client)
    return clients


def found_of(server, desk, campaign):
    """Infer, and return the truths, the count of what was sent again, and the codes of warnings."""
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    codes = {one["code"] for one in results["warnings"]}
    return results["truths"], results["again"], codes


@pytest.mark.nightly
def test_a_repeated_question_says_so_and_one_about_a_day_is_asked_anew(server, desk, tmp_path):
    """14 workers change from yes to no: before, 0 of 6 were right and nobody was told.

    Seven of 14 reports differ from their answers in fewer than 10^-14 of draws.
    """
    devices = [tmp_path / str(place) for place in range(14)]
    asked = {"mechanism": LOUD, "tasks": 6, "join_mode": "open"}
    first = desk.campaign(**asked)
    answer_all(server, first, devices, "yes")
    truths, again, codes = found_of(server, desk, first)
    assert [(row["truth"], row["again"]) for row in truths] == [("yes", 0)] * 6
    assert (again, "sent-again" in codes) == (0, False)

    repeated = desk.campaign(**asked)
    answer_all(server, repeated, devices, "no")
    truths, again, codes = found_of(server, desk, repeated)
    assert [(row["truth"], row["again"]) for row in truths] == [("yes", 14)] * 6
    assert (again, "sent-again" in codes) == (84, True)
    text = desk.client.get(f"/campaigns/{repeated}/reports").text
    rows = [json.loads(line) for line in text.splitlines()[1:]]
    assert {(row["again"], row["campaign"]) for row in rows} == {(True, repeated)}

    other = new_desk(server)
    spent = 6 * LOUD.epsilon
    for times, (owner, said) in enumerate(((desk, {"as_of": "2026-12-02"}), (other, {})), 2):
        campaign = owner.campaign(**asked, **said)
        clients = answer_all(server, campaign, devices, "no")
        truths, again, codes = found_of(server, owner, campaign)
        assert [(row["truth"], row["again"]) for row in truths] == [("no", 0)] * 6
        assert (again, "sent-again" in codes) == (0, False)
        [charged] = {client.spent().total_epsilon for client in clients}
        assert charged == pytest.approx(times * spent, rel=1e-6)


@pytest.mark.parametrize(("count", "told"), [(0, 0), (4, 0), (5, 5), (9, 5), (10, 10)])
def test_what_was_sent_again_is_counted_in_whole_batches(count, told):
    again = Again({"s": count, "t": 1}, 5)
    assert (again.of("s"), again.of("t"), again.of("u")) == (told, 0, 0)
    assert again.all == (count + 1) // 5 * 5


@pytest.mark.grid
def test_copies_of_a_question_are_inferred_once(server, desk):
    """Before, ten copies of each report counted as ten: for truths, workers and confidence."""
    mechanism = MECHANISMS["one-layer"]
    draft = desk.draft(mechanism, join_mode="open")["id"]
    asked = [{"task": f"c{place}", "data": {"q": "Red?", "n": 1}} for place in range(9)]
    asked += [{"task": "c9", "data": {"n": 1, "q": "Red?"}, "gold": "yes"}]
    asked += [{"task": f"t{place}", "data": {"q": f"Is it {place}?"}} for place in range(4)]
    desk.client.post(f"/campaigns/{draft}/tasks", json=asked).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for turn in range(8):
        worker = desk.worker(draft)
        values = {"c": turn % 2, "t": turn % 3 == 0}
        tasks = worker.tasks()
        sent = [worker.report(one["task_id"], int(values[one["task"][0]])) for one in tasks]
        assert worker.send(*sent).json()["accepted"] == 14
    assert Inferrer(server.database).infer(bytes.fromhex(draft))
    results = desk.client.get(f"/campaigns/{draft}/results").json()
    rows = {row.pop("task"): row for row in results["truths"]}
    assert sorted(rows) == sorted(one["task"] for one in asked)
    assert all(rows[f"c{place}"] == rows["c0"] for place in range(10))
    assert (rows["c0"]["truth"], rows["c0"]["reports"], results["reports"]) == ("yes", 8, 112)
    assert {worker["reports"] for worker in results["workers"]} == {5}
    alone = stored(server, draft).independent.reports
    truth = pd.DataFrame({"task": ["c0"], "label": ["yes"]})
    estimate = METHODS[usual_method(alone.table.domain, mechanism)]().fit(alone, gold=truth)
    confidence = dict(zip(estimate.truths["task"], estimate.truths["confidence"], strict=True))
    assert confidence == {name: rows[name]["confidence"] for name in confidence}


IDS = [bytes([place]) * 16 for place in range(4)]
Campaign = make_class("Campaign", ["config", "at_least"])


def aims_of(asked, reported, suggested):
    given = list(zip(IDS, asked, strict=True))
    found = list(task_aims(given, np.array(reported), np.array(suggested)))
    assert [one["task_id"] for one in found] == [one.hex() for one in IDS]
    return np.array([one["aim"] for one in found])


def test_where_everybody_answers_it_is_the_reports_and_what_is_suggested():
    assert aims_of([5, 5, 5, 5], [5, 5, 5, 5], [0, 2, 0, 1]).tolist() == [5, 7, 5, 6]


def test_who_never_answers_is_made_up_for_alike():
    """Half of those who were asked do not answer: nothing is still on its way of any task."""
    asked = [20, 10, 6, 4]
    ahead = np.array(asked) - aims_of(asked, [10, 5, 3, 2], [0, 0, 1, 0])
    assert ahead.tolist() == [0, 0, -1, 0]


def test_what_is_on_its_way_about_a_task_counts():
    asked = [14, 10, 10, 10]
    ahead = np.array(asked) - aims_of(asked, [10, 10, 10, 10], [2, 2, 2, 2])
    assert ahead[0] > ahead[1] == ahead[2] == ahead[3]


def test_answers_of_a_batch_of_workers_are_suggested_or_more():
    assert next_answers(Campaign('{"answers_per_participant": 5}', 20), 30) == 100
    assert next_answers(Campaign('{"answers_per_participant": 5}', 1), 301) == 151
