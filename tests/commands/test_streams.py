"""Standard input and output in place of files."""

import io
import json
import sys

import pandas as pd
import pytest

import quietcrowd as qc

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
