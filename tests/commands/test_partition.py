"""``quietcrowd partition`` as a user meets it."""

import signal
import subprocess
import sys

import pandas as pd
import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.scale import Store


@pytest.mark.slow
def test_plain_answers(run, reports, tmp_path):
    answers, folder = reports.with_name("answers.parquet"), tmp_path / "plain"
    words = ("partition", answers, "--plain", "--labels", "no,yes", "-o", folder)
    status, _, errors = run(*words)
    assert status == 0
    assert "1 partitions" not in errors
    assert "1 partition written to" in errors
    assert "who can read the folder can read them" in errors
    assert Store.open(folder).mechanism is None
    assert run("infer", folder, "-o", tmp_path / "t.parquet", "--method", "glad")[0] == 0
    assert run(*words)[0] == 2


def test_rows_may_be_left_out(run, tmp_path):
    frame = pd.DataFrame({"a": [1, 1, 2], "b": [1, 1, 1], "c": ["x", "y", "z"]})
    qc.write_table(frame, tmp_path / "a.parquet")
    words = ["partition", tmp_path / "a.parquet", "--plain", "--labels", "x,y"]
    words += ["--columns", "a,b,c", "--duplicates", "last", "--skip-outside"]
    status, _, errors = run(*words, "-o", tmp_path / "s")
    assert status == 0
    assert "left out: 1 repeated answer, 1 that are missing" in errors
    assert "2 tasks, 1 worker, 1 answer" in errors


@pytest.mark.parametrize("least", [1, 3])
def test_a_store_of_a_campaign_is_that_of_its_file(run, at_desk, tmp_path, least):
    one = at_desk.campaign(tasks=3, join_mode="open", at_least=least)
    for place in range(7):
        at_desk.worker(one).send_values(*[place % 2] * (1 + place % 3))
    at_desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    assert run("campaign", "export", one, "-o", tmp_path / "r.parquet")[0] == 0
    assert run("partition", tmp_path / "r.parquet", "-o", tmp_path / "of-file")[0] == 0
    status, _, errors = run("partition", "--campaign", one, "-o", tmp_path / "of-campaign")
    assert status == 0, errors
    assert f"{7 - 7 % least} workers" in errors
    stores = [Store.open(tmp_path / name) for name in ("of-file", "of-campaign")]
    assert stores[0].fingerprint == stores[1].fingerprint
    assert {file.name for file in tmp_path.iterdir()} == {"r.parquet", "of-file", "of-campaign"}


def test_files_or_a_campaign(run, reports, tmp_path):
    one = ("--campaign", "0" * 32)
    for words in ((), (reports, *one), (*one, "--plain", "--labels", "no,yes")):
        status, _, errors = run("partition", *words, "-o", tmp_path / "big")
        assert (status, "name files, or the campaign" in errors) == (2, True)
    assert run("partition", "--campaign", "x", "-o", tmp_path / "big")[0] == 2


def test_help_has_an_example(run):
    status, output, _ = run("partition", "--help")
    assert status == 0
    assert "Example: quietcrowd partition reports.parquet -o big" in output
    assert "--checkpoint" in run("infer", "--help")[1]


SLOW = """
import sys, time
from quietcrowd.scale.importing import Sorter

def wait(*_):
    print("sorting", flush=True)
    time.sleep(1.5)

Sorter.__call__ = wait
from quietcrowd.commands.main import main
main()
"""


def slow_code(name, handling):
    """Return the code of a slow partition that begins with a certain handling of a signal."""
    return f"import signal; signal.signal(signal.{name}, signal.{handling})\n{SLOW}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its SIGTERM cannot be caught")
@pytest.mark.parametrize("name", ["SIGTERM", nightly("SIGHUP")])
def test_what_is_told_to_end_leaves_nothing(reports, tmp_path, name):
    words = [
        sys.executable,
        "-c",
        slow_code(name, "SIG_DFL"),  # tests that nohup runs ignore SIGHUP, and so would this
        "partition",
        str(reports),
        "-o",
        str(tmp_path / "out" / "s"),
    ]
    (tmp_path / "out").mkdir()
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "sorting\n"
        process.send_signal(signal.Signals[name])
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.endswith("stopped\n")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGHUP")
def test_what_ignores_a_closed_terminal_goes_on(reports, tmp_path):
    code = slow_code("SIGHUP", "SIG_IGN")
    words = [sys.executable, "-c", code, "partition", str(reports), "-o", str(tmp_path / "s")]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "sorting\n"
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "stopped" not in errors


@pytest.mark.parametrize("name", ["answers.csv", "answers.csv.gz", "answers"])
def test_partition_names_the_command_that_makes_parquet(run, tmp_path, name):
    path = tmp_path / name
    path.write_text("task,worker,label\nt,u,no\n")
    words = ("--plain", "--labels", "no,yes")
    status, _, errors = run("partition", path, "-o", tmp_path / "s", *words)
    assert status == 2
    assert f"quietcrowd convert {path} {tmp_path / 'answers.parquet'};" in errors
    assert "write_table" not in errors
