"""``quietcrowd lab evaluate`` as a user meets it."""

import json

import pandas as pd
import pytest
from tests.programs import QUIETCROWD

import quietcrowd as qc
from quietcrowd.evaluation import Experiment
from quietcrowd.formats import write_table


def test_targets_are_checked_before_long_work(run, folder, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the work was begun")

    monkeypatch.setattr(Experiment, "run", never)
    for words in (("-o", "x.ods"), ("-o", folder / "no/x.csv"), ("--plot", folder / "no/x.png")):
        status, _, errors = run("lab", "evaluate", folder, *words)
        assert status == 2
        assert "suffix" in errors or "name that ends in" in errors or "no such directory" in errors


@pytest.mark.slow
def test_evaluate_overwrites_nothing(run, folder, tmp_path):
    for option, name in (("-o", "x.csv"), ("--plot", "x.png")):
        there = tmp_path / name
        there.write_text("kept")
        status, _, errors = run("lab", "evaluate", folder, option, there)
        assert status == 2
        assert f"{there} already exists; name a new file" in errors
        assert there.read_text() == "kept"


def test_evaluate_prints_json(run, folder):
    status, output, _ = run("lab", "evaluate", folder, "-e", "1", "--trials", 2, "--json")
    assert status == 0
    assert {row["mechanism"] for row in json.loads(output)} >= {"none", "one-layer", "two-layer"}


def test_options_may_be_repeated_or_hold_commas(run, folder):
    tables = [
        run("lab", "evaluate", folder, *words, "--trials", 2, "--json")[1]
        for words in (
            ("-m", "one-layer,two-layer", "-e", "1,2"),
            ("-m", "one-layer", "-m", "two-layer", "-e", "1", "-e", "2"),
        )
    ]
    assert tables[0] == tables[1]
    assert len(json.loads(tables[0])) > 8


def test_what_is_impossible_is_left_out_of_an_evaluation(run, tmp_path):
    crowd = qc.make_crowd(
        tasks=20, workers=8, answers_per_task=4, labels=range(5), accuracy=(0.2, 0.3)
    )
    qc.write_answers(crowd.answers, tmp_path / "answers.csv")
    write_table(crowd.truths, tmp_path / "truth.csv")
    description = '{"kind": "categorical", "domain": [0, 1, 2, 3, 4]}'
    (tmp_path / "dataset.json").write_text(description)
    status, output, errors = run("lab", "evaluate", tmp_path, "-e", "1", "--trials", 2)
    assert status == 0
    assert "note: two-layer was dropped at epsilon 1" in errors
    assert "†" in output


@pytest.mark.nightly
def test_an_experiment_on_numbers(run, ratings, tmp_path):
    crowd = qc.make_crowd(
        kind="sparse", tasks=20, workers=15, sparsity=0.5, truths="uniform", random_state=1
    )
    write_table(crowd.truths, ratings / "truth.csv")
    description = {"kind": "ordinal", "domain": list(range(10))}
    (ratings / "dataset.json").write_text(json.dumps(description))
    words = ["lab", "evaluate", ratings, "-m", "laplace:participation=released,laplace:fill=none"]
    words += ["--method", "mean,ratio-mean", "-e", "2", "--trials", "2"]
    status, output, errors = run(*words, "--plot", tmp_path / "p.png", "-o", tmp_path / "p.csv")
    assert status == 0, errors
    assert "mean absolute errors" in output
    assert "does not hide which tasks were answered" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80
    assert len(pd.read_csv(tmp_path / "p.csv")) == 5


@pytest.mark.nightly
def test_a_closed_pipe_loses_no_result(program, closed_pipe, folder, tmp_path):
    table, picture = tmp_path / "costs.csv", tmp_path / "costs.png"
    words = ["lab", "evaluate", folder, "-m", "one-layer", "-e", 1, "--trials", 2]
    words += ["-o", table, "--plot", picture]
    assert program(*QUIETCROWD, *words, stdout=closed_pipe).finished().status == 1
    assert "one-layer" in set(pd.read_csv(table)["mechanism"])
    assert picture.stat().st_size > 1000


def test_answers_of_a_folder_are_mended_in_the_folder(run, folder):
    with (folder / "answers.csv").open("a") as file:
        file.write("new,w1,maybe\n")
    status, _, errors = run("lab", "evaluate", folder)
    assert status == 2
    assert "Name it in dataset.json, or drop the row." in errors


def test_what_a_dataset_folder_lacks_is_described(run, folder):
    (folder / "dataset.json").rename(folder / "away")
    status, _, errors = run("lab", "evaluate", folder)
    assert status == 2
    assert '{"kind": "categorical", "domain": ["no", "yes"]}' in errors
    (folder / "away").rename(folder / "dataset.json")
    (folder / "truth.csv").unlink()
    assert "in columns task and label" in run("lab", "evaluate", folder)[2]
    assert "dataset.json" in run("lab", "evaluate", "--help")[1]


@pytest.mark.nightly
def test_evaluate_fits_80_columns_and_names_every_reference(run, folder, tmp_path):
    status, output, _ = run(
        *("lab", "evaluate", folder, "-e", "1,0.5", "--trials", 3),
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


def test_long_names_of_methods_fit_80_columns(run, ratings):
    crowd = qc.make_crowd(
        kind="sparse", tasks=20, workers=15, sparsity=0.5, truths="uniform", random_state=1
    )
    write_table(crowd.truths, ratings / "truth.csv")
    description = {"kind": "ordinal", "domain": list(range(10))}
    (ratings / "dataset.json").write_text(json.dumps(description))
    long = "crh:loss=absolute:divisor=none:normaliser=max:per_answer=false"
    status, output, _ = run(
        *(
            "lab",
            "evaluate",
            ratings,
            "-e",
            "2",
            "--trials",
            "2",
            "-m",
            "laplace:participation=released",
        ),
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
