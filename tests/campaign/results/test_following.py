"""Results of menus and of rounds equal those of the library, from the reports as they were sent."""

from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.campaign.clocks import ROUNDS
from tests.campaign.store.test_menus_and_rounds import (
    YES_NO,
    campaign,
    clock,
    desk,
    joined,
    keep,
    me,
)

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store.database import Database
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.report_frames import reports_from_frame

__all__ = ["clock", "desk"]

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")

TASKS = 6
MENU = [{"total_epsilon": 60.0, "share": 0.5}, {"total_epsilon": 12.0, "share": 0.5}]


def infer(desk, one):
    """Infer as the process does, which has one connection."""
    url = desk.server.database.url.render_as_string(hide_password=False)
    with closing(Database.open(url, pool_size=1)) as database:
        return Inferrer(database).infer(bytes.fromhex(one))


def mechanisms(worker):
    entries = worker.config.get("menu", {}).get("entries") or [worker.config]
    return [Mechanism.from_dict(entry["mechanism"]) for entry in entries]


def report(worker, answers, round_=None):
    """Randomise and send answers by task; return the reports under the worker's pseudonym."""
    record = me(worker)
    mechanism = mechanisms(worker)[record["choice"] or 0]
    tasks = {task["task"]: task["task_id"] for task in worker.tasks()}
    frame = pd.DataFrame({"task": list(answers), "label": list(answers.values())})
    frame["worker"] = record["pseudonym"]
    reports = mechanism.randomize(qc.Answers.from_frame(frame, mechanism.domain))
    table = reports.table
    names = table.tasks.to_pylist()
    items = [
        worker.report(tasks[names[task]], int(value))
        for task, value in zip(table.task_codes, table.values, strict=True)
    ]
    receipt = worker.send(*items, **({} if round_ is None else {"round": round_})).json()
    assert receipt["accepted"] == len(answers), receipt
    return reports


def crowd(rng, count):
    """Return answers of people who are right about every second task and guess at others."""
    return [
        {f"t{task}": str(rng.choice(["no", "yes"], p=[0.2, 0.8])) for task in range(TASKS)}
        for _ in range(count)
    ]


def truths(desk, one, **params):
    rows = desk.client.get(f"/campaigns/{one}/results/truths", params=params).json()["items"]
    return pd.DataFrame(rows).set_index("task").sort_index()


def check_equal(found, frame):
    """Check that rows of a server are those of a frame of the library, bit for bit."""
    expected = frame.set_index("task").sort_index()
    assert found["truth"].tolist() == expected["truth"].tolist()
    [error] = {"confidence", "standard_error"} & set(expected.columns)
    assert np.array_equal(found[error].to_numpy(float), expected[error].to_numpy(float))
    assert found["reports"].tolist() == expected["answers"].tolist()


NUMBERS = {"kind": "interval", "low": 0, "high": 1}


@pytest.mark.grid
@pytest.mark.parametrize("domain", [YES_NO.to_dict(), NUMBERS], ids=["labels", "numbers"])
def test_truths_of_a_menu_are_those_of_the_joined_reports(desk, domain):
    rng = np.random.default_rng(1)
    one = campaign(desk, tasks=TASKS, menu=MENU, domain=domain)
    sent = []
    for place, answers in enumerate(crowd(rng, 12)):
        worker = joined(desk, one, choice=place % 2)
        numbers = {task: 0.1 if label == "no" else 0.9 for task, label in answers.items()}
        sent.append(report(worker, numbers if domain is NUMBERS else answers))
    assert infer(desk, one)
    offline = qc.NoiseAware(groups=False).fit(qc.join_reports(*sent), n_jobs=1)
    check_equal(truths(desk, one), offline.truths)
    head = desk.client.get(f"/campaigns/{one}/results/head").json()
    assert (head["participants"], head["reports"]) == (12, 12 * TASKS)
    workers = desk.client.get(f"/campaigns/{one}/results/workers").json()["items"]
    assert sorted(row["choice"] for row in workers) == [0] * 6 + [1] * 6
    for row in workers:
        loss = [12.0, 60.0][row["choice"]]
        assert row["total_epsilon"] == pytest.approx(loss)


def test_shares_of_a_menu_are_weighted_by_people(desk):
    """Ten people with little privacy all say no; thirty with much privacy all say yes."""
    entries = [{"total_epsilon": 12.0, "share": 0.5}, {"total_epsilon": 2.0, "share": 0.5}]
    one = campaign(desk, tasks=1, goal="shares", menu=entries, method=None)
    yes = 0
    for place in range(40):
        worker = joined(desk, one, choice=int(place < 10))
        [sent] = report(worker, {"t0": "no" if place < 10 else "yes"}).to_frame()["label"]
        yes += place >= 10 and sent == "yes"
    infer(desk, one)
    rows = desk.client.get(f"/campaigns/{one}/estimates").json()["items"]
    [row] = [row for row in rows if row["label"] == "yes"]
    keeps = np.exp(2.0) / (1 + np.exp(2.0))
    private = (yes / 30 - (1 - keeps)) / (2 * keeps - 1)
    assert row["share"] == pytest.approx(0.75 * private, abs=1e-4)
    assert row["reports"] == 40


def play(desk, clock, number, people, rng):
    """Let people report in a round; return what each of them sent."""
    clock.to(number)
    keep(desk)
    answers = crowd(rng, len(people))
    return {one.id: report(one, found, number) for one, found in zip(people, answers, strict=True)}


def follow(sent):
    """Return the truths of a chain of fits to what was sent by round."""
    method, estimate = qc.NoiseAware(over_time="follow", groups=False), None
    for number, reports in sent.items():
        joint = qc.join_reports(*reports.values())
        if estimate is None:
            estimate = method.fit(joint, round=number, n_jobs=1)
        else:
            estimate = method.extend(estimate, joint, round=number)
    return estimate.smoothed()


@pytest.mark.grid
def test_results_of_rounds_are_those_of_one_chain_of_fits(desk, clock):
    rng = np.random.default_rng(2)
    kept = 3
    one = campaign(desk, tasks=TASKS, menu=MENU, rounds={**ROUNDS, "keep": kept})
    people = [joined(desk, one, choice=place // 2 % 2, slot=0) for place in range(8)]
    sent = {number: play(desk, clock, number, people[number % 2 :: 2], rng) for number in range(5)}
    clock.to(5)
    keep(desk)
    assert infer(desk, one)
    assert not infer(desk, one)  # nothing changes before the next round
    shown = desk.client.get(f"/campaigns/{one}/rounds").json()
    assert shown["present"] == 5
    assert [row["round"] for row in shown["items"]] == [2, 3, 4]
    assert [row["participants"] for row in shown["items"]] == [4, 4, 4]
    smoothed = follow({number: sent[number] for number in (2, 3, 4)})
    for number in (2, 3, 4):
        check_equal(truths(desk, one, round=number), smoothed[smoothed["round"] == number])
    check_equal(truths(desk, one), smoothed[smoothed["round"] == 4])
    workers = desk.client.get(f"/campaigns/{one}/results/workers").json()["items"]
    assert [row["reports"] for row in workers] == [TASKS] * 4  # in this round, like the loss
    series = desk.client.get(f"/campaigns/{one}/series", params={"task": "t3"}).json()["items"]
    of_task = smoothed[smoothed["task"] == "t3"]
    assert [row["confidence"] for row in series] == of_task["confidence"].tolist()
    assert series[0]["begins"] == "2026-12-03T00:00:00Z"


def test_where_facts_last_a_round_has_the_last_reports_of_everyone(desk, clock):
    rng = np.random.default_rng(6)
    lasting = {**ROUNDS, "window": 2, "step": 2, "facts": "lasting", "keep": 3}
    one = campaign(desk, tasks=TASKS, rounds=lasting)
    people = [joined(desk, one, choice=place // 2 % 2, slot=place % 2) for place in range(8)]
    sent = {number: play(desk, clock, number, people[number % 2 :: 2], rng) for number in range(5)}
    clock.to(5)
    keep(desk)
    assert infer(desk, one)
    for number, others in [(2, 3), (3, 2), (4, 3)]:  # rounds before 2 are deleted
        reports = qc.join_reports(*sent[number].values(), *sent[others].values())
        alone = qc.NoiseAware(groups=False).fit(reports, n_jobs=1)
        check_equal(truths(desk, one, round=number), alone.truths)


def test_withdrawal_equals_never_having_joined(desk, clock):
    rng = np.random.default_rng(3)
    one = campaign(desk, tasks=TASKS, menu=MENU, rounds={**ROUNDS, "keep": 6})
    people = [joined(desk, one, choice=place // 2 % 2, slot=0) for place in range(12)]
    sent = {number: play(desk, clock, number, people[number % 2 :: 2], rng) for number in range(4)}
    clock.to(4)
    keep(desk)
    infer(desk, one)
    before = [truths(desk, one, round=number) for number in range(4)]
    people[0].client.delete("/me").raise_for_status()
    assert not infer(desk, one)
    for number, rows in enumerate(before):
        pd.testing.assert_frame_equal(truths(desk, one, round=number), rows)
    sent[4] = play(desk, clock, 4, people[1:], rng)
    clock.to(5)
    keep(desk)
    infer(desk, one)
    for reports in sent.values():
        reports.pop(people[0].id, None)
    smoothed = follow(sent)
    for number in range(5):
        check_equal(truths(desk, one, round=number), smoothed[smoothed["round"] == number])


@pytest.mark.parametrize("kind", ["jsonl", "csv", "arrow"])
def test_exported_reports_name_their_mechanism_and_round(desk, clock, tmp_path, kind):
    rng = np.random.default_rng(4)
    one = campaign(desk, tasks=TASKS, menu=MENU, rounds=ROUNDS)
    people = [joined(desk, one, choice=place % 2, slot=0) for place in range(6)]
    sent = {number: play(desk, clock, number, people[: 4 + number], rng) for number in range(2)}
    clock.to(2)
    keep(desk)
    desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    url, file = f"/campaigns/{one}/reports", tmp_path / f"reports.{kind}"
    file.write_bytes(desk.client.get(url, params={"format": kind}).content)
    note = desk.client.get(url, params={"format": "mechanism"}).json()
    mixture = Mechanism.from_dict(note["mechanism"])
    if kind == "arrow":
        frame = pa.ipc.open_stream(file.read_bytes()).read_all().to_pandas()
    else:
        frame = pd.read_csv(file) if kind == "csv" else pd.read_json(file, lines=True)[1:]
    for number, reports in sent.items():
        rows = frame[frame["round"] == number]
        found = reports_from_frame(rows, [mixture])
        joint = qc.join_reports(*reports.values())
        assert found.to_frame().equals(joint.to_frame())


def test_a_file_of_reports_by_a_menu_is_read_as_it_was_sent(desk, tmp_path):
    rng = np.random.default_rng(5)
    one = campaign(desk, tasks=TASKS, menu=MENU)
    sent = [
        report(joined(desk, one, choice=place % 2), answers)
        for place, answers in enumerate(crowd(rng, 4))
    ]
    desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    file = tmp_path / "reports.jsonl"
    file.write_bytes(desk.client.get(f"/campaigns/{one}/reports").content)
    assert qc.read_reports(file).to_frame().equals(qc.join_reports(*sent).to_frame())
