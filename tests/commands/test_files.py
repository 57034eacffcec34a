"""What is read of plain answers, and advice on what cannot be."""

import json

import pyarrow as pa
import pytest

from quietcrowd.formats import write_table


def test_what_is_left_out_of_a_folder_is_counted(run, folder):
    with (folder / "answers.csv").open("a") as file:
        file.write("0,new,maybe\n0,newer,\n")
    status, _, errors = run("infer", folder, "--non-private", "--drop-invalid")
    assert status == 0
    assert "left out: 0 repeated answers, 2 that are missing or not possible" in errors


@pytest.mark.parametrize(
    ("words", "rows", "way_out"),
    [
        (["randomize"], "t,a,maybe", "Name it with --labels, --levels or --between, or drop the"),
        (["randomize"], "t,a,", "is missing. Drop the row with --drop-invalid. Rows"),
        (["randomize"], "t,a,no\nt,a,yes", "Pass --duplicates last or --duplicates first, or"),
        (["infer", "--non-private"], "t,a,maybe", "or drop the row with --drop-invalid. Rows"),
        (["infer", "--non-private"], "t,a,", "is missing. Drop the row with --drop-invalid. Rows"),
        (["infer", "--non-private"], "t,a,no\nt,a,yes", "Pass --duplicates last or --duplicates"),
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
    more = ["-e", 1, "-o", tmp_path / "r.csv"] if command == "randomize" else ["--non-private"]
    status, _, errors = run(command, path, "--labels", "no,yes", *more)
    assert status == 2
    assert "columns of answers with --columns TASK,WORKER,LABEL" in errors
    assert "=" not in errors


def test_duplicates_of_a_folder_are_dropped_where_that_is_said(run, folder):
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / "answers.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    assert run("infer", folder, "--non-private")[0] == 2
    assert run("infer", folder, "--non-private", "--duplicates", "last")[0] == 0


def test_names_that_differ_by_capital_letters_are_named(run, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("Task,Worker,Label\na,u,x\nb,u,y\n")
    status, _, errors = run("infer", path, "--non-private")
    assert status == 2
    assert errors.rstrip().endswith("Name the columns of answers with --columns Task,Worker,Label.")
    assert "Rows count" not in errors
    assert run("infer", path, "--non-private", "--columns", "Task,Worker,Label")[0] == 0


def test_rows_count_where_a_row_is_meant(run, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("task,worker,label\na,u,x\na,u,y\n")
    assert "Rows count from 0, below the header" in run("infer", path, "--non-private")[2]


def test_texts_of_a_typed_file_stay_texts(run, tmp_path):
    rows = {"task": ["7", "7"], "worker": ["u", "v"], "label": ["1", "1"]}
    for suffix, label in ((".parquet", "1"), (".jsonl", "1"), (".csv", 1)):
        path = tmp_path / f"answers{suffix}"
        write_table(pa.table(rows), path)
        status, output, _ = run("infer", path, "--non-private", "--json")
        assert status == 0
        [truth] = json.loads(output)["truths"]
        assert (truth["task"], truth["truth"]) == ("7", label)
