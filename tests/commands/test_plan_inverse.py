import json

import pytest

SMALL = ("plan", "--tasks", 40, "--answers", 20, "--draws", 3, "--labels", "no,yes")


@pytest.mark.slow
def test_the_least_of_both_kinds_is_told(run):
    status, output, _ = run(
        *SMALL, "--workers", 30, "--least", "epsilon", "--target", 0.3, "--misled", 0, "--json"
    )
    (row,) = json.loads(output)
    assert status == 0
    assert (row["workers"], row["answers"], row["mechanism"]) == (30, 20, "one-layer")
    assert row["low"] < row["epsilon"] < row["high"]
    assert row["crowds"] == 3
    status, output, _ = run(
        *SMALL, "--least", "workers", "-e", row["epsilon"], "--target", 0.3, "--misled", 0
    )
    assert status == 0
    assert "one-layer: an expected error of 0.3 takes" in output
    assert "in nine cases of ten, by 3 crowds" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--least", "money", "--workers", 9), "--least must be workers or epsilon"),
        (("--least", "workers"), "--least needs --target"),
        (("--least", "epsilon"), "say how many are asked"),
    ],
    ids=["money", "target", "workers"],
)
def test_what_is_wrong_is_one_line(run, words, told):
    status, _, errors = run(*SMALL, *words)
    assert status == 2
    assert told in errors
