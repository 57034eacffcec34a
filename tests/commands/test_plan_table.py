"""``quietcrowd plan --find``, and ``campaign create --plan``."""

import json
import re

import pytest

import quietcrowd as qc
from quietcrowd.commands.plan_table import print_expected_errors
from quietcrowd.exceptions import ParameterError

SMALL = (
    "plan",
    "--tasks",
    40,
    "--answers-per-worker",
    20,
    "--simulations",
    3,
    "--labels",
    "no,yes",
)


@pytest.mark.slow
def test_the_least_of_both_kinds_is_told(run):
    status, output, _ = run(
        *SMALL,
        "--workers",
        30,
        "--find",
        "epsilon",
        "--target-error",
        0.3,
        "--hard-share",
        0,
        "--json",
    )
    (row,) = json.loads(output)
    assert status == 0
    assert (row["workers"], row["answers"], row["mechanism"]) == (30, 20, "one-layer")
    assert row["low"] < row["epsilon"] < row["high"]
    assert row["crowds"] == 3
    status, output, _ = run(
        *SMALL, "--find", "workers", "-e", row["epsilon"], "--target-error", 0.3, "--hard-share", 0
    )
    assert status == 0
    assert "one-layer: an expected error of 0.3 needs" in output
    assert re.search(r"90 % interval \S+ to \S+, from 3 crowds", " ".join(output.split()))
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--find", "money", "--workers", 9), "--find must be workers or epsilon"),
        (("--find", "workers"), "--find requires --target-error"),
        (("--find", "epsilon"), "set the number of workers"),
    ],
    ids=["money", "target", "workers"],
)
def test_what_is_wrong_is_one_line(run, words, told):
    status, _, errors = run(*SMALL, *words)
    assert status == 2
    assert told in errors


LABELS = qc.Categorical(["no", "yes"])


@pytest.mark.slow
def test_what_is_expected_of_a_campaign_is_told_beside_the_output(capsys):
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=1.0)
    print_expected_errors(mechanism, "one-layer", tasks=30, workers=20, answers=10)
    output, errors = capsys.readouterr()
    assert output == ""
    assert "30 tasks: expected error rate" in errors
    assert errors.count("one-layer ") == 1
    assert "20" in errors
    assert max(map(len, errors.splitlines())) <= 80


@pytest.mark.slow
def test_a_plan_comes_before_the_campaign(run, tmp_path):
    """No server is there: the plan is told all the same, and needs no data."""
    (tmp_path / "t.csv").write_text("id,q\na,A?\nb,B?\nc,C?\n")
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    where = ("--server", "http://127.0.0.1:9", "--plan")
    status, output, errors = run(*words, *where, "--max-workers", 20)
    assert (status, output) == (2, "")
    assert "3 tasks: expected error rate" in errors
    status, _, errors = run(*words, *where)
    assert status == 2
    assert "--plan requires --max-workers" in errors


def test_what_cannot_be_planned_is_said():
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=1.0)
    with pytest.raises(ParameterError, match="--max-workers"):
        print_expected_errors(mechanism, "one-layer", tasks=3, workers=None, answers=None)
    levels = qc.LaplaceMechanism(domain=qc.Ordinal([1, 2, 3]), epsilon=1.0)
    with pytest.raises(ParameterError, match="its truths are numbers, the plan's labels"):
        print_expected_errors(levels, "laplace", tasks=3, workers=5, answers=None)
