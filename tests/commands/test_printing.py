"""What the commands print, in words and tables."""

import json

import pandas as pd

import quietcrowd as qc
from quietcrowd.commands.printing import note, print_frame
from quietcrowd.formats import write_table


def test_markup_in_data_is_data(run, tmp_path, monkeypatch):
    crowd = qc.make_crowd(tasks=20, workers=8, answers_per_task=4, labels=["[/b]", "[red]"])
    qc.write_answers(crowd.answers, tmp_path / "answers.csv")
    write_table(crowd.truths, tmp_path / "truth.csv")
    (tmp_path / "dataset.json").write_text(
        json.dumps({"name": "[/v2]", "kind": "categorical", "domain": ["[/b]", "[red]"]})
    )
    status, output, _ = run("lab", "evaluate", tmp_path, "-e", 1, "--trials", 2)
    assert status == 0
    assert "[/v2]" in output
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    status, output, _ = run("infer", tmp_path, "--non-private")
    assert status == 0
    assert "[/b]" in output


def test_one_of_a_kind_is_singular(run, tmp_path):
    answers, reports = tmp_path / "a.csv", tmp_path / "r.csv"
    answers.write_text("task,worker,label\nt,w,no\n")
    words = ["--labels", "no,yes", "-e", 1, "-o", reports]
    errors = run("randomize", answers, *words)[2]
    assert "\n1 report written to" in f"\n{errors}"
    assert "about it. Whether" in " ".join(errors.split())
    assert "1 task, 1 worker, 1 answer; " in run("infer", reports)[2]
    assert "1 worker, 1 report, 1 campaign." in run("lab", "budget", reports)[2]
    assert "1 answer.\n" in run("convert", answers)[2]
    assert "1 report written" in run("convert", reports, tmp_path / "again.csv")[2]


def test_a_note_is_folded_on_a_terminal_and_one_line_elsewhere(capsys, monkeypatch):
    long = "  " + "a word and " * 20 + "https://example.org/" + "x" * 90
    note(long)
    assert capsys.readouterr().err == long + "\n"
    monkeypatch.setenv("FORCE_COLOR", "1")  # what Rich takes for a terminal
    for columns, width in (("200", 80), ("50", 50)):
        monkeypatch.setenv("COLUMNS", columns)
        note(long)
        *folded, address = capsys.readouterr().err.splitlines()
        assert len(folded) >= 3
        assert all(line.startswith("  ") and len(line) <= width for line in folded)
        assert address == "  https://example.org/" + "x" * 90
        assert " ".join([*folded, address]).split() == long.split()


def test_an_id_does_not_move_the_cursor_of_a_terminal(run, tmp_path, monkeypatch):
    clear = chr(27) + "[2J"
    path, reports = tmp_path / "a.csv", tmp_path / "r.csv"
    path.write_text(f"task,worker,label\nt{clear},w{clear},no{clear}\nu,v,yes\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, output, errors = run("infer", path, "--non-private")
    assert clear not in output + errors
    assert "t\ufffd[2J" in output
    assert "no\ufffd[2J" in errors
    assert clear not in run("convert", path, "--describe")[1]
    run("randomize", path, "--labels", f"no{clear},yes", "-o", reports)
    assert clear not in run("lab", "budget", reports)[1]


def test_a_number_next_to_zero_has_no_sign(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_frame(pd.DataFrame({"item": ["a", "b"], "score": [-1e-16, -0.5]}), "a way")
    output = capsys.readouterr().out
    assert "-0.000" not in output
    assert "-0.500" in output


def test_an_id_in_a_pipe_is_no_formula(run, tmp_path):
    path, reports = tmp_path / "a.csv", tmp_path / "r.csv"
    path.write_text("task,worker,label\n=1+1,=2+2,no\n")
    run("randomize", path, "--labels", "no,yes", "-o", reports)
    assert "\n'=2+2," in run("lab", "budget", reports)[1]
    assert "\n'=1+1," in run("infer", reports)[1]
