"""``quietcrowd convert --to store`` as a user meets it."""

import signal
import sys
from subprocess import PIPE

import pandas as pd
import pytest
from tests.nightly import nightly

from quietcrowd.formats import write_table
from quietcrowd.scale import Store


@pytest.mark.slow
def test_plain_answers(run, reports, tmp_path):
    answers, folder = reports.with_name("answers.parquet"), tmp_path / "plain"
    words = ("convert", answers, folder, "--to", "store", "--non-private", "--labels", "no,yes")
    status, _, errors = run(*words)
    assert status == 0
    assert "1 partitions" not in errors
    assert "1 partition written to" in errors
    assert "The store contains non-private answers." in errors
    assert Store.open(folder).mechanism is None
    assert run("infer", folder, "-o", tmp_path / "t.parquet", "--method", "glad")[0] == 0
    assert run(*words)[0] == 2


def test_rows_may_be_left_out(run, tmp_path):
    frame = pd.DataFrame({"a": [1, 1, 2], "b": [1, 1, 1], "c": ["x", "y", "z"]})
    write_table(frame, tmp_path / "a.parquet")
    words = ["--to", "store", "--non-private", "--labels", "x,y"]
    words += ["--columns", "a,b,c", "--duplicates", "last", "--drop-invalid"]
    status, _, errors = run("convert", tmp_path / "a.parquet", tmp_path / "s", *words)
    assert status == 0
    assert "dropped: 1 repeated answer, 1 missing" in errors
    assert "2 tasks, 1 worker, 1 answer" in errors


@pytest.mark.parametrize("least", [1, 3])
def test_a_store_of_a_campaign_is_that_of_its_file(run, at_desk, tmp_path, least):
    one = at_desk.campaign(tasks=3, join_mode="open", at_least=least)
    for place in range(7):
        at_desk.worker(one).send_values(*[place % 2] * (1 + place % 3))
    at_desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    words = ("campaign", "export", one, "--content", "reports")
    assert run(*words, "-o", tmp_path / "r.parquet")[0] == 0
    assert run("convert", tmp_path / "r.parquet", tmp_path / "of-file", "--to", "store")[0] == 0
    status, _, errors = run("convert", tmp_path / "of-campaign", "--to", "store", "--campaign", one)
    assert status == 0, errors
    assert f"{7 - 7 % least} workers" in errors
    stores = [Store.open(tmp_path / name) for name in ("of-file", "of-campaign")]
    assert stores[0].fingerprint == stores[1].fingerprint
    assert {file.name for file in tmp_path.iterdir()} == {"r.parquet", "of-file", "of-campaign"}


def test_files_or_a_campaign(run, reports, tmp_path):
    one = ("--campaign", "0" * 32)
    for words in ((), (reports, *one), (*one, "--non-private", "--labels", "no,yes")):
        status, _, errors = run("convert", *words, tmp_path / "big", "--to", "store")
        assert (status, "name files of reports, or their campaign" in errors) == (2, True)
    assert run("convert", tmp_path / "big", "--to", "store", "--campaign", "x")[0] == 2


def test_help_has_an_example(run):
    status, output, _ = run("convert", "--help")
    assert status == 0
    assert "Example: quietcrowd convert reports.parquet big --to store" in output
    assert "--checkpoint" in run("infer", "--help")[1]


SORTING = """
import sys
from quietcrowd.commands import main
from quietcrowd.scale.importing import Sorter

def wait(*_):
    print("sorting", flush=True)
    sys.stdin.read()

def stop(*told, end=main._stop):
    print("stopping", flush=True)
    end(*told)

Sorter.__call__, main._stop = wait, stop
main.main()
"""


@pytest.fixture
def sort(program, reports, tmp_path):
    """Return a function that starts a partition, which sorts until its standard input ends."""

    def start(code=SORTING):
        words = ("convert", reports, tmp_path / "out" / "s", "--to", "store")
        started = program(sys.executable, "-c", code, *words, stdin=PIPE)
        started.until("sorting")
        return started

    (tmp_path / "out").mkdir()
    return start


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its SIGTERM cannot be caught")
@pytest.mark.parametrize("name", ["SIGTERM", nightly("SIGHUP")])
def test_what_is_told_to_end_leaves_nothing(sort, tmp_path, name):
    sorting = sort()
    sorting.process.send_signal(signal.Signals[name])
    sorting.until("stopping")
    sorting.process.stdin.close()
    status, _, errors = sorting.finished()
    assert status == 130
    assert errors.endswith("stopped\n")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGHUP")
def test_what_ignores_a_closed_terminal_goes_on(sort):
    sorting = sort(f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SORTING}")
    sorting.process.send_signal(signal.SIGHUP)
    sorting.process.stdin.close()
    status, _, errors = sorting.finished()
    assert status == 2
    assert "stopped" not in errors


@pytest.mark.parametrize("name", ["answers.csv", "answers.csv.gz", "answers"])
def test_partition_names_the_command_that_makes_parquet(run, tmp_path, name):
    path = tmp_path / name
    path.write_text("task,worker,label\nt,u,no\n")
    words = ("--non-private", "--labels", "no,yes")
    status, _, errors = run("convert", path, tmp_path / "s", "--to", "store", *words)
    assert status == 2
    assert f"quietcrowd convert {path} {tmp_path / 'answers.parquet'})" in errors
    assert "write_table" not in errors
