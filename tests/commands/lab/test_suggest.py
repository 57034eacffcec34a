"""``quietcrowd lab suggest`` as a user meets it."""

import io
import json
from functools import partial

import pandas as pd
import pytest

import quietcrowd as qc


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "suggest")


def test_tasks_into_a_pipe(run, reports):
    status, output, errors = run(reports, "--count", 12)
    frame = pd.read_csv(io.StringIO(output))
    assert status == 0
    assert list(frame.columns) == ["task", "answers", "value", "error"]
    assert frame["answers"].sum() == 12
    assert "12 answers for 12 tasks. Run this again" in errors


def test_a_worker_json_and_a_file(run, reports, tmp_path):
    target = tmp_path / "next.csv"
    worker = qc.read_reports(reports).table.workers[0].as_py()
    status, output, _ = run(reports, "--worker", worker, "--count", 5, "--json", "-o", target)
    assert status == 0
    rows = json.loads(output)["tasks"]
    assert [row["answers"] for row in rows] == [1] * 5
    assert pd.read_csv(target)["task"].tolist() == [row["task"] for row in rows]
    status, _, errors = run(reports, "-o", target)
    assert status == 2
    assert "next.csv" in errors


def test_tasks_to_check(run, reports, tmp_path):
    target = tmp_path / "check.csv"
    status, _, errors = run(reports, "--to-check", 6, "-o", target)
    assert status == 0
    assert "6 tasks to check. Write their truths into a file" in errors
    frame = pd.read_csv(target)
    assert frame["chosen"].tolist() == ["at random"] * 3 + ["uncertain"] * 3
    status, _, errors = run(reports, "--to-check", 6, "--worker", "ann")
    assert status == 2
    assert "omit them with --to-check" in errors


def test_methods_that_cannot_say_are_refused_in_a_line(run, reports):
    status, _, errors = run(reports, "--method", "majority")
    assert status == 2
    assert "MajorityVote cannot predict the benefit of another report; use NoiseAware" in errors
