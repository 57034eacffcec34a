"""``quietcrowd campaign results``, against a server."""

import json

import pandas as pd
import pytest
from tests.campaign.promises import WORDS

import quietcrowd as qc
from quietcrowd.campaign.results import results
from quietcrowd.campaign.results.inference_process import Inferrer

BIRDS = qc.RandomizedResponse(domain=qc.Categorical(["crow", "robin", "wren"]), epsilon=2.0)
LEVELS = qc.RandomizedResponse(domain=qc.Ordinal([1, 2, 3]), epsilon=2.0)


@pytest.fixture
def played(at_desk, server):
    """Return a way to have a campaign in which two people answered."""

    def play(mechanism, *answers, **members):
        campaign = at_desk.campaign(mechanism, join_mode="open", at_least=1, **members)
        for each in answers:
            at_desk.worker(campaign).send_all(mechanism, each)
        Inferrer(server.database).infer(bytes.fromhex(campaign))
        return campaign

    return play


def test_shares_have_the_words_of_a_survey(run, played, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "PAGE_ROWS", 3)  # a page for each question
    campaign = played(BIRDS, {"t0": "crow", "t1": "wren"}, {"t0": "crow"}, goal="shares")
    status, output, errors = run("campaign", "results", campaign, "--json")
    assert status == 0, errors
    assert "2 joined, 2 sent, 0 withdrew." in errors
    reports = tmp_path / "reports.jsonl"
    assert run("campaign", "export", campaign, "--content", "reports", "-o", reports)[0] == 0
    surveyed = run("survey", reports, "--json")
    ours, theirs = (pd.DataFrame(json.loads(one)) for one in (output, surveyed[1]))
    known = ours[ours["reports"] > 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(known, theirs[theirs["reports"] > 0].reset_index(drop=True))
    words = "95% intervals for all people of whom these workers are a random sample."
    assert all(words in " ".join(one.split()) for one in (errors, surveyed[2]))
    printed = run("campaign", "results", campaign)
    assert "robin" in printed[1]
    refused = run("campaign", "export", campaign, "-o", tmp_path / "truths.csv")
    assert refused[0] == 2
    assert "shares" in refused[2]


def test_levels_have_shares_and_means(run, played, tmp_path):
    campaign = played(LEVELS, {"t0": 1}, {"t0": 3})
    file = tmp_path / "shares.csv"
    status, output, errors = run("campaign", "results", campaign, "--shares", "-o", file)
    assert (status, output) == (0, ""), errors
    shares = pd.read_csv(file)
    assert shares["label"].tolist() == [1, 2, 3] * 3
    assert shares["reports"].tolist() == [2] * 3 + [0] * 6
    found = json.loads(run("campaign", "results", campaign, "--means", "--json")[1])
    assert [*found[0]] == ["task", "mean", "low", "high", "reports"]


def test_truths_are_the_results_where_they_are_the_goal(run, played):
    campaign = played(BIRDS, {"t0": "crow"}, {"t0": "crow"})
    found = json.loads(run("campaign", "results", campaign, "--json")[1])
    assert [one["task"] for one in found] == ["t0", "t1", "t2"]
    assert "truth" in found[0]
    refused = run("campaign", "results", campaign, "--means")
    assert refused[0] == 2
    assert "labels have no mean" in refused[2]


def test_a_campaign_without_reports_says_when_there_are_some(run, at_desk):
    refused = run("campaign", "results", at_desk.campaign(at_least=5), "--shares")
    assert refused[0] == 2
    assert "5 more workers" in " ".join(refused[2].split())


def test_a_campaign_is_created_for_shares(run, at_desk, tmp_path):
    file = tmp_path / "birds.xlsx"
    pd.DataFrame({"question": ["A?", "B?"], "gold": ["yes", None]}).to_excel(file, index=False)
    words = ("Birds", "--tasks", file, "--labels", "no,yes", *WORDS, "--goal", "shares")
    status, output, errors = run("campaign", "create", *words)
    assert status == 0, errors
    url = f"/campaigns/{output.strip()}"
    assert at_desk.client.get(url).json()["goal"] == "shares"
    items = at_desk.client.get(f"{url}/tasks").json()["items"]
    assert [(one["data"], one["gold"]) for one in items] == [
        ({"question": "A?"}, "yes"),
        ({"question": "B?"}, None),
    ]
