"""``quietcrowd lab poll`` as a user meets it."""

import io
import json
from functools import partial

import pandas as pd
import pytest

import quietcrowd as qc


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "poll")


@pytest.fixture
def reports(tmp_path):
    """Return a file of reports of one question."""
    domain = qc.Categorical(["no", "yes"])
    frame = pd.DataFrame({"task": "smokes", "worker": range(90), "label": ["no", "no", "yes"] * 30})
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=2.0)
    path = tmp_path / "reports.parquet"
    qc.write_reports(mechanism.randomize(qc.Answers.from_frame(frame, domain=domain)), path)
    return path


def test_shares_into_a_pipe_and_both_losses(run, reports):
    status, output, errors = run(reports, "--min-honest", 80)
    frame = pd.read_csv(io.StringIO(output))
    assert status == 0
    assert frame["label"].tolist() == ["no", "yes"]
    assert frame["share"].sum() == pytest.approx(1)
    words = " ".join(errors.split())
    assert words.index("loses at most epsilon = 2 ") < words.index("Only if the shuffler is honest")
    assert "at least 80 of the reports" in words
    assert "each report enters one published output only" in words
    assert "whoever sees this one output alone learns" in words
    assert "It is assumed" not in words
    assert "is not below" not in words


def test_what_is_assumed_is_said(run, reports):
    errors = run(reports, "--delta", 0.02)[2]
    assert "This assumes that all 90 reports are honest" in errors
    assert "Delta = 0.02 is not below 1 in 90" in errors


def test_json_and_a_file(run, reports, tmp_path):
    target = tmp_path / "shares.csv"
    status, output, _ = run(reports, "--min-honest", 50, "--json", "-o", target)
    told = json.loads(output)
    assert status == 0
    assert told["local_epsilon"] == pytest.approx(2.0)
    assert told["shuffled"]["epsilon"] <= told["local_epsilon"]
    assert told["shuffled"]["honest"] == 50
    assert not told["shuffled"]["honest_assumed"]
    assert "honest" in told["shuffled"]["assumption"]
    assert "worker" not in target.read_text()
    assert pd.read_csv(target)["share"].tolist() == pytest.approx(
        [row["share"] for row in told["shares"]]
    )
    status, _, errors = run(reports, "-o", target)
    assert status == 2
    assert "shares.csv" in errors


def test_sets_of_labels_and_from_where_on_shuffling_adds(run, tmp_path):
    domain = qc.Ordinal(range(20))
    frame = pd.DataFrame({"task": "age", "worker": range(90), "label": [3, 4, 5] * 30})
    mechanism = qc.SubsetSelection(domain=domain, epsilon=2.0)
    path = tmp_path / "sets.parquet"
    qc.write_reports(mechanism.randomize(qc.Answers.from_frame(frame, domain=domain)), path)
    status, output, errors = run(path, "--min-honest", 20, "--json")
    told = json.loads(output)
    assert status == 0
    assert sum(row["share"] for row in told["shares"]) == pytest.approx(1)
    assert not told["shuffled"]["adds"]
    number = told["shuffled"]["adds_from"]
    assert (
        f"Shuffling is not shown to add anything with 20 honest reports, but from {number:,} on."
        in " ".join(errors.split())
    )
    _, output, errors = run(path, "--min-honest", number, "--json")
    assert json.loads(output)["shuffled"]["adds"]
    assert "not shown to add" not in errors


def test_a_worker_reports_once(run, reports, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(reports.read_bytes())
    status, _, errors = run(reports, copy)
    assert status == 2
    assert "answered task 'smokes'" in errors


def test_one_question(run, tmp_path):
    crowd = qc.make_crowd(tasks=3, workers=5, answers_per_task=2, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    path = tmp_path / "three.parquet"
    qc.write_reports(mechanism.randomize(crowd.answers), path)
    status, _, errors = run(path)
    assert status == 2
    assert "has one question" in errors


@pytest.mark.parametrize("number", [0, 91])
def test_no_more_can_be_honest_than_there_are(run, reports, number):
    status, _, errors = run(reports, "--min-honest", number)
    assert status == 2
    assert "--min-honest must be 1 to 90" in errors
