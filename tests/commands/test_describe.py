"""``quietcrowd convert --describe`` as a user meets it."""

import json

import pandas as pd
import pytest


@pytest.fixture
def answers(tmp_path):
    """Return a file in which a worker answers a task twice."""
    path = tmp_path / "answers.csv"
    path.write_text("task,worker,label\na,ann,0\na,bob,1\nb,bob,0\nb,bob,1\n")
    return path


def test_a_file_and_its_truths(run, answers, tmp_path):
    truths = tmp_path / "truths.csv"
    truths.write_text("task,truth\na,1\n")
    status, output, errors = run("convert", answers, "--describe", "--gold", truths)
    assert status == 0, errors
    assert max(map(len, output.splitlines())) <= 80
    assert "rows that repeat a worker's answer to a task 1" in " ".join(output.split())
    assert "50.0%" in output
    status, output, _ = run("convert", answers, "--describe", "--gold", truths, "--json")
    found = json.loads(output)
    assert (found["answers"], found["repeated"], found["contradicting"]) == (3, 1, 1)
    assert found["labels"] == {"0": 2, "1": 1}
    assert found["right"] == 0.5


def test_a_dataset_folder_and_reports(run, folder, tmp_path):
    status, output, _ = run("convert", folder, "--describe", "--json")
    assert status == 0
    assert json.loads(output)["truths"] > 0
    assert run("randomize", folder, "-e", "1", "-o", tmp_path / "r.parquet")[0] == 0
    status, _, errors = run("convert", tmp_path / "r.parquet", "--describe")
    assert status == 0, errors
    assert "randomized reports" in errors


def test_other_columns(run, tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame({"item": ["a"], "who": ["w"], "says": [1]}).to_csv(path, index=False)
    assert run("convert", path, "--describe", "--columns", "item,who,says")[0] == 0
    status, _, errors = run("convert", path, "--describe")
    assert status == 2
    assert "column 'task' is missing; the file has item, who, says" in errors


def test_what_does_not_go_with_a_folder(run, folder, answers, tmp_path):
    assert "require a file" in run("convert", folder, "--describe", "--gold", answers)[2]
    assert "no such file" in run("convert", tmp_path / "none.csv", "--describe")[2]
