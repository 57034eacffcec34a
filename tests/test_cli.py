"""The command line as a user meets it."""

import io
import json
import subprocess
import sys

import attrs
import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd import cli, cli_experiments
from quietcrowd.cli_experiment_tables import UNLISTED, print_figure
from quietcrowd.cli_options import build_domain, choose_method
from quietcrowd.datasets import opinion_crowd
from quietcrowd.evaluation import DensityExperiment, DensityFigure, FigureResult
from quietcrowd.evaluation.density_figure import DensityPart
from quietcrowd.evaluation.density_methods import EvenGuess
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import METHODS


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
    assert "360 reports written to" in errors
    assert "loses at most epsilon = 2" in errors
    assert not qc.read_reports(reports).simulated
    status, output, errors = run("infer", reports, "-o", truths, "--workers", workers)
    assert (status, output) == (0, "")
    assert "60 tasks, 15 workers, 360 answers" in errors
    assert "note: WeightedVote has no model of the noise" in errors
    assert len(pd.read_csv(truths)) == 60
    assert len(pd.read_json(workers, lines=True)) == 15


@pytest.mark.parametrize("more", [(), ("--simulate", 1)])
def test_reports_that_are_there_stay_there(run, folder, tmp_path, more):
    """Fresh noise over the same answers tells more, and what is gone cannot be made again."""
    reports = tmp_path / "r.csv"
    assert run("randomize", folder, "-o", reports)[0] == 0
    before = [path.read_bytes() for path in sorted(tmp_path.glob("r.csv*"))]
    assert len(before) == 2
    status, output, errors = run("randomize", folder, "-o", reports, *more)
    assert (status, output) == (2, "")
    assert errors.endswith("r.csv is there already: name a new file\n")
    assert len(errors.splitlines()) == 1
    assert [path.read_bytes() for path in sorted(tmp_path.glob("r.csv*"))] == before


def test_the_same_seed_simulates_the_same_reports(run, folder, tmp_path):
    tables = []
    for name in ("a.csv", "b.csv"):
        options = ("--mechanism", "two-layer", "--simulate", 5, "-o", tmp_path / name)
        status, _, errors = run("randomize", folder, *options)
        assert status == 0
        assert "these reports protect nobody" in errors
        tables.append((tmp_path / name).read_text())
    assert tables[0] == tables[1]


def test_known_truths_stay_and_are_counted(run, folder, tmp_path):
    truths = pd.read_csv(folder / "truth.csv")
    usual = pd.read_csv(io.StringIO(run("infer", folder, "--plain")[1])).set_index("task")["truth"]
    known = truths.head(3).assign(label=["no" if usual[t] == "yes" else "yes" for t in range(3)])
    known.to_csv(tmp_path / "known.csv", index=False)
    words = ("infer", folder, "--plain", "--gold", tmp_path / "known.csv")
    status, output, errors = run(*words, "--method", "dawid-skene:one_coin=true")
    assert status == 0
    assert "360 answers; 3 truths known; 0 tied; " in errors
    found = pd.read_csv(io.StringIO(output)).set_index("task")["truth"]
    assert list(found[:3]) == list(known["label"])
    found, without = (
        json.loads(run(*some, "--json")[1]) for some in (words, ("infer", folder, "--plain"))
    )
    assert found.keys() == without.keys()
    assert found["truths"][0].keys() == without["truths"][0].keys()
    assert found["workers"] != without["workers"]
    assert "known" not in run("infer", folder, "--plain")[2]
    known.head(1).to_csv(tmp_path / "known.csv", index=False)
    assert "; 1 truth known; " in run(*words)[2]


def test_what_infer_writes_can_be_known_truths(run, ratings):
    answers = (ratings / "answers.csv", "--plain", "--between", "0,9")
    truths = ratings / "truths.csv"
    assert run("infer", *answers, "--method", "median", "-o", truths)[0] == 0
    status, output, errors = run("infer", *answers, "--gold", truths)
    assert status == 0
    assert "20 truths known; " in errors
    found = pd.read_csv(io.StringIO(output))
    assert list(found["truth"]) == pytest.approx(list(pd.read_csv(truths)["truth"]))
    assert (found["standard_error"] == 0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "task,label\n0,yes\nnone,no\n",
            "known.csv: row 1: task 'none' is no task of the answers. Drop it\n",
        ),
        ("task,label\n0,maybe\n", "known.csv: row 0: 'maybe' is outside the domain 'no', 'yes'"),
        ("task,label\n0,\n", "row 0: None is outside the domain"),
        ("task,label\n0,yes\n0,yes\n", "known.csv: row 1: task '0' occurs 2 times"),
        ("task,said\n0,yes\n", "column 'label' is missing"),
        ("item,label\n0,yes\n", "column 'task' is missing"),
        ("task,label\n", "known.csv: there is no known truth"),
        ("", "cannot be read as CSV"),
        (None, "known.csv: there is no such file"),
    ],
)
def test_bad_known_truths_are_one_line(run, folder, tmp_path, text, message):
    path = tmp_path / "known.csv"
    if text is not None:
        path.write_text(text)
    status, output, errors = run("infer", folder, "--plain", "--gold", path)
    assert (status, output) == (2, "")
    assert errors.startswith(f"quietcrowd: error: {path}: ")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("option", ["-o", "--workers"])
def test_known_truths_are_not_overwritten(run, folder, option):
    known = folder.parent / "known.csv"
    known.write_text("task,label\n0,yes\n")
    status, _, errors = run("infer", folder, "--plain", "--gold", known, option, known)
    assert status == 2
    assert "is what is read from" in errors
    assert known.read_text() == "task,label\n0,yes\n"


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
    assert "left out: 1 repeated answer, 2 that are missing or not possible" in errors
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
        *("evaluate", folder, "-e", "1,0.5", "--trials", 3),
        *("--method", "majority,weighted-vote:smoothing=3,weighted-vote"),
        *("--plot", tmp_path / "x.png", "-o", tmp_path / "x.csv"),
    )
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    for words in (
        "constant guess",
        "majority, not private",
        "weighted-vote, not private",
        "weighted-vote:smoothing=3, not private",
        "one-layer*",
    ):
        assert words in output
    assert (tmp_path / "x.png").stat().st_size > 10_000
    table = pd.read_csv(tmp_path / "x.csv")
    assert len(table) == 4 + 2 * 3 * 3
    assert set(table["method"]) == {
        *("constant", "majority", "weighted-vote", "weighted-vote:smoothing=3")
    }


def test_evaluate_prints_json(run, folder):
    status, output, _ = run("evaluate", folder, "-e", "1", "--trials", 2, "--json")
    assert status == 0
    assert {row["mechanism"] for row in json.loads(output)} >= {"none", "one-layer", "two-layer"}


def commands(group, words=()):
    """Return all commands with the words that name them."""
    found = {}
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        found |= commands(command, (*words, name)) if inner else {(*words, name): command}
    return found


COMMANDS = commands(typer.main.get_command(cli.app))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_fits_and_has_examples_that_can_be_copied(run, words):
    status, output, _ = run(*words, "--help")
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    paragraphs = (" ".join(part.split()) for part in COMMANDS[words].help.split("\n\n"))
    examples = [part for part in paragraphs if part.startswith("Example: ")]
    assert any(one.startswith(f"Example: quietcrowd {' '.join(words)}") for one in examples)
    for example in examples:
        assert example in " ".join(output.split())


@pytest.mark.parametrize("group", [(), ("campaign",)])
def test_no_command_is_summed_up_with_dots(run, group):
    status, output, _ = run(*group, "--help")
    assert status == 0
    listed = output.partition("Commands:")[2].splitlines()[1:]
    assert len(listed) >= 10
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.slow
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
    assert "protect nobody" not in errors
    run("randomize", folder, "--simulate", 1, "-o", tmp_path / "s.parquet")
    told = run("infer", tmp_path / "s.parquet")[2]
    assert told.count("these reports are simulated: they protect nobody") == 1
    assert told.count("simulated") == 1


def test_rows_left_out_for_their_answer_need_a_mechanism_that_hides_it(run, tmp_path):
    path, reports = tmp_path / "a.csv", tmp_path / "r.parquet"
    path.write_text("task,worker,label\nt,a,no\nt,b,maybe\nu,a,\nu,b,yes\n")
    words = ("randomize", path, "--labels", "no,yes", "-o", reports)
    status, _, errors = run(*words)
    assert status == 2
    assert "or drop the row with --skip-outside" in errors
    for more in ((), ("--simulate", 1)):
        status, output, errors = run(*words, "--skip-outside", *more)
        assert (status, output) == (2, "")
        assert not reports.exists()
        note, error = errors.splitlines()
        assert note == "left out: 0 repeated answers, 2 that are missing or not possible"
        assert error.startswith("quietcrowd: error: 2 rows were left out for the answer, missing")
        assert "RandomizedResponse does not protect participation" in error
        assert "pass participation_public=True (on the command line: --participation" in error
    status, _, errors = run(*words, "--skip-outside", "--participation-public")
    assert status == 0
    assert "Not covered by this: that no report comes of 2 rows tells that the answer" in errors
    assert len(qc.read_reports(reports)) == 2


def test_a_mechanism_that_hides_who_answered_takes_them(run, tmp_path):
    path, reports = tmp_path / "a.csv", tmp_path / "r.parquet"
    path.write_text("task,worker,label\nt,a,no\nt,b,maybe\nu,a,\nu,b,yes\n")
    lists = (tmp_path / "tasks.csv", tmp_path / "workers.csv")
    lists[0].write_text("task\nt\nu\n")
    lists[1].write_text("worker\na\nb\nc\n")
    words = ("randomize", path, "--labels", "no,yes", "-m", "one-layer:null=category")
    words += ("--all-tasks", lists[0], "--all-workers", lists[1], "-o", reports)
    status, _, errors = run(*words, "--skip-outside")
    assert status == 0
    assert "Not covered" not in errors
    assert len(qc.read_reports(reports)) == 6


def test_what_is_left_out_of_a_folder_is_counted(run, folder):
    with (folder / "answers.csv").open("a") as file:
        file.write("0,new,maybe\n0,newer,\n")
    status, _, errors = run("infer", folder, "--plain", "--skip-outside")
    assert status == 0
    assert "left out: 0 repeated answers, 2 that are missing or not possible" in errors


def test_an_epsilon_of_0_is_told_where_reports_are_made_and_read(run, folder, tmp_path):
    reports = tmp_path / "r.parquet"
    told = "Epsilon is 0 or next to it: reports tell nothing, and no truth can be inferred."
    status, _, errors = run("randomize", folder, "-e", 0, "-o", reports)
    assert status == 0
    assert told in errors.splitlines()
    status, _, errors = run("infer", reports)
    assert status == 0
    assert errors.count("RandomizedResponse tell nothing of the answers: its epsilon is 0") == 1
    status, _, errors = run("randomize", folder, "-e", 0.1, "-o", tmp_path / "s.parquet")
    assert told not in errors
    assert "tell nothing" not in run("infer", tmp_path / "s.parquet")[2]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frob"], "No such command 'frob'"),
        (["infer"], "Missing argument 'REPORTS'"),
        (["infer", "--frob", "x"], "No such option: --frob"),
        (["infer", "missing.csv"], "error: missing.csv: there is no such file\n"),
        (
            ["infer", "{folder}", "--method", "guess"],
            "--method must be one of majority, weighted-vote",
        ),
        (["infer", "{folder}/answers.csv"], "the mechanism of these reports is missing"),
        (["randomize", "{folder}/no.csv", "--labels", "a,b", "-o", "r.csv"], "no such file"),
        (["infer", "{folder}", "--plain", "-o", "nowhere/t.csv"], "there is no such folder"),
        (["infer", "{folder}/answers.csv", "--plain"], "give the possible answers with --labels"),
        (["infer", "{folder}"], "say --plain"),
        (["infer", "{folder}", "{folder}", "--plain"], "--plain takes one file"),
        (["infer", "{folder}/answers.csv", "--labels", "a,b"], "go with --plain"),
        (["infer", "{folder}", "--smoothing", "2"], "No such option: --smoothing"),
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
            ["randomize", "{folder}/answers.csv", "--labels", "no,maybe", "-o", "r.csv"],
            "row 0, column 'label'",
        ),
        (["evaluate", "nowhere"], "no such dataset folder"),
        (["evaluate", "{folder}", "-e", "a,b"], "--epsilon must be numbers separated by commas"),
        (["evaluate", "{folder}", "--trials", "1"], "Invalid value for '--trials'"),
        (
            ["evaluate", "{folder}", "--method", "majority,weighted-vote:smoothing=-1"],
            "smoothing must be a finite number",
        ),
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


@pytest.mark.slow
@pytest.mark.parametrize("command", ["infer", "evaluate"])
@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("crh:", "parameters are written name:key=value:key=value; got 'crh:'"),
        ("crh:loss", "parameters are written name:key=value"),
        ("crh:loss=", "parameters are written name:key=value"),
        ("crh:=absolute", "parameters are written name:key=value"),
        ("crh::loss=absolute", "parameters are written name:key=value"),
        (":", "--method must be one of majority, weighted-vote"),
        ("guess:loss=absolute", "--method must be one of majority, weighted-vote"),
        ("crh:loss=absolute:loss=squared", "'loss' is given twice"),
        ("crh:loss=far", "loss must be one of 'zero-one', 'squared', 'absolute'; got 'far'"),
        ("crh:per_answer=perhaps", "per_answer must be one of True, False; got 'perhaps'"),
        ("mooon:loss=absolute", "; got 'mooon'; did you mean 'moon'?"),
        ("moon:varient=variance", "; did you mean 'variant'?"),
        ("crh:lost=absolute", "crh has no parameter 'lost'; it has"),
        ("median:loss=absolute", "median has no parameter 'loss'; it has"),
        ("moon:alpha=true", "alpha must be a finite number, at least 0; got True"),
        ("moon:alpha=1e999", "alpha must be a finite number, at least 0; got inf"),
        ("gtm:prior_sd=none", "prior_sd must be a number from 0.01 to 100; got None"),
    ],
)
def test_bad_parameters_of_a_method_are_one_line(run, folder, command, method, message):
    plain = ["--plain"] * (command == "infer")
    status, output, errors = run(command, folder, *plain, "--method", method)
    assert (status, output) == (2, "")
    assert errors.startswith("quietcrowd: error: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_an_unknown_parameter_is_told_which_ones_there_are(run, folder):
    errors = run("infer", folder, "--plain", "--method", "crh:frob=1")[2]
    assert errors.endswith("it has loss, tolerance, divisor, normaliser, per_answer\n")


@pytest.mark.parametrize(("key", "option"), [("seed", "--seed"), ("max_iterations", "--max-iter")])
def test_a_parameter_with_an_option_of_its_own_has_no_second_place(run, folder, key, option):
    status, _, errors = run("infer", folder, "--plain", "--method", f"majority:{key}=3")
    assert status == 2
    assert f"'{key}' belongs to another option, {option}" in errors


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_a_method_with_its_defaults_written_out_is_the_method(kind):
    written = ":".join(f"{key}={value}" for key, value in attrs.asdict(kind()).items())
    assert choose_method(f"{kind.name}:{written}") == kind()


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("crh:loss=zero-one:per_answer=FALSE", qc.CRH(loss="zero-one", per_answer=False)),
        ("crh:divisor=none", qc.CRH(divisor=None)),
        ("dawid-skene:one_coin=true:trust=0", qc.DawidSkene(one_coin=True, trust=0)),
        ("moon:variant=variance:alpha=1e-3", qc.MOON(variant="variance", alpha=0.001)),
        ("weighted-mean:smoothing=1e30", qc.WeightedMean(smoothing=1e30)),
    ],
)
def test_parameters_are_numbers_booleans_none_and_words(text, method):
    assert choose_method(text, seed=None) == method


def test_numbers_that_floats_skip_are_no_ints():
    assert isinstance(choose_method("weighted-mean:smoothing=1e30").smoothing, float)


PIECES = ["crh", "moon", ":", "=", "loss", "absolute", "tolerance", "1", "-2", "none", "true", " é"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20))
def test_whatever_is_typed_is_a_method_or_a_parameter_error(text):
    try:
        method = choose_method(text)
    except ParameterError:
        return
    assert method.name == text.split(":")[0]


def test_long_names_of_methods_fit_80_columns(run, ratings):
    crowd = qc.sparse_crowd(tasks=20, workers=15, sparsity=0.5, truths="uniform", seed=1)
    qc.write_table(crowd.truths, ratings / "truth.csv")
    description = {"kind": "ordinal", "domain": list(range(10))}
    (ratings / "dataset.json").write_text(json.dumps(description))
    long = "crh:loss=absolute:divisor=none:normaliser=max:per_answer=false"
    status, output, _ = run(
        *("evaluate", ratings, "-e", "2", "--trials", "2", "-m", "laplace:participation=released"),
        *("--method", f"mean,moon:variant=variance:solver=lagrange,{long}"),
    )
    assert status == 0
    lines = output.splitlines()
    assert max(map(len, lines)) <= 80
    references = lines[2 : lines.index("", 2)]
    assert len({line.rindex(".") for line in references if line[-1].isdigit()}) == 1
    assert "  moon:variant=variance:solver=lagrange, not private" in output
    assert "  :per_answer=false, not private" in output
    folded = [line.split()[0] for line in lines if line.startswith(" " * 10)]
    for part in (":solver=lagrange", ":divisor=none", ":normaliser=max", ":per_answer=false"):
        assert part in folded


@pytest.mark.parametrize("command", [("infer",), ("evaluate",), ("campaign", "create")])
def test_the_help_lists_methods_and_parameters_in_80_columns(run, command):
    lines = run(*command, "--help")[1].splitlines()
    assert max(map(len, lines)) <= 80
    start = next(i for i, line in enumerate(lines) if "Methods, and their parameters" in line)
    listed = [line.split() for line in lines[start + 1 :]]
    assert [words[0] for words in listed] == list(METHODS)
    assert ["crh", "loss,", "divisor,", "normaliser,", "per_answer"] in listed


def test_ctrl_c_is_one_line(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(qc.Experiment, "run", stop)
    assert run("evaluate", folder) == (130, "", "quietcrowd: stopped\n")


@pytest.mark.slow
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


@pytest.fixture
def ratings(tmp_path):
    """Return the files of a campaign on numbers: answers, one device, an idle one, all tasks."""
    crowd = qc.sparse_crowd(tasks=20, workers=15, sparsity=0.5, truths="uniform", seed=1)
    frame = crowd.answers.to_frame()
    frame.to_csv(tmp_path / "answers.csv", index=False)
    frame[frame["worker"] == 3].to_csv(tmp_path / "three.csv", index=False)
    frame.iloc[:0].to_csv(tmp_path / "idle.csv", index=False)
    pd.DataFrame({"task": range(20)}).to_csv(tmp_path / "tasks.csv", index=False)
    pd.DataFrame({"worker": range(15)}).to_csv(tmp_path / "workers.csv", index=False)
    return tmp_path


HIDING = [
    "laplace",
    "laplace:fill=midpoint",
    "laplace:participation=released",
    "one-layer:null=category",
    "two-layer:law=epsilon:null=category",
    "matrix-factorization:rank=4:profile=buckets",
    "matrix-factorization:variant=statistics:rank=3:ridge=0.5",
]


@pytest.mark.parametrize("mechanism", HIDING)
def test_devices_that_hide_who_answered(run, ratings, mechanism):
    levels = ["--levels", ",".join(map(str, range(10)))]
    for name in ("three", "idle"):
        pd.DataFrame({"worker": [name.replace("three", "3")]}).to_csv(ratings / "me.csv")
        status, _, errors = run(
            *("randomize", ratings / f"{name}.csv", *levels, "-m", mechanism),
            *("--all-tasks", ratings / "tasks.csv", "--all-workers", ratings / "me.csv"),
            *("-o", ratings / f"{name}.parquet"),
        )
        assert status == 0, errors
        assert "20 reports written to" in errors
        assert "is protected alike" in " ".join(errors.split())
    status, output, errors = run("infer", ratings / "three.parquet", ratings / "idle.parquet")
    assert status == 0, errors
    assert "2 workers" in errors
    assert len(output.splitlines()) == 21


@pytest.mark.parametrize("name", ["three", "idle"])
def test_hiding_needs_the_lists_of_tasks_and_workers(run, ratings, name):
    """The error is the same whether the worker answered or not."""
    words = ["randomize", ratings / f"{name}.csv", "--between", "0,9", "-m", "laplace"]
    for lists in ([], ["--all-tasks", ratings / "tasks.csv"]):
        status, _, errors = run(*words, *lists, "-o", ratings / "r.csv")
        assert status == 2
        assert "with --all-tasks FILE and --all-workers FILE" in errors
        assert not (ratings / "r.csv").exists()


def test_lists_do_not_make_a_mechanism_hide_who_answered(run, ratings):
    status, _, errors = run(
        *("randomize", ratings / "three.csv", "--levels", ",".join(map(str, range(10)))),
        *("--all-tasks", ratings / "tasks.csv", "--all-workers", ratings / "workers.csv"),
        *("-m", "one-layer", "-o", ratings / "r.csv"),
    )
    assert status == 0
    assert "one-layer does NOT hide which tasks were answered" in " ".join(errors.split())


def test_a_simulation_needs_no_lists(run, ratings):
    words = ["randomize", ratings / "three.csv", "--between", "0,9", "-m", "laplace"]
    status, _, _ = run(*words, "-o", ratings / "r.csv", "--simulate", "1")
    assert status == 0


def test_numbers_from_answers_to_truths(run, ratings):
    words = ["randomize", ratings / "answers.csv", "--between", "0,9", "-m", "laplace:fill=none"]
    status, _, errors = run(*words, "-e", "50", "-o", ratings / "r.jsonl")
    assert status == 0
    assert "Answers of the busiest worker" in errors
    status, output, errors = run("infer", ratings / "r.jsonl", "--json")
    assert status == 0
    found = json.loads(output)
    assert found["method"]["method"] == "weighted-mean"
    assert set(found["truths"][0]) == {"task", "truth", "standard_error", "spread", "answers"}
    assert "tied" not in errors
    assert "; method weighted-mean, by default; " in errors
    workers = ratings / "w.csv"
    status, _, _ = run("infer", ratings / "r.jsonl", "--method", "moon", "--workers", workers)
    assert list(pd.read_csv(workers)) == ["worker", "error", "quality", "sigma", "answers"]
    status, output, _ = run("infer", ratings / "r.jsonl", "--method", "median")
    assert output.splitlines()[0] == "task,truth,standard_error,spread,answers"
    assert "by default" not in run("infer", ratings / "r.jsonl", "--method", "median")[2]


def test_null_reports_are_counted_aloud(run, ratings):
    words = ["randomize", ratings / "answers.csv", "--levels", "0,1,2,3,4,5,6,7,8,9"]
    run(*words, "-m", "one-layer:null=category", "--simulate", "1", "-o", ratings / "r.csv")
    for method in ("majority", "weighted-mean"):
        status, _, errors = run("infer", ratings / "r.csv", "--method", method)
        assert status == 0
        assert "NULL reports left out" in errors


def test_an_experiment_on_numbers(run, ratings, tmp_path):
    crowd = qc.sparse_crowd(tasks=20, workers=15, sparsity=0.5, truths="uniform", seed=1)
    qc.write_table(crowd.truths, ratings / "truth.csv")
    description = {"kind": "ordinal", "domain": list(range(10))}
    (ratings / "dataset.json").write_text(json.dumps(description))
    words = ["evaluate", ratings, "-m", "laplace:participation=released,laplace:fill=none"]
    words += ["--method", "mean,ratio-mean", "-e", "2", "--trials", "2"]
    status, output, errors = run(*words, "--plot", tmp_path / "p.png", "-o", tmp_path / "p.csv")
    assert status == 0, errors
    assert "mean absolute errors" in output
    assert "does not hide which tasks were answered" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80
    assert len(pd.read_csv(tmp_path / "p.csv")) == 5


@pytest.mark.slow
def test_a_figure_is_reproduced(run, tmp_path, monkeypatch):
    figure = cli_experiments.FIGURES["sun2018-2"]

    class Quick:
        def run(self, **options):
            parts = figure.parts(2, 0)[:1]
            small = attrs.evolve(
                parts[0].experiment(),
                dataset=qc.sparse_crowd(tasks=15, workers=30, sparsity=0.5),
                epsilons=[1.0],
            )
            assert options == {"trials": 2, "seed": 0, "progress": False}
            frame = small.run().frame.assign(sparsity=0.5)
            return FigureResult(figure=figure, frame=frame, skipped=("one was left out",))

    monkeypatch.setattr(cli_experiments, "FIGURES", {"quick": Quick()})
    words = ["reproduce", "quick", "--trials", "2", "--plot", tmp_path / "f.png"]
    status, output, errors = run(*words, "-o", tmp_path / "f.csv")
    assert status == 0, errors
    assert max(map(len, output.splitlines())) <= 80
    assert errors == "quietcrowd: note: one was left out\n"
    assert (tmp_path / "f.png").exists()
    assert len(pd.read_csv(tmp_path / "f.csv")) == 6
    status, output, _ = run("reproduce", "quick", "--trials", "2", "--json")
    assert len(json.loads(output)) == 6


def test_a_figure_about_densities_is_reproduced(run, tmp_path, monkeypatch):
    def measure(_):
        experiment = DensityExperiment(
            datasets=[opinion_crowd(tasks=5)],
            truths={"all claims": lambda crowd, _: crowd.densities()},
            methods={"even density": EvenGuess()},
            bandwidth=1.0,
            trials=2,
        )
        return experiment.run()

    quick = DensityFigure(
        title="some table",
        across="method",
        scores=("ise",),
        parts=lambda *_: [DensityPart(columns={"dataset": "drawn"}, measure=measure)],
        skipped=("one was left out",),
    )
    monkeypatch.setattr(cli_experiments, "FIGURES", {"quick": quick})
    words = ["reproduce", "quick", "--plot", tmp_path / "f.png", "-o", tmp_path / "f.csv"]
    status, output, errors = run(*words)
    assert status == 0, errors
    assert "against all claims" in output
    assert errors == "quietcrowd: note: one was left out\n"
    assert (tmp_path / "f.png").exists()
    assert pd.read_csv(tmp_path / "f.csv")["method"].tolist() == ["even density"]
    status, output, _ = run("reproduce", "quick", "--json")
    assert [row["dataset"] for row in json.loads(output)] == ["drawn"]


def test_rows_of_a_figure_that_no_method_names_are_told(capsys):
    figure = cli_experiments.FIGURES["moon2025-3-drawn"]
    row = {"dataset": "d", "mechanism": "laplace", "claimed_epsilon": 1.0, "trials": 2}
    row |= {figure.score: 1.0, f"{figure.score}_se": 0.1}
    names = ("mean", "tesla-like", "privtdsi-like, moon", "every sigma known")
    rows = [row | {"method": name} for name in names]
    rows.append(row | {"mechanism": "none", "method": "constant"})
    for count, told in ((1, 0), (4, 3)):
        frame = pd.DataFrame([*rows[:count], rows[-1]])
        print_figure(FigureResult(figure=figure, frame=frame, skipped=()))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        begun = [line for line in lines if line.startswith(tuple(f"{n}: " for n in UNLISTED))]
        assert len(begun) == told


WORKERS = ["--all-workers", "{folder}/workers.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "laplace:fill"], "name:key=value"),
        (["-m", "laplace:filling=midpoint"], "laplace has no parameter 'filling'; it has"),
        (["-m", "laplace:fil=midpoint"], "; did you mean 'fill'?"),
        (["-m", "Laplase"], "; did you mean 'laplace'?"),
        (["-m", "laplace:fill=often"], "fill must be"),
        (["-m", "laplace:epsilon=3"], "belongs to another option"),
        (["-m", "laplace:domain=3"], "belongs to another option"),
        (["-m", "laplace:fill=none:fill=midpoint"], "'fill' is given twice"),
        (["-m", "laplace:scale=wide"], "scale must be one of"),
        (["-m", "laplace", "-e", "0"], "at 0 the noise would be infinite"),
        (["-m", "laplace", "-e", "-1"], "epsilon must be a finite number above 0"),
        (["-m", "laplace", "-e", "nan"], "epsilon must be a finite number above 0"),
        (["-m", "one-layer"], "must be Categorical or Ordinal"),
        (["-m", "matrix-factorization:rank=0"], "rank must be a whole number"),
        (["-m", "matrix-factorization:variant=paper"], "needs an Ordinal domain"),
        (["--between", "1"], "two numbers"),
        (["--between", "9,0"], "low must be below high"),
        (["--levels", "1,2"], "not several"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/none.parquet"], "no such file"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/workers.csv"], "'task' is missing"),
        (["-m", "laplace", *WORKERS, "--all-tasks", "{folder}/few.csv"], "is not in the list of"),
    ],
)
def test_bad_input_on_numbers_is_one_line_and_status_2(run, ratings, words, message):
    (ratings / "few.csv").write_text("task\n1\n2\n")
    usual = [] if "--between" in words else ["--between", "0,9"]
    status, output, errors = run(
        "randomize",
        ratings / "answers.csv",
        *usual,
        *(word.format(folder=ratings) for word in words),
        *("-o", ratings / "r.csv"),
    )
    assert status == 2
    assert output == ""
    assert message in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.slow
def test_a_closed_pipe_loses_no_result(folder, tmp_path):
    table, picture = tmp_path / "costs.csv", tmp_path / "costs.png"
    words = [sys.executable, "-c", "from quietcrowd.cli import main; main()", "evaluate", folder]
    words += ["-m", "one-layer", "-e", "1", "--trials", "2", "-o", table, "--plot", picture]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
    assert process.returncode == 1
    assert "one-layer" in set(pd.read_csv(table)["mechanism"])
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "rows", "way_out"),
    [
        (["randomize"], "t,a,maybe", "Name it with --labels, --levels or --between, or drop the"),
        (["randomize"], "t,a,", "is missing. Drop the row with --skip-outside. Rows"),
        (["randomize"], "t,a,no\nt,a,yes", "Pass --duplicates last or --duplicates first, or"),
        (["infer", "--plain"], "t,a,maybe", "or drop the row with --skip-outside. Rows"),
        (["infer", "--plain"], "t,a,", "is missing. Drop the row with --skip-outside. Rows"),
        (["infer", "--plain"], "t,a,no\nt,a,yes", "Pass --duplicates last or --duplicates"),
    ],
)
def test_advice_is_what_the_command_takes(run, tmp_path, words, rows, way_out):
    path = tmp_path / "a.csv"
    path.write_text(f"task,worker,label\nu,b,no\n{rows}\n")
    options = ["-e", 1, "-o", tmp_path / "r.parquet"] if "randomize" in words else []
    status, _, errors = run(*words, path, "--labels", "no,yes", *options)
    assert status == 2
    assert way_out in errors
    assert "=" not in errors


@pytest.mark.parametrize("command", ["randomize", "infer"])
def test_columns_are_named_as_the_command_takes_them(run, tmp_path, command):
    path = tmp_path / "a.csv"
    path.write_text("task,who,label\nu,b,no\n")
    more = ["-e", 1, "-o", tmp_path / "r.csv"] if command == "randomize" else ["--plain"]
    status, _, errors = run(command, path, "--labels", "no,yes", *more)
    assert status == 2
    assert "columns of answers with --columns TASK,WORKER,LABEL" in errors
    assert "=" not in errors


def test_answers_of_a_folder_are_mended_in_the_folder(run, folder):
    with (folder / "answers.csv").open("a") as file:
        file.write("new,w1,maybe\n")
    status, _, errors = run("evaluate", folder)
    assert status == 2
    assert "Name it in dataset.json, or drop the row." in errors


def test_duplicates_of_a_folder_are_dropped_where_that_is_said(run, folder):
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / "answers.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    assert run("infer", folder, "--plain")[0] == 2
    assert run("infer", folder, "--plain", "--duplicates", "last")[0] == 0


def test_budget_of_plain_answers_names_commands_that_take_them(run, folder):
    status, _, errors = run("budget", folder / "answers.csv")
    assert status == 2
    assert "infer and partition take them with --plain" in errors


def test_two_randomisations_of_the_same_answers_are_told(run, folder, tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        assert run("randomize", folder, "-e", 1, "-o", path)[0] == 0
    status, _, errors = run("infer", *paths)
    assert status == 2
    assert "the same answers, randomised twice, infer from one of them." in errors


def test_what_a_dataset_folder_lacks_is_described(run, folder):
    (folder / "dataset.json").rename(folder / "away")
    status, _, errors = run("evaluate", folder)
    assert status == 2
    assert '{"kind": "categorical", "domain": ["no", "yes"]}' in errors
    (folder / "away").rename(folder / "dataset.json")
    (folder / "truth.csv").unlink()
    assert "in columns task and label" in run("evaluate", folder)[2]
    assert "dataset.json" in run("evaluate", "--help")[1]


def test_one_of_a_kind_is_singular(run, tmp_path):
    answers, reports = tmp_path / "a.csv", tmp_path / "r.csv"
    answers.write_text("task,worker,label\nt,w,no\n")
    words = ["--labels", "no,yes", "-e", 1, "-o", reports]
    errors = run("randomize", answers, *words)[2]
    assert "\n1 report written to" in f"\n{errors}"
    assert "about it. Whether" in " ".join(errors.split())
    assert "1 task, 1 worker, 1 answer; " in run("infer", reports)[2]
    assert "1 worker, 1 report, 1 campaign." in run("budget", reports)[2]
    assert "1 answer.\n" in run("convert", answers)[2]
    assert "1 report written" in run("convert", reports, tmp_path / "again.csv")[2]


@pytest.mark.parametrize("name", ["nodir/t.csv", "{folder}"])
def test_errors_of_the_system_name_the_file_first(run, folder, name):
    target = name.format(folder=folder / "answers.csv" / "t.csv")
    errors = run("infer", folder, "--plain", "-o", target)[2]
    assert "Errno" not in errors
    assert errors.startswith("quietcrowd: error: ")
    assert errors.rstrip().endswith("there is no such folder")


def test_what_randomize_needs_is_said_in_its_help(run):
    assert "Required." in run("randomize", "--help")[1]


@pytest.mark.parametrize(("epsilon", "size"), [(1e300, "large"), (1e-300, "small")])
@pytest.mark.parametrize("mechanism", ["laplace", "sampled-variance:delta=0.05"])
def test_an_impossible_epsilon_is_too_large_or_too_small(run, ratings, mechanism, epsilon, size):
    words = ("--between", "0,9", "--simulate", 1, "-o", ratings / "r.csv")
    status, _, errors = run(
        "randomize", ratings / "answers.csv", "-m", mechanism, "-e", epsilon, *words
    )
    assert status == 2
    assert f"is too {size}: it needs noise of about" in errors
