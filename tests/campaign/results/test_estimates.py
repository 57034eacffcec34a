"""Estimated shares and means of a campaign, which are those of the library."""

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import update
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import YES_NO, check_problem
from tests.nightly import by_day

import quietcrowd as qc
from quietcrowd.campaign.results import estimates, results
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.store import tables
from quietcrowd.survey import estimate_means, estimate_shares

BIRDS = qc.Categorical(["crow", "robin", "wren"])
LEVELS = qc.Ordinal([1, 2, 3, 4])
MADE = {
    "labels": qc.RandomizedResponse(domain=BIRDS, epsilon=2.0),
    "sets": qc.SubsetSelection(domain=qc.Categorical(list("abcdef")), epsilon=1.0),
    "missing ones": MECHANISMS["one-layer with NULL"],
    "levels": qc.RandomizedResponse(domain=LEVELS, epsilon=2.0),
    "sets of levels": qc.SubsetSelection(domain=qc.Ordinal(range(6)), epsilon=1.0),
    "numbers": MECHANISMS["laplace"],
}


@pytest.fixture
def told(server, desk):
    """Return a way to play a campaign, and to infer what is shown of it."""

    def play(mechanism, answers, tasks=3, **members):
        campaign = desk.campaign(mechanism, tasks=tasks, join_mode="open", at_least=1, **members)
        for each in answers:
            desk.worker(campaign).send_all(mechanism, each)
        Inferrer(server.database).infer(bytes.fromhex(campaign))
        return campaign

    return play


def random_answers(mechanism, people=7, tasks=3):
    source, domain = np.random.default_rng(0), mechanism.domain
    some = getattr(domain, "labels", None) or np.linspace(domain.low, domain.high, 5).tolist()
    return [
        {f"t{place}": some[source.integers(len(some))] for place in range(tasks)}
        for _ in range(people)
    ]


def estimated(desk, campaign):
    return desk.client.get(f"/campaigns/{campaign}/estimates").raise_for_status().json()


def reports_of(desk, campaign, tmp_path):
    sent = desk.client.get(f"/campaigns/{campaign}/reports").raise_for_status()
    (tmp_path / "reports.jsonl").write_bytes(sent.content)
    return qc.read_reports(tmp_path / "reports.jsonl")


@pytest.mark.parametrize("name", by_day(("labels", "sets of levels", "numbers"), MADE))
def test_they_are_those_of_the_library(desk, told, tmp_path, name):
    mechanism = MADE[name]
    campaign = told(mechanism, random_answers(mechanism))
    found = estimated(desk, campaign)
    assert (found["shown"], found["reports"], found["why_none"]) == (7, 21, None)
    frame = pd.DataFrame(found["items"])
    reports = reports_of(desk, campaign, tmp_path)
    if name in ("labels", "sets", "missing ones"):
        expected = estimate_shares(reports)
        pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
        return
    histogram = frame.pop("histogram")
    pd.testing.assert_frame_equal(frame, estimate_means(reports), check_dtype=False, rtol=1e-9)
    if name == "numbers":
        assert histogram.isna().all()
        return
    bars = pd.DataFrame([bar for bars in histogram for bar in bars])
    shares = estimate_shares(reports)
    assert (bars["low_edge"] == bars["high_edge"]).all()
    assert bars["low_edge"].tolist() == shares["label"].tolist()
    for column in ("share", "low", "high"):
        np.testing.assert_allclose(bars[column], shares[column])


def test_copies_of_a_question_have_its_estimate(server, desk):
    draft = desk.draft(MADE["labels"], join_mode="open", at_least=1)
    url = f"/campaigns/{draft['id']}"
    desk.import_csv(draft["id"], "task,q\na,Same?\nb,Other?\nc,Same?\n").raise_for_status()
    desk.client.post(f"{url}/open").raise_for_status()
    worker = desk.worker(draft["id"])
    tasks = {one["task"]: one["task_id"] for one in worker.tasks()}
    worker.send(worker.report(tasks["a"], 1)).raise_for_status()
    Inferrer(server.database).infer(bytes.fromhex(draft["id"]))
    items = estimated(desk, draft["id"])["items"]
    shares = {name: [one["share"] for one in items if one["task"] == name] for name in "abc"}
    counts = {one["task"]: one["reports"] for one in items}
    assert counts == {"a": 1, "b": 0, "c": 1}
    assert shares["a"] == shares["c"]
    assert shares["b"] == [None] * 3


@pytest.mark.nightly
def test_many_reports_are_added_from_a_file_to_the_same_numbers(server, desk, told, tmp_path):
    for name in ("sets", "numbers"):
        campaign = told(MADE[name], random_answers(MADE[name]))
        before = estimated(desk, campaign)
        url = f"/campaigns/{campaign}"
        tag = desk.client.get(f"{url}/estimates").headers["etag"]
        large = LargeCampaigns(memory=1, folder=str(tmp_path))
        Inferrer(server.database, large).infer(bytes.fromhex(campaign))
        assert estimated(desk, campaign) == before
        assert desk.client.get(f"{url}/estimates").headers["etag"] == tag


def test_the_sums_do_not_depend_on_the_order(desk, told, tmp_path):
    mechanism = MADE["numbers"]
    campaign = told(mechanism, random_answers(mechanism, people=9))
    reports = reports_of(desk, campaign, tmp_path)
    table = reports.table
    order = np.random.default_rng(1).permutation(len(table))

    class Rows:
        tasks, domain = len(table.tasks), mechanism.report_domain
        per_task = np.bincount(table.task_codes)

        def __init__(self, order):
            self.order = order

        def blocks(self):
            for part in np.array_split(self.order, 3):
                yield type(
                    "Block", (), {"tasks": table.task_codes[part], "values": table.values[part]}
                )

    numbers = estimates.UnbiasedNumbers.of(mechanism)
    one, other = (estimates._sums(Rows(some), numbers) for some in (np.arange(len(order)), order))
    for first, second in zip(one, other, strict=True):
        assert first.tolist() == second.tolist()


def test_pages_hold_whole_questions(desk, told, monkeypatch):
    monkeypatch.setattr(results, "PAGE_ROWS", 7)
    mechanism = MADE["labels"]
    campaign = told(mechanism, random_answers(mechanism, 2, tasks=5), tasks=5)
    url, seen, cursor = f"/campaigns/{campaign}/estimates", [], {}
    while True:
        page = desk.client.get(url, params=cursor).raise_for_status().json()
        seen.append([one["task"] for one in page["items"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [["t0"] * 3 + ["t1"] * 3, ["t2"] * 3 + ["t3"] * 3, ["t4"] * 3]
    tag = desk.client.get(url).headers["etag"]
    assert desk.client.get(url, headers={"If-None-Match": tag}).status_code == 304


def test_where_there_are_none_it_says_why(desk, told):
    mechanism = MECHANISMS["matrix factorisation"]
    campaign = told(mechanism, random_answers(mechanism, 2))
    found = estimated(desk, campaign)
    assert found["items"] == []
    assert "matrix-factorization" in found["why_none"]
    other = desk.campaign(join_mode="open")
    check_problem(desk.client.get(f"/campaigns/{other}/estimates"), 409, "no-results")


def test_where_shares_are_the_goal_no_truth_is_shown(desk, told):
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=2.0)
    campaign = told(mechanism, [{"t0": "yes"}], goal="shares")
    url, reader = f"/campaigns/{campaign}", desk.server.client(desk.token(campaign))
    for path in ("results", "results/head", "results/truths", "results/workers", "truths"):
        check_problem(desk.client.get(f"{url}/{path}"), 409, "goal-shares")
    for client in (desk.client, reader):
        assert client.get(f"{url}/estimates").json()["goal"] == "shares"
    check_problem(reader.get(f"{url}/results/head"), 409, "goal-shares")
    first = desk.client.get(f"{url}/estimates").headers["etag"]
    version = {"If-Match": desk.client.get(url).headers["etag"]}
    desk.client.patch(url, json={"goal": "truths"}, headers=version).raise_for_status()
    desk.client.get(f"{url}/results/truths").raise_for_status()
    second = desk.client.get(f"{url}/estimates")
    assert (second.json()["goal"], second.headers["etag"] == first) == ("truths", False)


@pytest.mark.parametrize("least", [1, 2])
def test_results_of_an_older_server_stay_as_they_are(server, desk, least):
    """They have no estimates: an inference of today could find other truths."""
    mechanism = MADE["labels"]
    campaign = desk.campaign(mechanism, join_mode="open", at_least=least)
    for _ in range(2):
        desk.worker(campaign).send_all(mechanism, {"t0": "crow"})
    mine, url = bytes.fromhex(campaign), f"/campaigns/{campaign}/estimates"
    Inferrer(server.database).infer(mine)
    desk.client.get(url).raise_for_status()
    with server.database.write() as connection:
        held = tables.inference
        connection.execute(
            update(held).where(held.c.campaign_id == mine).values(estimates_etag=None)
        )
    check_problem(desk.client.get(url), 409, "no-results")
    with server.database.read() as connection:
        assert mine not in results.outdated_campaigns(connection)
