"""``quietcrowd lab rank`` as a user meets it, and reports from a table of comparisons."""

import io
import json
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "rank")


@pytest.fixture
def table(tmp_path):
    """Return a file of plain comparisons."""
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 300)
    right = (left + rng.integers(1, 4, 300)) % 4
    wins = rng.random(300) < 1 / (1 + np.exp(left - right))
    names = np.array(["tea", "milk", "juice", "cola"])
    columns = {
        "worker": np.arange(300),
        "left": names[left],
        "right": names[right],
        "label": names[np.where(wins, left, right)],
    }
    path = tmp_path / "comparisons.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.fixture
def reports(table, tmp_path):
    """Return a file of reports of them, as devices make it."""
    answers = qc.Answers.from_comparisons(pd.read_csv(table))
    device = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0)
    path = tmp_path / "reports.jsonl"
    qc.write_reports(device.randomize(answers), path)
    return path


def test_plain_comparisons_into_a_pipe(run, table):
    status, output, errors = run(table, "--non-private")
    assert status == 0
    frame = pd.read_csv(io.StringIO(output))
    expected = qc.BradleyTerry().fit(pd.read_csv(table), non_private=True).to_frame()
    pd.testing.assert_frame_equal(frame, expected)
    assert frame["item"][0] == "tea"
    assert "4 items, 300 comparisons, 300 workers; converged." in errors
    assert "Pairs of neighbors in the ranking that differ" in errors


def test_reports_as_json_and_into_a_file(run, reports, tmp_path):
    target = tmp_path / "ranking.csv"
    status, output, _ = run(reports, "--json", "--prior-sd", 1, "-o", target)
    assert status == 0
    told = json.loads(output)
    assert told["mechanism"]["mechanism"] == "one-layer"
    assert (told["spread"], told["converged"], told["comparisons"]) == (1.0, True, 300)
    assert [row["item"] for row in told["items"]] == pd.read_csv(target)["item"].tolist()
    status, _, errors = run(reports, "-o", target)
    assert (status, "already exists" in errors) == (2, True)


def test_standard_input_and_output(run, reports, monkeypatch):
    class Piped(io.TextIOWrapper):
        def isatty(self):
            return False

    monkeypatch.setattr(sys, "stdin", Piped(io.BytesIO(reports.read_bytes())))
    status, output, _ = run("-", "-o", "-")
    assert status == 0
    assert output.startswith("item,rank,score,")


def test_an_early_end_is_told_once(run, table):
    status, _, errors = run(table, "--non-private", "--max-iter", 1)
    assert status == 0
    assert errors.count("onverged") == 1
    assert "NOT converged: increase --max-iter." in errors


def test_columns_and_a_row_in_error_are_those_of_the_file(run, table):
    frame = pd.read_csv(table).set_axis(["who", "a", "b", "won"], axis=1)
    frame.to_csv(table, index=False)
    assert run(table, "--non-private", "--columns", "who,a,b,won")[0] == 0
    frame.loc[2, "won"] = "sake"
    frame.to_csv(table, index=False)
    status, _, errors = run(table, "--non-private", "--columns", "who,a,b,won")
    assert status == 2
    assert "comparisons.csv: row 2, column 'won': 'sake' is neither" in errors
    assert "row 2 is line 4 of the file" in errors


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{table}"], "the mechanism of these reports is unknown"),
        (["{reports}", "--non-private"], "these are randomized reports"),
        (["{table}", "{table}", "--non-private"], "--non-private accepts one file"),
        (["-", "-"], "only one file can be - (standard input)"),
        (["{table}", "--non-private", "--columns", "a,b"], "must be four names"),
        (["{reports}", "--duplicates", "last"], "require --non-private"),
        (["{table}", "--non-private", "-o", "-", "--json"], "both print on standard output"),
        (["{table}", "--non-private", "--columns", "a,b,c,a"], "--columns names 'a' twice"),
        (["{table}", "--non-private", "-o", "{table}"], "is the input"),
        (["{table}", "--non-private", "--prior-sd", "0"], "spread must be a finite number above 0"),
        (["{table}", "--non-private", "--duplicates", "both"], "duplicates must be one of"),
    ],
)
def test_what_is_wrong_is_one_line(run, table, reports, words, told):
    status, output, errors = run(*(word.format(table=table, reports=reports) for word in words))
    assert (status, output) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1


def test_a_file_without_a_header_has_numbers_of_columns(run, tmp_path):
    path = tmp_path / "comparisons.csv"
    path.write_text("tea,milk,tea,ann\ntea,milk,draw,bob\n")
    assert "give column numbers" in run(path, "--non-private")[2]
    status, output, _ = run(path, "--non-private", "--columns", "4,1,2,3")
    assert (status, output.splitlines()[1].split(",")[0]) == (0, "tea")
