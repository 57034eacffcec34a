"""``quietcrowd plan`` as a user meets it."""

import json
import sys

import pandas as pd
import pytest

import quietcrowd as qc

SMALL = ("plan", "--tasks", 40, "--answers-per-worker", 10, "--simulations", 3)
LABELS = ("--labels", "no,yes")


@pytest.mark.slow
def test_a_plan_is_printed_in_80_columns(run):
    status, output, errors = run(
        *SMALL, *LABELS, "--workers", "10,20", "-e", "1,2", "--target-error", 0.9, "-m", "one-layer"
    )
    assert (status, errors) == (0, "")
    assert max(map(len, output.splitlines())) <= 80
    assert "Assumed: 10% of the workers guess" in output
    assert output.count("one-layer  ") == 4
    assert output.count("not private") == 2
    assert "reaches 0.9. With the fewest answers: one-layer at a total epsilon of 10, 10" in output


@pytest.mark.nightly
def test_a_target_out_of_reach_is_said(run):
    _, output, _ = run(*SMALL, *LABELS, "--workers", 10, "-e", "0.1", "--target-error", 0.001)
    assert "No row reaches 0.001; the nearest is" in output


def test_json_and_a_table_hold_the_same(run, tmp_path):
    words = ("--between", "0,10", "--workers", 10, "-e", "4", "--worker-sd", 0.5, "--json")
    status, output, _ = run(*SMALL, *words, "-o", tmp_path / "plan.csv")
    told = json.loads(output)
    assert status == 0
    assert told["score"] == "mae"
    assert "standard deviation of 0.5" in told["assumed"]
    table = pd.read_csv(tmp_path / "plan.csv")
    assert list(table["error"]) == pytest.approx([row["error"] for row in told["rows"]])
    status, _, errors = run(*SMALL, *words, "-o", tmp_path / "plan.csv")
    assert status == 2
    assert "already exists; name a new file" in errors


def test_left_out_cells_are_told(run):
    status, _, errors = run(
        *SMALL, *LABELS, "--workers", 10, "-e", "1", "-m", "one-layer,laplace", "--json"
    )
    assert status == 0
    assert "note: laplace was dropped at epsilon 1" in errors


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--workers", "10"), "list the possible answers with --labels"),
        ((*LABELS, "--workers", "1.5"), "--people must be whole numbers"),
        ((*LABELS, "--workers", "ten"), "--people must be numbers"),
        ((*LABELS, "--workers", "10", "--worker-sd", "1"), "--worker-sd applies only to numbers"),
        (
            ("--between", "0,1", "--workers", "10", "--hard-share", "1"),
            "--hard-share applies only to",
        ),
        ((*LABELS, "--workers", "10", "--plot", "x.pdf"), "must end in .png"),
        ((*LABELS, "--workers", "10", "-o", "x.ods"), "with a name that ends in"),
        ((*LABELS, "--workers", "10", "-m", "two-lair"), "two-layer"),
    ],
    ids=["domain", "half", "word", "numbers", "labels", "plot", "output", "mechanism"],
)
def test_what_is_wrong_is_one_line(run, words, told):
    status, output, errors = run(*SMALL, *words)
    assert (status, output) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1


@pytest.mark.slow
def test_a_picture_is_drawn(run, tmp_path):
    pytest.importorskip("matplotlib")
    status, *_ = run(*SMALL, *LABELS, "--workers", 10, "-e", "1,2", "--plot", tmp_path / "plan.png")
    assert status == 0
    assert (tmp_path / "plan.png").stat().st_size > 1_000


SIMULATING = """
from itertools import count
from quietcrowd.commands.main import main
from quietcrowd.planning import simulation

simulate, numbers = simulation.simulate, count()

def say(*given):
    print(f"simulating {next(numbers)}", flush=True)
    return simulate(*given)

simulation.simulate = say
main()
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_one_line(program):
    words = [*SMALL[:-1], 100_000, *LABELS, "--workers", 10]
    planning = program(sys.executable, "-c", SIMULATING, *words)
    planning.until("simulating 20")  # all threads of the pool have begun
    planning.interrupt()
    status, _, errors = planning.finished()
    assert (status, errors) == (130, "quietcrowd: stopped\n")


@pytest.mark.nightly
def test_a_pilot_of_reports_or_answers_is_planned_by(run, tmp_path):
    crowd = qc.make_crowd(kind="guessing", tasks=30, workers=10, answers_per_worker=15)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    qc.write_reports(mechanism.randomize(crowd.answers), tmp_path / "reports.parquet")
    qc.write_answers(crowd.answers, tmp_path / "answers.csv")
    for words in (("reports.parquet",), ("answers.csv", "--non-private")):
        name, *plain = words
        status, output, _ = run(
            *SMALL, *LABELS, "--workers", 10, "-e", "1,2", "--pilot", tmp_path / name, *plain
        )
        assert status == 0
        assert "like the pilot's" in output
    status, _, errors = run(
        *SMALL, "--labels", "a,b", "--workers", 10, "--pilot", tmp_path / "reports.parquet"
    )
    assert status == 2
    assert "the pilot's answers are in" in errors
