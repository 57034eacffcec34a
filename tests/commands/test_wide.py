"""``quietcrowd convert --wide``; all rows are invented."""

import io

import pandas as pd
import pytest

FORM = (
    '"Timestamp","Email Address","Is it?","Which?"\n'
    '"2026/01/01 1:00:00 PM GMT+1","u@example.org","Yes","Cheap, but slow, Nice"\n'
    '"2026/01/01 2:00:00 PM GMT+1","v@example.org","No",""\n'
)
TABLE = "item,ann,bob,gold\np,yes,,yes\nq,no,yes,no\n"
KOBO = (
    "_id,_submission_time,color,pets,pets/cat,pets/dog\n"
    "1,2026-01-01T10:00:00,red,cat,1,0\n2,2026-01-01T11:00:00,blue,,,\n"
)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "form.csv").write_text(FORM)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "kobo.csv").write_text(KOBO)


def rows_of(text):
    return pd.read_csv(io.StringIO(text)).to_numpy().tolist()


def test_a_form_is_read_without_names(run):
    status, output, errors = run("convert", "--wide", "form.csv")
    assert status == 0
    assert rows_of(output) == [
        ["Is it?", "u@example.org", "Yes"],
        ["Is it?", "v@example.org", "No"],
        ["Which?", "u@example.org", "Cheap, but slow, Nice"],
    ]
    assert errors == (
        "workers: column 'Email Address'; 2 questions: Is it?, Which?\n"
        "1 empty cell without an answer\n"
        "dropped columns: Timestamp\n"
        "3 answers.\n"
    )


def test_one_question_of_a_form_may_have_several_labels(run):
    words = ("--questions", "Which?", "--multi-label", '"Cheap, but slow",Nice')
    status, output, _ = run("convert", "--wide", "form.csv", *words)
    assert (status, rows_of(output)) == (
        0,
        [
            ["Which?: Cheap, but slow", "u@example.org", "yes"],
            ["Which?: Nice", "u@example.org", "yes"],
        ],
    )


def test_columns_may_be_workers(run):
    status, _, errors = run(
        "convert", "table.csv", "out.csv", "--wide", "--task", "item", "--ignore", "g*"
    )
    assert status == 0
    assert errors.startswith("tasks: column 'item'; 2 workers: ann, bob\n1 empty cell without")
    assert pd.read_csv("out.csv").to_numpy().tolist() == [
        ["p", "ann", "yes"],
        ["q", "ann", "no"],
        ["q", "bob", "yes"],
    ]


def test_options_with_columns_are_sets(run):
    status, output, errors = run("convert", "--wide", "kobo.csv")
    assert (status, rows_of(output)) == (0, [["color", 1, "red"], ["color", 2, "blue"]])
    assert "questions that were not read: 'pets'" in errors
    status, output, _ = run("convert", "--wide", "kobo.csv", "--multi-label", "cat,dog")
    assert (status, rows_of(output)) == (0, [["pets: cat", 1, "yes"], ["pets: dog", 1, "no"]])
    status, _, errors = run("convert", "--wide", "kobo.csv", "--questions", "pets")
    assert status == 2
    assert "kobo.csv: question 'pets' has a column per option" in errors
    assert errors.endswith("--multi-label with the options cat,dog.\n")


def test_marks_of_missing_answers_may_be_chosen(run, tmp_path):
    (tmp_path / "study.csv").write_text("prolific_id,s1,s2\na,NA,-99\nb,yes,no\n")
    status, output, errors = run("convert", "--wide", "study.csv")
    assert (status, rows_of(output)) == (
        0,
        [["s1", "b", "yes"], ["s2", "a", "-99"], ["s2", "b", "no"]],
    )
    assert "column 's1': 'NA'" in errors
    status, output, _ = run("convert", "--wide", "study.csv", "--missing", "NA,-99")
    assert (status, rows_of(output)) == (0, [["s1", "b", "yes"], ["s2", "b", "no"]])


def test_decimal_commas_may_be_chosen(run, tmp_path):
    (tmp_path / "study.csv").write_text("prolific_id;s1;s2\na;0,5;1\nb;;2,25\n")
    status, output, errors = run("convert", "--wide", "study.csv")
    assert (status, output) == (2, "")
    assert "--decimal" in errors
    status, output, _ = run("convert", "--wide", "study.csv", "--decimal", ",")
    assert (status, rows_of(output)) == (0, [["s1", "a", 0.5], ["s2", "a", 1], ["s2", "b", 2.25]])


def test_rows_are_numbered_if_all_columns_are_questions(run):
    status, output, errors = run(
        "convert", "--wide", "table.csv", "--questions", "ann,bob", "--ignore", "item,gold"
    )
    assert (status, rows_of(output)) == (
        0,
        [["ann", 1, "yes"], ["ann", 2, "no"], ["bob", 2, "yes"]],
    )
    assert errors.startswith("workers: numbers of rows; 2 questions: ann, bob\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("table.csv", "--wide"), "table.csv: the columns 'item', 'ann', 'bob', 'gold' are not"),
        (("table.csv", "--task", "item"), "--task requires --wide"),
        (("table.csv", "--questions", "a"), "--questions requires --wide"),
        (("table.csv", "--wide", "--columns", "a,b,c"), "--columns does not apply to --wide"),
        (("table.csv", "--wide", "--question", "a"), "--question does not apply to --wide"),
        (("table.csv", "--wide", "--describe"), "--wide does not apply to --describe"),
        (("table.csv", "x", "--wide", "--to", "store"), "--wide does not apply to --to store"),
        (("table.csv", "--wide", "--worker", "i"), "no column is 'i'"),
        (("table.csv",), "use convert --wide"),
    ],
)
def test_what_is_uncertain_is_an_error(run, words, told):
    status, output, errors = run("convert", *words)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert told in errors


def test_a_decimal_comma_is_in_a_column_of_the_table(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task;ann1;ann2\nt1;1;2\nt2;2,5;3\n")
    status, _, errors = run("convert", path, "--wide", "--task", "task")
    assert status == 2
    assert "row 1 (counted from 0), column 'ann1': '2,5' may be a number with a decimal" in errors
    status, printed, _ = run("convert", path, "--wide", "--task", "task", "--decimal", ",")
    assert status == 0
    assert "t2,ann1,2.5" in printed


def test_a_mark_of_a_missing_worker_is_named(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("worker,q1,q2\nNA,cat,dog\nb,cat,cat\n")
    status, _, errors = run("convert", path, "--wide")
    assert status == 2
    assert "row 0, column 'worker': the id is missing ('NA' marks a missing value;" in errors
