"""``quietcrowd lab synthesize`` as a user meets it."""

import json
import shlex
from functools import partial
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from quietcrowd import synthesis
from quietcrowd.commands.app import app
from quietcrowd.commands.lab import synthesize as module
from quietcrowd.synthesis import CrowdDensity, kde, parameters, planner, weights


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "synthesize")


COUNTS = {f"drug {task:02}": 60 if task < 3 else 3 for task in range(16)} | {"a/b": 58}


@pytest.fixture
def claims(tmp_path):
    """Return a file of claims: four tasks with about 60 users, thirteen with 3."""
    rng = np.random.default_rng(0)
    rows = [
        (task, f"user {worker}", float(np.clip(rng.normal(5, 0.5), 0, 10)))
        for task, users in COUNTS.items()
        for worker in range(users)
    ]
    path = tmp_path / "claims.csv"
    pd.DataFrame(rows, columns=["task", "worker", "label"]).to_csv(path, index=False)
    return path


PUBLIC = ("--between", "0,10", "--bandwidth", "0.4")
ASKED = (*PUBLIC, "--claims", "3")
GIVEN = (*ASKED, "--k", "20", "--gamma", "2", "--epsilon0", "0.9")
PLANNED = (*ASKED, "--k", "20", "--gamma", "4", "--epsilon", "8")


def test_a_planned_release_reports_and_keeps_its_budget(run, claims, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = "synthetic.csv"
    status, text, errors = run(claims, *PLANNED, "-o", output)
    assert (status, errors) == (0, "")
    assert max(map(len, text.splitlines())) <= 80
    assert "277 claims of 60 users about 17 tasks: 4 released, 13 rejected.\n" in text
    assert "24 attempts, " in text
    assert "drug 03        3 of at least 20 users" in text
    assert "… and 3 more\n" in text
    said = " ".join(text.split())
    assert (
        "With probability at least 1 - 1e-06 each, the privacy loss is at most epsilon = "
    ) in said
    assert " for one claim, given all others, and " in said
    assert "pairs of differential privacy at delta = 1e-06: at most epsilon = " in said
    assert " for all 4 claims of the busiest user" in said
    assert f" % sure after reading {output}, except with probability 1e-06." in said
    assert "stay with the collector" in " ".join(text.split())
    released = pd.read_csv(output)
    assert list(released.columns) == ["task", "claim"]
    assert released["claim"].between(0, 10).all()
    assert set(released["task"]) <= {"drug 00", "drug 01", "drug 02", "a/b"}


def test_json_says_the_same(run, claims, tmp_path):
    output = tmp_path / "synthetic.parquet"
    status, text, _ = run(claims, *PLANNED, "-o", output, "--json", "--simulate", 1)
    assert status == 0
    found = json.loads(text)
    assert found["guarantee"]["epsilon"] <= 8
    assert found["guarantee"]["answers"] == 4
    assert (found["tasks"], found["released_tasks"], len(found["refused"])) == (17, 4, 13)
    assert found["refused"][0] == {
        "task": "drug 03",
        "users": 3,
        "reason": "3 of at least 20 users",
    }
    assert found["simulated"] is True
    assert found["passed"] == len(pd.read_parquet(output))
    assert found["parameters"]["k"] == 20


def test_the_same_seed_simulates_the_same_claims(run, claims, tmp_path):
    texts = []
    for name in ("a.csv", "b.csv"):
        status, text, _ = run(claims, *GIVEN, "-o", tmp_path / name, "--simulate", 5)
        assert status == 0
        assert "is simulated: do not share it" in " ".join(text.split())
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]


def test_per_user_bounds_all_claims_together(run, claims, tmp_path):
    words = (*ASKED[:-1], "1", "--k", "20", "--gamma", "4", "-e", "12", "--epsilon-per", "user")
    status, text, errors = run(claims, *words, "--json", "-o", tmp_path / "s.csv")
    assert status == 0, errors
    assert json.loads(text)["guarantee"]["total_epsilon"] <= 12


@pytest.mark.nightly
def test_plans_are_a_table_and_nothing_is_written(run, claims, tmp_path):
    before = sorted(tmp_path.iterdir())
    words = (claims, *ASKED, "--gamma", "4", "-e", "6", "--plan")
    status, text, errors = run(*words)
    assert (status, errors) == (0, "")
    assert max(map(len, text.splitlines())) <= 80
    assert "Releases within epsilon = 6 per claim, at delta = 1e-06" in text
    plans = json.loads(run(*words, "--json")[1])["plans"]
    assert len(plans) > 1
    assert all(plan["loss_per_claim"] <= 6 for plan in plans)
    assert {plan["released_tasks"] for plan in plans} == {4}
    rows = [line.split() for line in text.splitlines() if line[:3].strip().isdigit()]
    assert [int(row[0]) for row in rows] == [plan["k"] for plan in plans]
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_is_released_where_no_task_has_k_users(run, claims, tmp_path):
    words = (claims, *ASKED, "--k", "1000")
    status, text, _ = run(*words, "--epsilon0", "1", "-o", tmp_path / "s.csv")
    assert status == 0
    assert "0 released, 17 rejected" in text
    assert "Nothing is released: no task has k = 1,000 users." in text
    assert pd.read_csv(tmp_path / "s.csv").empty
    status, _, errors = run(*words, "--epsilon", "1", "-o", tmp_path / "t.csv")
    assert status == 2
    assert "no claims can be released: no task has k=1,000 users; the most is 60" in errors


@pytest.mark.nightly
def test_pictures_of_chosen_tasks(run, claims, tmp_path):
    (tmp_path / "truth.csv").write_text("task,label\na/b,5\n")
    (tmp_path / "pictures").mkdir()
    status, _, errors = run(
        *(claims, *GIVEN, "-o", tmp_path / "s.csv", "--gold", tmp_path / "truth.csv"),
        *("--plot", "a/b", "--plot", "drug 03", "--plot-folder", tmp_path / "pictures"),
    )
    assert status == 0, errors
    assert errors.count("Only the collector may see it.") == 2
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert names == {"density-a%2Fb.png", "density-drug 03.png"}
    run(claims, *GIVEN, "-o", tmp_path / "s.csv", "--plot", "drug 01", "--force")
    assert (tmp_path / "collector-only" / "density-drug 01.png").stat().st_size > 10_000


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "local", "global", "combined"])
@pytest.mark.parametrize("users", [1, 30])
def test_equal_and_single_claims_break_nothing(run, tmp_path, weights, users):
    frame = pd.DataFrame({"task": "t", "worker": range(users), "label": 5.0})
    frame.to_csv(tmp_path / "claims.csv", index=False)
    words = (*PUBLIC, "--epsilon0", "1", "--k", "1", "--weights", weights, "--plot", "t")
    words = (tmp_path / "claims.csv", *words, "-o", tmp_path / "s.csv", "--force")
    status, text, errors = run(*words, "--simulate", "1")
    assert status == 0, errors
    assert "1 released, 0 rejected" in text
    assert (tmp_path / "collector-only" / "density-t.png").exists()
    status, _, errors = run(*words)
    assert status == 2
    assert "the privacy loss of this release is unbounded" in errors


@pytest.mark.slow
def test_a_release_for_next_to_nothing_is_refused(run, claims, tmp_path):
    words = (*PUBLIC, "--claims", "30", "--gamma", "4", "-e", "25", "-o", tmp_path / "s.csv")
    status, _, errors = run(claims, *words)
    assert status == 2
    assert "synthetic claims per task, and 30 are requested" in errors
    assert not (tmp_path / "s.csv").exists()


def test_a_strange_bandwidth_is_remarked_on(run, claims, tmp_path):
    for bandwidth in ("0.001", "5"):
        words = ("--between", "0,10", "--bandwidth", bandwidth, *GIVEN[4:])
        status, _, errors = run(claims, *words, "-o", tmp_path / f"{bandwidth}.csv")
        assert status == 0
        assert f"--bandwidth {bandwidth} is implausible for a range of 10" in errors


def test_a_large_loss_is_no_promise(run, claims, tmp_path):
    words = (*GIVEN[:-1], "9", "-o", tmp_path / "s.csv", "--force")
    status, text, _ = run(claims, *words)
    assert status == 0
    assert "protects no one" in text
    assert json.loads(run(claims, *words, "--json")[1])["may_be_shared"] is False


@pytest.mark.slow
def test_single_claims_afford_nothing(run, tmp_path):
    (tmp_path / "claims.csv").write_text("task,worker,label\na,u,1\nb,u,2\n")
    status, _, errors = run(tmp_path / "claims.csv", *ASKED, "-e", "1", "-o", tmp_path / "s.csv")
    assert status == 2
    assert "none of the tried parameters has a privacy loss of at most epsilon=1" in errors


def test_the_loop_as_printed_warns(run, claims, tmp_path):
    words = ("--between", "0,10", "--release", "paper", "--epsilon0", "1", "--claims", "2")
    words = (*words, "--force")
    status, text, errors = run(claims, *words, "-o", tmp_path / "s.csv", "--simulate", "1")
    assert status == 0
    assert errors == (
        "quietcrowd: note: the privacy loss of the paper's loop is unbounded: do not share its "
        "output\n"
    )
    assert "has a privacy loss of at most epsilon = inf" in text
    text = run(claims, *words, "-o", tmp_path / "s.csv", "--json")[1]
    assert json.loads(text)["guarantee"]["epsilon"] is None
    text = run(claims, *words, "-o", tmp_path / "s.csv")[1]
    assert "a loss of inf protects no one" in " ".join(text.split())


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*PUBLIC, "-o", "s.csv"], "use one of --epsilon, the privacy loss, and --epsilon0"),
        ([*GIVEN, "-e", "1", "-o", "s.csv"], "the noise of the test, not both"),
        ([*GIVEN], "name the file of the synthetic claims: --output synthetic.csv"),
        ([*GIVEN, "-o", "s.ods"], "with a name that ends in .csv"),
        ([*GIVEN, "-o", "no/s.csv"], "no such directory"),
        ([*GIVEN, "-o", "claims.csv"], "is the input"),
        ([*GIVEN, "--plan"], "--plan requires --epsilon"),
        ([*PLANNED, "--plan", "--plot", "a/b"], "--plan writes no files: omit --plot"),
        ([*GIVEN, "-o", "s.csv", "--gold", "t.csv"], "--gold requires --plot TASK"),
        ([*GIVEN, "-o", "s.csv", "--plot", "drug 1"], "task 'drug 1'; did you mean 'drug "),
        ([*GIVEN, "-o", "s.csv", "--plot", "a/b", "--plot-folder", "no/p"], "no such directory"),
        ([*PUBLIC[:2], "--epsilon0", "1", "-o", "s.csv"], "with --bandwidth NUMBER"),
        ([*PUBLIC[2:], "--epsilon0", "1", "-o", "s.csv"], "with --between LOW,HIGH"),
        (["--between", "3", *GIVEN[2:], "-o", "s.csv"], "--between must be two numbers"),
        ([*GIVEN, "--bandwidth", "mad", "-o", "s.csv"], "is estimated from the claims"),
        ([*GIVEN, "--bandwidth", "nan", "-o", "s.csv"], "must be a number above 0"),
        ([*PUBLIC, "--epsilon0", "nan", "-o", "s.csv"], "epsilon0 must be a finite number"),
        ([*PUBLIC, "--epsilon", "-1", "-o", "s.csv"], "epsilon must be"),
        ([*PLANNED, "--release", "paper", "-o", "s.csv"], "--release paper is unbounded"),
        (
            [*PLANNED, "--epsilon-per", "usr", "-o", "s.csv"],
            "one of claim, user; got 'usr'; did you mean",
        ),
        ([*GIVEN, "--weights", "even", "-o", "s.csv"], "weights must be one of 'uniform'"),
        ([*GIVEN, "--kernel", "box", "-o", "s.csv"], "kernel must be one of"),
        ([*GIVEN, "--delta", "1", "-o", "s.csv"], "delta must be at least 0 and below 1"),
        ([*ASKED, "-e", "0.01", "-o", "s.csv"], "the least loss is "),
        (["--between", "5,10", *GIVEN[2:], "-o", "s.csv"], "is outside the domain 5.0 to 10.0"),
    ],
)
def test_mistakes_are_one_line(run, claims, monkeypatch, words, message):
    monkeypatch.chdir(claims.parent)
    before = claims.read_text()
    status, text, errors = run("claims.csv", *words)
    assert (status, text) == (2, "")
    assert errors.splitlines()[-1].startswith("quietcrowd: error: ")
    assert message in errors
    assert errors.count("\n") == 1 or "--epsilon" in words
    assert claims.read_text() == before
    assert [path.name for path in claims.parent.iterdir()] == ["claims.csv"]


def test_missing_claims_are_errors(run, tmp_path):
    (tmp_path / "claims.csv").write_text("task,worker,label\na,u,1\na,v,NaN\na,w,\n")
    status, _, errors = run(tmp_path / "claims.csv", *GIVEN, "-o", tmp_path / "s.csv")
    assert status == 2
    assert "row 1, column 'label'" in errors


@pytest.mark.slow
def test_bad_known_truths_are_errors(run, claims, tmp_path):
    (tmp_path / "truth.csv").write_text("task,label\nnone,5\n")
    words = (*GIVEN, "-o", tmp_path / "s.csv", "--plot", "a/b", "--gold", tmp_path / "truth.csv")
    status, _, errors = run(claims, *words)
    assert status == 2
    assert "truth.csv: line 2 of the file: task 'none' is not in the answers" in errors


def test_a_release_that_would_lose_more_is_refused(run, claims, tmp_path, monkeypatch):
    plans = synthesis.plan_for_claims

    def careless(answers, _, **options):
        return plans(answers, 50.0, **options)

    monkeypatch.setattr(synthesis, "plan_for_claims", careless)
    words = (*ASKED, "--gamma", "4", "--k", "5", "-e", "1")
    status, _, errors = run(claims, *words, "-o", tmp_path / "s.csv")
    assert status == 2
    assert "per claim, more than --epsilon 1\n" in errors
    assert not (tmp_path / "s.csv").exists()


def test_ctrl_c_leaves_no_half_file(run, claims, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(CrowdDensity, "release", stop)
    output = tmp_path / "s.csv"
    output.write_text("as it was")
    assert run(claims, *GIVEN, "-o", output, "--force") == (130, "", "quietcrowd: stopped\n")
    assert output.read_text() == "as it was"


def test_choices_are_completed(monkeypatch, capsys):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "quietcrowd lab synthesize --weights c")
    monkeypatch.setenv("COMP_CWORD", "4")
    with pytest.raises(SystemExit):
        app([], prog_name="quietcrowd")
    assert "combined" in capsys.readouterr().out


def test_help_fits_and_has_examples(run):
    status, text, _ = run("--help")
    assert status == 0
    assert "Example: quietcrowd lab synthesize" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_example_with_a_noise_of_its_own_is_sound(run, tmp_path):
    words = shlex.split(module.Synthesize.__doc__.split("Example: ")[3])
    options = words[words.index("--between") : words.index("-o")]
    path = tmp_path / "claims.csv"
    rng = np.random.default_rng(1)
    claims = np.clip(rng.normal(5, 0.5, 300), 0, 10)
    pd.DataFrame({"task": "drug A", "worker": range(300), "label": claims}).to_csv(
        path, index=False
    )
    status, text, errors = run(path, *options, "-o", tmp_path / "s.csv", "--json")
    assert status == 0, errors
    assert json.loads(text)["guarantee"]["epsilon"] < 8.5


@pytest.mark.slow
def test_nothing_is_overwritten_without_force(run, claims, tmp_path):
    target = tmp_path / "s.csv"
    target.write_text("mine")
    status, output, errors = run(claims, *GIVEN, "-o", target)
    assert (status, output) == (2, "")
    assert errors == (
        f"quietcrowd: error: {target} already exists: name a new file, or use --force\n"
    )
    assert target.read_text() == "mine"
    assert run(claims, *GIVEN, "-o", target, "--force")[0] == 0
    assert target.read_text() != "mine"


def test_words_of_synthesis():
    assert list(get_args(planner.Budget)) == list(module.BUDGETS)
    assert tuple(kde.KERNELS) == module.KERNELS
    assert get_args(parameters.Procedure) == module.RELEASES
    assert get_args(weights.Weighting) == module.WEIGHTS
