"""A campaign whose tasks list their options: from its file of tasks to results and exports."""

import warnings

import numpy as np
import pytest
from tests.campaign.people import check_problem
from tests.campaign.promises import PROMISES

import quietcrowd as qc
from quietcrowd.campaign.device.client import Client
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.mechanisms.randomized_response import RandomizedAmong
from quietcrowd.survey import estimate_shares

LABELS = ["cat", "dog", "oak", "elm", "fir"]
TREES, PETS = ["oak", "elm", "fir"], ["cat", "dog"]
MECHANISM = RandomizedAmong(domain=qc.Categorical(LABELS), epsilon=3.0, counts=[2, 3])
TASKS = {
    **{f"pet{place}": PETS if place % 2 else PETS[::-1] for place in range(4)},
    **{f"tree{place}": TREES for place in range(3)},
}
FILE = "\n".join(
    [
        "id,question,options,gold",
        *(
            f"{name},Which is on picture {chr(97 + place)}?,{'|'.join(options)},"
            + ("fir" if name == "tree0" else "")
            for place, (name, options) in enumerate(TASKS.items())
        ),
        "same,Which is on picture a?,dog|cat,",
    ]
)


@pytest.fixture
def campaign(desk):
    draft = desk.draft(MECHANISM, join_mode="open")["id"]
    desk.import_csv(draft, FILE).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    return draft


def answers_of(worker):
    """Return the true answers of most workers: the first option, or the last of a tree."""
    rng = np.random.default_rng(worker)
    options = {**TASKS, "same": PETS[::-1]}
    truths = {name: one[-1 if name[0] == "t" else 0] for name, one in options.items()}
    return {
        name: truth if rng.random() < 0.9 else rng.choice(options[name]).item()
        for name, truth in truths.items()
    }


def test_tasks_are_stored_with_lists_of_labels(desk, campaign):
    items = desk.client.get(f"/campaigns/{campaign}/tasks").json()["items"]
    assert {one["task"]: one["data"]["options"] for one in items} == {**TASKS, "same": PETS[::-1]}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("t,?,cat,", "options must be 2 to 64"),
        ("t,?,,", "options must be 2 to 64"),
        ("t,?,cat|cat,", "options must be 2 to 64"),
        ("t,?,cat|cow,", "an option is not one of the campaign's labels"),
        ("t,?,cat|dog|oak|elm,", "must list its options"),
        ("t,?,cat|dog,fir", "gold must be one"),
        ('t,?,"[""cat"",",', "options must be 2 to 64"),
    ],
)
def test_a_file_with_other_options_is_rejected_whole(desk, line, told):
    draft = desk.draft(MECHANISM)["id"]
    response = desk.import_csv(draft, f"id,question,options,gold\na,?,dog;cat,\n{line}\n")
    [error] = check_problem(response, 422, "validation")["errors"]
    assert told in error["message"]
    assert desk.client.get(f"/campaigns/{draft}/tasks").json()["items"] == []


def test_a_report_beyond_the_options_of_its_task_is_rejected(desk, campaign):
    worker = desk.worker(campaign)
    tasks = {one["task"]: one["task_id"] for one in worker.tasks()}
    sent = [("pet0", 1), ("pet1", 2), ("tree0", 2), ("tree1", 3), ("tree2", -1)]
    receipt = worker.send(*(worker.report(tasks[name], value) for name, value in sent)).json()
    assert receipt["accepted"] == 2
    assert {one["code"] for one in receipt["rejected"]} == {"out-of-domain"}


def test_results_and_exports_are_those_of_the_library(server, desk, campaign, tmp_path):
    inferrer = Inferrer(server.database)
    for first in (0, 6):  # no inference can start from an earlier one
        for worker in range(first, first + 6):
            link = f"{server.url}/j/{campaign}"
            device = Client(link, folder=tmp_path / f"{worker}", patience=1e6)
            answers = answers_of(worker)
            assert device.answer(answers).accepted == 8
            sent = {one.task: one.value for one in device.sent_reports()}
            assert sent.keys() == answers.keys()
            assert all(value in {**TASKS, "same": PETS}[task] for task, value in sent.items())
            assert sent["same"] == sent["pet0"]
        assert inferrer.infer(bytes.fromhex(campaign))
    results = desk.client.get(f"/campaigns/{campaign}/results").json()
    assert results["method"]["method"] == "noise-aware", results["warnings"]
    for kind in ("jsonl", "arrow"):
        file = tmp_path / f"reports.{kind}"
        url, params = f"/campaigns/{campaign}/reports", {"format": kind}
        file.write_bytes(desk.client.get(url, params=params).content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
        reports = qc.read_reports(tmp_path / "reports.jsonl")
        gold = {"tree0": "fir"}
        found = qc.NoiseAware(groups=False).fit(reports, gold=gold)
    offline = dict(zip(found.truths["task"], found.truths["truth"], strict=True))
    truths = {row["task"]: row["truth"] for row in results["truths"]}
    assert truths.pop("same") == truths["pet0"]
    assert offline == truths
    assert {
        row["task"]: row["confidence"] for row in results["truths"] if row["task"] != "same"
    } == (dict(zip(found.truths["task"], found.truths["confidence"], strict=True)))
    shares = {}
    for row in desk.client.get(f"/campaigns/{campaign}/estimates").json()["items"]:
        shares.setdefault(row["task"], {})[row["label"]] = row["share"]
    assert {task: list(row) for task, row in shares.items()} == {**TASKS, "same": PETS[::-1]}
    assert shares.pop("same") == shares["pet0"]
    for row in estimate_shares(reports).itertuples():
        assert shares[row.task][row.label] == pytest.approx(row.share, abs=1e-12)
    assert reports.table.options.sizes.tolist() == [2, 2, 2, 2, 3, 3, 3]
    one = MECHANISM.report_epsilon
    assert results["privacy"]["answer_epsilon"] == one
    assert results["workers"][0]["total_epsilon"] == pytest.approx(7 * one, rel=1e-6)
    assert results["agreement"]["reports"] is not None


def test_a_draft_has_the_mechanism_of_a_total_loss_and_numbers_of_options(desk):
    domain = qc.Categorical(LABELS).to_dict()
    given = {"title": "Pets", "domain": domain, "total_epsilon": 8.0, **PROMISES}
    body = {**given, "option_counts": [3, 2], "answers_per_participant": 4}
    draft = desk.client.post("/campaigns", json=body).raise_for_status().json()["id"]

    def mechanism():
        described = desk.client.get(f"/campaigns/{draft}").json()["mechanism"]
        return qc.mechanisms.Mechanism.from_dict(described)

    assert mechanism().option_counts == (2, 3)
    desk.import_csv(draft, FILE).raise_for_status()
    assert 0.99 * 8 < mechanism().guarantee(answers=4).total_epsilon <= 8
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for counts in ([6], [1], [], [2.5], [65]):
        refused = desk.client.post("/campaigns", json={**body, "option_counts": counts})
        [error] = check_problem(refused, 422, "validation")["errors"]
        assert error["pointer"].startswith("/option_counts")
    refused = desk.client.post("/campaigns", json={**body, "mechanism_name": "optimal"})
    [error] = check_problem(refused, 422, "validation")["errors"]
    assert "does not randomize among the options" in error["message"]


def test_options_of_a_draft_can_be_added_and_dropped(desk):
    domain = qc.Categorical(LABELS).to_dict()
    body = {"title": "Pets", "domain": domain, "answers_per_participant": 4}
    url = "/campaigns/" + desk.client.post("/campaigns", json=body).raise_for_status().json()["id"]
    for counts in ([2, 3], None):
        tag = desk.client.get(url).headers["etag"]
        change = {"option_counts": counts}
        changed = desk.client.patch(url, json=change, headers={"If-Match": tag})
        assert changed.raise_for_status().json()["mechanism"].get("option_counts") == counts


def test_a_draft_takes_only_what_suits_options(desk):
    described = {"title": "Pets", "mechanism": MECHANISM.to_dict()}
    for member, value in (
        ("method", qc.DawidSkene().to_dict()),
        ("allotment", "suggested"),
        ("mechanism", {**MECHANISM.to_dict(), "option_counts": [2, 6]}),
        ("mechanism", {**MECHANISM.to_dict(), "option_counts": [1]}),
        ("mechanism", {**MECHANISM.to_dict(), "option_counts": []}),
        ("mechanism", {**MECHANISM.to_dict(), "option_counts": "23"}),
    ):
        response = desk.client.post("/campaigns", json={**described, member: value})
        [error] = check_problem(response, 422, "validation")["errors"]
        assert error["pointer"] == f"/{member}"


def test_a_column_options_of_another_campaign_is_shown_as_it_is(desk):
    draft = desk.draft(join_mode="open")["id"]
    desk.import_csv(draft, "id,question,options\na,Is it red?,cat|dog\n").raise_for_status()
    [item] = desk.client.get(f"/campaigns/{draft}/tasks").json()["items"]
    assert item["data"] == {"question": "Is it red?", "options": "cat|dog"}
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
