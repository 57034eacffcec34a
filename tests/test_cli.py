"""The command line as a user meets it."""

import json
import subprocess
import sys

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd import cli
from quietcrowd.cli_options import build_domain


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the command line and gives (status, output, errors)."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["quietcrowd", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        output, errors = capsys.readouterr()
        return end.value.code, output, errors

    return call


@pytest.fixture
def folder(tmp_path):
    """Return a small dataset folder."""
    crowd = qc.synthetic_crowd(tasks=60, workers=15, answers_per_task=6, seed=3)
    place = tmp_path / "crowd"
    place.mkdir()
    qc.write_answers(crowd.answers, place / "answers.csv")
    qc.write_table(crowd.truths, place / "truth.csv")
    (place / "dataset.json").write_text('{"kind": "categorical", "domain": ["no", "yes"]}')
    return place


def test_a_round_from_answers_to_truths(run, folder, tmp_path):
    reports, truths, workers = (tmp_path / n for n in ("r.parquet", "truths.csv", "workers.jsonl"))
    status, output, errors = run(
        "randomize", folder / "answers.csv", "--labels", "no,yes", "-e", 2, "-o", reports
    )
    assert (status, output) == (0, "")
    assert "360 reports of 15 workers written" in errors
    assert "loses at most epsilon = 2" in errors
    assert not qc.read_reports(reports).simulated
    status, output, errors = run("infer", reports, "-o", truths, "--workers", workers)
    assert (status, output) == (0, "")
    assert "60 tasks, 15 workers, 360 answers" in errors
    assert "note: WeightedVote has no model of the noise" in errors
    assert len(pd.read_csv(truths)) == 60
    assert len(pd.read_json(workers, lines=True)) == 15


def test_the_same_seed_simulates_the_same_reports(run, folder, tmp_path):
    tables = []
    for name in ("a.csv", "b.csv"):
        options = ("--mechanism", "two-layer", "--simulate", 5, "-o", tmp_path / name)
        status, _, errors = run("randomize", folder, *options)
        assert status == 0
        assert "these reports protect nobody" in errors
        tables.append((tmp_path / name).read_text())
    assert tables[0] == tables[1]


def test_truths_go_to_a_pipe_as_csv_and_as_json(run, folder):
    status, output, _ = run("infer", folder, "--plain", "--method", "majority")
    assert status == 0
    assert output.splitlines()[0] == "task,truth,confidence,answers,tied"
    assert len(output.splitlines()) == 61
    status, output, _ = run("infer", folder, "--plain", "--json")
    found = json.loads(output)
    assert found["converged"] is True
    assert len(found["truths"]) == 60
    assert len(found["workers"]) == 15


def test_plain_answers_are_read_where_that_is_said(run, folder):
    status, output, _ = run("infer", folder / "answers.csv", "--plain", "--labels", "no,yes")
    assert status == 0
    assert len(output.splitlines()) == 61


def test_messy_files_are_read_where_the_user_says_how(run, tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text("item,who,said\na,u,yes\na,u,no\na,v,maybe\nb,v,\nb,w,no\n")
    words = ("infer", path, "--plain", "--labels", "no,yes", "--columns", "item,who,said")
    assert run(*words)[0] == 2
    status, output, errors = run(*words, "--skip-outside", "--duplicates", "last")
    assert status == 0
    assert "left out: 1 repeated answers, 2 that are missing or not possible" in errors
    assert len(output.splitlines()) == 3
    status, _, errors = run(*words[:-1], "item,who")
    assert (status, "three names" in errors) == (2, True)


def test_targets_are_checked_before_long_work(run, folder, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the work was begun")

    monkeypatch.setattr(qc.Experiment, "run", never)
    for words in (("-o", "x.xlsx"), ("-o", folder / "no/x.csv"), ("--plot", folder / "no/x.png")):
        status, _, errors = run("evaluate", folder, *words)
        assert status == 2
        assert "suffix" in errors or "must end in" in errors or "no such folder" in errors


def test_evaluate_fits_80_columns_and_names_every_reference(run, folder, tmp_path):
    status, output, _ = run(
        *("evaluate", folder, "-e", "1,0.5", "--trials", 3, "--smoothing", 3),
        *("--plot", tmp_path / "x.png", "-o", tmp_path / "x.csv"),
    )
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    for words in ("constant guess", "majority, not private", "weighted-vote/3", "one-layer*"):
        assert words in output
    assert (tmp_path / "x.png").stat().st_size > 10_000
    assert len(pd.read_csv(tmp_path / "x.csv")) == 4 + 2 * 3 * 3


def test_evaluate_prints_json(run, folder):
    status, output, _ = run("evaluate", folder, "-e", "1", "--trials", 2, "--json")
    assert status == 0
    assert {row["mechanism"] for row in json.loads(output)} >= {"none", "one-layer", "two-layer"}


def test_the_demo_tells_the_round_and_fits_80_columns(run):
    status, output, _ = run("demo")
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    for words in (
        "weighted vote: wrong truths",
        "constant guess: wrong truths",
        "answer ",
        "report ",
    ):
        assert words in output


@pytest.mark.parametrize("command", [(), ("randomize",), ("infer",), ("evaluate",), ("demo",)])
def test_help_has_an_example(run, command):
    status, output, _ = run(*command, "--help")
    assert status == 0
    assert "Usage:" in output
    if command:
        assert f"Example: quietcrowd {command[0]}" in output


def test_version_and_module(run):
    assert run("--version") == (0, f"quietcrowd {qc.__version__}\n", "")
    words = [sys.executable, "-m", "quietcrowd", "-h"]
    assert "Usage:" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_options_may_be_repeated_or_hold_commas(run, folder):
    tables = [
        run("evaluate", folder, *words, "--trials", 2, "--json")[1]
        for words in (
            ("-m", "one-layer,two-layer", "-e", "1,2"),
            ("-m", "one-layer", "-m", "two-layer", "-e", "1", "-e", "2"),
        )
    ]
    assert tables[0] == tables[1]
    assert len(json.loads(tables[0])) > 8


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("no,yes", ("no", "yes")),
        ('"yes, please", no', ("yes, please", "no")),
        ("1,2.5", (1, 2.5)),
        ("01,02", ("01", "02")),
        ("1,one", ("1", "one")),
        ("no , yes ", ("no", "yes")),
        ("1e3,2", ("1e3", "2")),
    ],
)
def test_labels_are_what_they_print_as(labels, expected):
    assert build_domain(labels, None).labels == expected


def test_levels_are_numbers_however_they_are_written():
    assert build_domain(None, "1.50,2,1e3").levels == (1.5, 2, 1000)


def test_markup_in_data_is_data(run, tmp_path, monkeypatch):
    crowd = qc.synthetic_crowd(tasks=20, workers=8, answers_per_task=4, labels=["[/b]", "[red]"])
    qc.write_answers(crowd.answers, tmp_path / "answers.csv")
    qc.write_table(crowd.truths, tmp_path / "truth.csv")
    (tmp_path / "dataset.json").write_text(
        json.dumps({"name": "[/v2]", "kind": "categorical", "domain": ["[/b]", "[red]"]})
    )
    status, output, _ = run("evaluate", tmp_path, "-e", 1, "--trials", 2)
    assert status == 0
    assert "[/v2]" in output
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    status, output, _ = run("infer", tmp_path, "--plain")
    assert status == 0
    assert "[/b]" in output


def test_what_nobody_foresaw_is_one_line_too(run, folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("never\nforeseen")

    monkeypatch.setattr(qc.Experiment, "run", fail)
    status, _, errors = run("evaluate", folder)
    assert status == 2
    assert errors.count("\n") == 1
    assert "ZeroDivisionError: never foreseen" in errors
    monkeypatch.setenv("QUIETCROWD_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["quietcrowd", "evaluate", str(folder)])
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_reports_of_several_files_and_simulated_ones(run, folder, tmp_path):
    frame = pd.read_csv(folder / "answers.csv")
    paths = []
    for part in (0, 1):
        plain, reports = tmp_path / f"{part}.csv", tmp_path / f"{part}.parquet"
        frame[frame["worker"] % 2 == part].to_csv(plain, index=False)
        assert run("randomize", plain, "--labels", "no,yes", "-o", reports)[0] == 0
        paths.append(reports)
    status, _, errors = run("infer", *paths)
    assert status == 0
    assert "60 tasks, 15 workers, 360 answers" in errors
    run("randomize", folder, "--simulate", 1, "-o", tmp_path / "s.parquet")
    assert "protect nobody" in run("infer", tmp_path / "s.parquet")[2]


def test_what_is_impossible_is_left_out_of_an_evaluation(run, tmp_path):
    crowd = qc.synthetic_crowd(
        tasks=20, workers=8, answers_per_task=4, labels=range(5), accuracy=(0.2, 0.3)
    )
    qc.write_answers(crowd.answers, tmp_path / "answers.csv")
    qc.write_table(crowd.truths, tmp_path / "truth.csv")
    description = '{"kind": "categorical", "domain": [0, 1, 2, 3, 4]}'
    (tmp_path / "dataset.json").write_text(description)
    status, output, errors = run("evaluate", tmp_path, "-e", "1", "--trials", 2)
    assert status == 0
    assert "note: two-layer was left out at epsilon 1" in errors
    assert "†" in output


def test_it_says_when_it_did_not_converge(run, folder):
    errors = run("infer", folder, "--plain", "--max-iterations", 1)[2]
    assert "NOT converged: try more with --max-iterations" in errors


def test_no_words_show_the_help(run):
    status, output, _ = run()
    assert status == 0
    assert "Usage:" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frob"], "No such command 'frob'"),
        (["infer"], "Missing argument 'reports'"),
        (["infer", "--frob", "x"], "No such option: --frob"),
        (["infer", "missing.csv"], "missing.csv"),
        (
            ["infer", "{folder}", "--method", "guess"],
            "--method must be one of majority, weighted-vote",
        ),
        (["infer", "{folder}/answers.csv"], "the mechanism of these reports is missing"),
        (["infer", "{folder}/answers.csv", "--plain"], "give the possible answers with --labels"),
        (["infer", "{folder}"], "say --plain"),
        (["infer", "{folder}", "{folder}", "--plain"], "--plain takes one file"),
        (["infer", "{folder}/answers.csv", "--labels", "a,b"], "go with --plain"),
        (["infer", "{folder}", "--method", "majority", "--smoothing", "2"], "goes with weighted"),
        (["infer", "{folder}/answers.csv", "-o", "{folder}/answers.csv"], "write to another file"),
        (
            ["randomize", "{folder}/answers.csv", "-o", "{folder}/answers.csv"],
            "write to another file",
        ),
        (["randomize", "{folder}", "--simulate", "-3", "-o", "r.csv"], "Invalid value"),
        (
            ["randomize", "{folder}/answers.csv", "--labels", "a", "--levels", "1", "-o", "r.csv"],
            "not several",
        ),
        (
            ["evaluate", "{folder}", "--method", "majority", "--smoothing", "2"],
            "goes with weighted",
        ),
        (["evaluate", "{folder}", "--plot", "x.svg"], "must end in .png"),
        (["evaluate", "{folder}/answers.csv"], "give the folder that it lies in"),
        (["infer", "{folder}", "-o", "truths.xlsx"], "the name must end in"),
        (["infer", "{folder}", "--plain", "--seed", "-1"], "seed must be a whole number"),
        (["randomize", "{folder}"], "say where the reports go"),
        (["randomize", "{folder}", "-e", "17", "-o", "r.csv"], "epsilon must be from 0 to 16"),
        (["randomize", "{folder}", "-m", "nonsense", "-o", "r.csv"], "--mechanism must be one of"),
        (["randomize", "{folder}", "-e", "much", "-o", "r.csv"], "Invalid value for '--epsilon'"),
        (
            ["randomize", "{folder}/answers.csv", "--levels", "2,1", "-o", "r.csv"],
            "levels must increase",
        ),
        (
            ["randomize", "{folder}/answers.csv", "--labels", "no", "-o", "r.csv"],
            "row 0, column 'label'",
        ),
        (["evaluate", "nowhere"], "no such dataset folder"),
        (["evaluate", "{folder}", "-e", "a,b"], "--epsilon must be numbers separated by commas"),
        (["evaluate", "{folder}", "--trials", "1"], "Invalid value for '--trials'"),
        (["evaluate", "{folder}", "--smoothing", "-1"], "smoothing must be a finite number"),
        (["demo", "-e", "-1"], "epsilon must be from 0 to 16"),
        (["randomize", "{folder}", "-m", "two-layer", "-e", "800", "-o", "r.csv"], "at most 16"),
        (["randomize", "{folder}", "-o", "{folder}/answers.csv"], "write to another file"),
        (["infer", "{folder}", "--plain", "--labels", "a,b"], "go with a file"),
        (["infer", "{folder}", "--plain", "-o", "x.csv", "--workers", "x.csv"], "two outputs"),
        (["evaluate", "{folder}", "-e", "1,nan"], "an epsilon must be a finite number"),
        (["evaluate", "{folder}", "-e", "1,-5"], "an epsilon must be a finite number"),
        (["infer", "{folder}/answers.csv", "--plain", "--labels", "no\nyes,x"], "is no list"),
    ],
)
def test_bad_input_is_one_line_and_status_2(run, folder, words, message):
    status, output, errors = run(*(word.format(folder=folder) for word in words))
    assert status == 2
    assert output == ""
    assert message in errors
    assert len([line for line in errors.splitlines() if "note:" not in line]) == 1
    assert errors.startswith("quietcrowd: ")


def test_ctrl_c_is_one_line(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(qc.Experiment, "run", stop)
    assert run("evaluate", folder) == (130, "", "quietcrowd: stopped\n")


def test_a_closed_pipe_is_no_error(folder):
    words = [sys.executable, "-c", "from quietcrowd.cli import main; main()"]
    words += ["infer", folder, "--plain"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in errors
    assert "Broken pipe" not in errors


def test_every_command_completes_its_choices(monkeypatch, capsys):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "quietcrowd infer --method w")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit):
        cli.app([], prog_name="quietcrowd")
    assert "weighted-vote" in capsys.readouterr().out
