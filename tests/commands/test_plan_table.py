"""Tables of plans, the verdict in words, and ``--least``."""

import json
import shlex

import pytest

SMALL = ("plan", "--tasks", 40, "--simulations", 4, "--labels", "no,yes")


@pytest.mark.slow
def test_a_verdict_comes_first_and_every_way_out_works(run):
    status, output, errors = run(*SMALL, "--people", 10)
    assert (status, errors) == (0, "")
    first = " ".join(output.split())
    assert first.startswith("With 10 people, 40 questions and a total of ε = 5 per person, the")
    assert "This is as good as guessing." in first
    commands = [line.strip() for line in output.splitlines() if line.startswith("  quietcrowd")]
    for name, command in zip(("people", "answers", "total"), commands, strict=True):
        assert f"--{name}" in command
        status, output, _ = run(*shlex.split(command)[1:])
        assert status == 0
        assert "This is better than guessing" in " ".join(output.split()), command


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["people", "questions", "total"])
def test_the_least_is_found_and_printed_as_a_command(run, what):
    crowd = () if what == "people" else ("--people", 200)
    status, output, errors = run(*SMALL, *crowd, "--least", what)
    assert (status, errors) == (0, "")
    assert "This is better than guessing" in " ".join(output.split())
    command = shlex.split(output.splitlines()[-1])
    assert command[:2] == ["quietcrowd", "plan"]
    found = json.loads(run(*SMALL, *crowd, "--least", what, "--json")[1])
    assert (found["least"], found["suffices"], found["useless"]) == (what, True, False)
    [row, _] = json.loads(run(*command[1:], "--json")[1])["rows"]
    assert row == {name: found[name] for name in row}
    assert row["verdict"] in " ".join(output.split())


def test_a_survey_is_computed_with_the_same_words(run):
    words = ("plan", "--goal", "shares", "--tasks", 12, "--labels", "no,yes", "--total-epsilon", 5)
    status, output, errors = run(*words, "--people", 50)
    assert (status, errors) == (0, "")
    told = " ".join(output.split())
    assert (
        "each share will be known to about ± 50 points (95 %). Without answers: ± 50 points."
        in told
    )
    assert "This is as good as not asking. Ways to a better result:" in told
    assert "Assumed: everyone answers all of their questions" in told
    lines = [line.strip() for line in output.splitlines() if line.startswith("  quietcrowd")]
    assert len(lines) == 3
    for line in lines:
        assert "This is usable." in " ".join(run(*shlex.split(line)[1:])[1].split())
    [row] = json.loads(run(*words, "--people", 50, "--json")[1])["rows"]
    assert (row["score"], row["standing"], row["constant"]) == ("share", "useless", 0.5)
    found = json.loads(run(*words, "--least", "people", "--json")[1])
    assert (found["suffices"], found["standing"]) == (True, "good")
    several = " ".join(run(*words, "--people", "50,2000")[1].split())
    assert several.count("each share will be known") == 2
    assert "Ways to" not in several
    for flag in (("--pilot", "x.csv"), ("--accuracy", 0.9), ("--simulations", 5)):
        status, _, errors = run(*words, "--people", 50, *flag)
        assert status == 2
        assert f"{flag[0]} does not apply to --goal shares" in errors


@pytest.mark.slow
def test_a_target_replaces_the_guess(run):
    words = (*SMALL, "--answers-per-worker", 2, "--least", "people", "--target-error", 0.3)
    found = json.loads(run(*words, "--json")[1])
    assert found["error"] <= 0.3
    status, _, errors = run(*words[:-1], 0.05)
    assert status == 2
    assert "about 0.1 remains" in errors


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--least", "money", "--people", 9), "--least must be people, questions or total"),
        (("--least", "total"), "set the number of people with --people"),
        (("--least", "total", "--people", "9,10"), "--least requires a single value of --people"),
        (("--least", "people", "--total-epsilon", "1,2"), "single value of --total-epsilon"),
        (("--people", 9, "--total-epsilon", 5, "-e", 1), "use total_epsilon"),
        (("--people", 9, "--total-epsilon", 0), "epsilon must be a finite number above 0; got 0"),
        (("--people", 9, "--total-epsilon", "nan"), "epsilon must be a finite number above 0"),
        (("--people", 9, "--total-epsilon", "much"), "--total-epsilon must be numbers"),
        (("--people", 0), "workers must be a whole number, at least 1"),
        (("--least", "people", "--total-epsilon", 0.0001), "no number of people suffices"),
    ],
)
def test_what_is_wrong_is_one_line(run, words, told):
    status, output, errors = run(*SMALL, *words)
    assert (status, output) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1


def test_the_total_is_the_first_number_of_a_table(run):
    _, output, _ = run(*SMALL, "--people", 10, "--total-epsilon", "200,400")
    head = next(line for line in output.splitlines() if line.startswith("mechanism"))
    assert head.split()[:3] == ["mechanism", "epsilon", "answer"]
    row = next(line for line in output.splitlines() if line.startswith("one-layer"))
    assert row.split()[1:3] == ["200", "5"]
    assert max(map(len, output.splitlines())) <= 80
