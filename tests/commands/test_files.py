"""What is read of non-private answers and standard input, and advice on what cannot be."""

import io
import json
import sys

import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.formats import write_table


def test_what_is_left_out_of_a_folder_is_counted(run, folder):
    with (folder / "answers.csv").open("a") as file:
        file.write("0,new,maybe\n0,newer,\n")
    status, _, errors = run("infer", folder, "--non-private", "--drop-invalid")
    assert status == 0
    assert "dropped: 0 repeated answers, 2 missing or invalid" in errors


@pytest.mark.parametrize(
    ("words", "rows", "way_out"),
    [
        (["randomize"], "t,a,maybe", "Name it with --labels, --levels or --between, or drop the"),
        (["randomize"], "t,a,", "is missing; 1 in all. Drop the row with --drop-invalid. Rows"),
        (["randomize"], "t,a,no\nt,a,yes", "Pass --duplicates last or --duplicates first, or"),
        (["infer", "--non-private"], "t,a,maybe", "or drop the row with --drop-invalid. Rows"),
        (["infer", "--non-private"], "t,a,", "is missing; 1 in all. Drop the row with --drop"),
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
    assert "Name the columns of answers with --columns Task,Worker,Label. If columns" in errors
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


CROWD = qc.make_crowd(tasks=12, workers=8, answers_per_task=4, random_state=1)


class Piped(io.TextIOWrapper):
    def __init__(self, content, *, terminal=False):
        super().__init__(io.BytesIO(content), "utf-8")
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def pipe(monkeypatch):
    def into(content, **options):
        monkeypatch.setattr(sys, "stdin", Piped(content, **options))

    return into


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    qc.write_answers(CROWD.answers, path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".csv.gz", ".jsonl.gz"])
def test_what_is_piped_in_is_read_as_a_file_of_it_is(run, pipe, tmp_path, suffix):
    path = tmp_path / f"answers{suffix}"
    qc.write_answers(CROWD.answers, path)
    expected = run("infer", path, "--non-private")
    pipe(path.read_bytes())
    assert run("infer", "-", "--non-private") == expected
    pipe(path.read_bytes())
    status, output, _ = run("convert", "-")
    assert status == 0
    assert len(pd.read_csv(io.StringIO(output))) == len(CROWD.answers)


def test_an_error_calls_it_standard_input(run, pipe):
    pipe(b"Task,Worker,Label\na,u,x\n")
    status, output, errors = run("infer", "-", "--non-private")
    assert (status, output) == (2, "")
    assert errors.startswith("quietcrowd: error: standard input: column ")
    assert "--columns Task,Worker,Label" in errors


def test_nothing_piped_in_is_an_error(run, pipe):
    pipe(b"", terminal=True)
    assert "nothing is piped into it" in run("infer", "-", "--non-private")[2]


def test_what_is_packed_badly_is_an_error(run, pipe):
    pipe(b"\x1f\x8bnot packed")
    assert "standard input cannot be decompressed" in run("convert", "-")[2]


def test_an_output_can_be_standard_output(run, answers, tmp_path):
    truths = run("infer", answers, "--non-private")[1]
    assert run("infer", answers, "--non-private", "-o", "-")[1] == truths
    status, output, _ = run("infer", answers, "--non-private", "--workers-out", "-")
    assert (status, output.splitlines()[0][:16]) == (0, "worker,agreement")
    status, _, errors = run("infer", answers, "--non-private", "-o", "-", "--workers-out", "-")
    assert status == 2
    assert "only one output can be -" in errors
    errors = run("infer", answers, "--non-private", "-o", "-", "--json")[2]
    assert "--json and the output - both print on standard output" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv"]


def test_only_one_file_is_standard_input(run, answers, pipe):
    pipe(b"")
    assert "only one file can be -" in run("infer", "-", "--non-private", "--gold", "-")[2]
    pipe(b"task,label\n0,yes\n")
    assert "1 truth known" in run("infer", answers, "--non-private", "--gold", "-")[2]


def test_reports_go_through_a_pipe_with_what_made_them(run, answers, pipe):
    words = ("randomize", answers, "--labels", "no,yes", "-e", "3", "-o", "-")
    status, output, errors = run(*words)
    assert status == 0
    assert "48 reports written to standard output" in errors
    rows = output.splitlines()
    assert json.loads(rows[0])["mechanism"]["mechanism"] == "one-layer"
    assert len(rows) == 49
    pipe(output.encode())
    status, output, _ = run("infer", "-", "-o", "-")
    assert (status, len(output.splitlines())) == (0, 13)


def test_convert_writes_any_format_to_standard_output(run, answers):
    status, output, errors = run("convert", answers, "-", "--to", "jsonl")
    assert (status, len(output.splitlines())) == (0, 48)
    assert "48 answers written to standard output" in errors
    assert run("convert", answers, "-")[1] == run("convert", answers)[1]


COMMA = "t1;ann;1,5\nt1;bob;2\nt2;ann;3,5\nt2;bob;3\n"


def test_a_file_without_a_header_by_column_numbers_and_decimal_mark(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(COMMA)
    words = ("infer", path, "--non-private")
    assert "give column numbers" in run(*words)[2]
    words = (*words, "--columns", "1,2,3")
    status, _, errors = run(*words)
    assert (
        status,
        "row 0 (counted from 0), column '3': '1,5' may be a number with a decimal comma" in errors,
    ) == (
        2,
        True,
    )
    status, output, errors = run(*words, "--decimal", ",", "--between", "0,5", "--method", "mean")
    assert status == 0, errors
    assert [line[:7] for line in output.splitlines()[1:]] == ["t1,1.75", "t2,3.25"]
    assert "Answers are read as numbers" in run(*words, "--decimal", ",", "--method", "mean")[2]
    assert "4 labels in the file: 1,5, 2, 3, 3,5" in run(*words, "--decimal", ".")[2]


def test_known_truths_have_the_decimal_mark_too(run, tmp_path):
    answers, gold = tmp_path / "a.csv", tmp_path / "gold.csv"
    answers.write_text(COMMA)
    gold.write_text("task;label\nt1;1,25\n")
    words = ("infer", answers, "--non-private", "--columns", "1,2,3", "--between", "0,5")
    status, output, errors = run(*words, "--decimal", ",", "--gold", gold, "--method", "mean")
    assert status == 0, errors
    assert output.splitlines()[1].startswith("t1,1.25,")


def test_unicode_text_of_excel_may_be_piped(run, pipe):
    pipe("task\tworker\tlabel\r\nt\tann\tÖ\r\n".encode("utf-16"))
    assert "t,Ö" in run("infer", "-", "--non-private")[1]


@pytest.mark.parametrize(
    "words", [("infer", "--non-private"), ("randomize", "-e", 1, "--simulate", 1)]
)
def test_a_folder_of_worker_responses_is_no_dataset(run, tmp_path, words):
    for task in ("p", "q"):
        place = tmp_path / "job" / "worker-response" / "iteration-1" / task
        place.mkdir(parents=True)
        answers = [{"workerId": who, "answerContent": {"label": {"label": "cat"}}} for who in "uv"]
        (place / "2024-01-02_10:00:00.json").write_text(json.dumps({"answers": answers}))
    output = tmp_path / "out.csv"
    status, _, errors = run(*words, tmp_path / "job", "--labels", "cat,dog", "-o", output)
    assert status == 0, errors
    assert len(pd.read_csv(output)) == {"infer": 2, "randomize": 4}[words[0]]
