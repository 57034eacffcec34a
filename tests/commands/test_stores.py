"""``quietcrowd infer`` and ``randomize`` on a store, as a user meets them."""

import json

import pandas as pd
import pytest

from quietcrowd.formats import write_table
from quietcrowd.scale import Store


def test_a_store_gives_what_its_reports_give(run, reports, store, tmp_path):
    truths, workers, kept = (tmp_path / name for name in ("t.parquet", "w.csv", "c"))
    targets = ("-o", truths, "--workers-out", workers)
    status, output, errors = run("infer", store, *targets, "--checkpoint", kept)
    assert (status, output) == (0, "")
    found, found_workers = pd.read_parquet(truths), pd.read_csv(workers)
    assert kept.exists()
    truths, others = tmp_path / "memory.parquet", tmp_path / "memory.csv"
    in_memory = run("infer", reports, "-o", truths, "--workers-out", others)
    assert in_memory[2] == errors
    expected = pd.read_parquet(truths)
    pd.testing.assert_frame_equal(found.sort_values("task", ignore_index=True), expected)
    pd.testing.assert_frame_equal(found_workers, pd.read_csv(others))


def test_nothing_is_overwritten_by_what_a_store_gives(run, store, tmp_path):
    for name in ("-o", "--workers-out"):
        target = tmp_path / "there.csv"
        target.write_text("mine")
        words = ("infer", store, "-o", tmp_path / "new.csv") if name == "--workers-out" else ()
        status, output, errors = run(*(words or ("infer", store)), name, target)
        assert (status, output) == (2, "")
        assert errors == f"quietcrowd: error: {target} already exists; name a new file\n"
        assert target.read_text() == "mine"


def test_known_truths(run, store, tmp_path):
    gold, truths = tmp_path / "gold.csv", tmp_path / "t.parquet"
    gold.write_text("task,label\n3,yes\n")
    assert "1 truth known" in run("infer", store, "-o", truths, "--gold", gold)[2]
    gold.write_text("task,label\n3,yes\n99,no\n")
    status, _, errors = run("infer", store, "-o", tmp_path / "u.parquet", "--gold", gold)
    assert status == 0
    assert "known truths of 1 of 2 tasks are dropped" in errors
    gold.write_text("task,label\n99,no\n")
    status, _, errors = run("infer", store, "-o", tmp_path / "v.parquet", "--gold", gold)
    assert status == 2
    assert "gold.csv: line 2 of the file: task '99' is not in the answers" in errors


def test_simulated_reports_are_called_so(run, reports, tmp_path):
    answers = reports.with_name("answers.parquet")
    words = ("randomize", answers, "--labels", "no,yes", "--simulate", 1)
    assert run(*words, "-o", tmp_path / "r.parquet")[0] == 0
    folder = tmp_path / "simulated"
    for words in (
        ("convert", tmp_path / "r.parquet", folder, "--to", "store"),
        ("infer", folder, "-o", tmp_path / "t.parquet"),
    ):
        status, _, errors = run(*words)
        assert status == 0
        assert errors.count("protect no") == 1


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["convert", "R", "--to", "store"], "name files of reports, or their campaign"),
        (["convert", "R", "S", "--to", "store"], "already exists; name a new folder"),
        (["convert", "R", "N", "--to", "store", "--labels", "a,b"], "require --non-private"),
        (["convert", "R", "N", "--to", "store", "--columns", "a,b,c"], "require --non-private"),
        (["infer", "R", "--columns", "a,b,c"], "--duplicates require --non-private"),
        (
            ["convert", "R", "N", "--to", "store", "--non-private", "--columns", "a"],
            "--columns must be three",
        ),
        (
            ["convert", "R", "N", "--to", "store", "--partitions", "0"],
            "partitions must be a whole number",
        ),
        (["convert", "R", "N", "--to", "store", "--duplicates", "all"], "--duplicates"),
        (["convert", "A", "N", "--to", "store"], "the mechanism of these reports is unknown"),
        (
            ["convert", "R", "N", "--to", "store", "--non-private", "--labels", "a"],
            "randomized reports",
        ),
        (["infer", "S"], "name the file of the truths: --output truths.parquet"),
        (["infer", "S", "R", "-o", "T"], "name one store"),
        (["infer", "S", "-o", "T", "--non-private"], "is not available for a store"),
        (["infer", "S", "-o", "T", "--json"], "is not available for a store"),
        (["infer", "S", "-o", "T", "--columns", "a,b,c"], "is not available for a store"),
        (["infer", "S", "-o", "T", "--workers-out", "T"], "is named for two outputs"),
        (["infer", "S", "-o", "T", "--method", "mean"], "Mean needs numbers"),
        (["infer", "R", "-o", "T", "--checkpoint", "C"], "--checkpoint requires a store"),
    ],
)
def test_mistakes_are_one_line(run, store, reports, tmp_path, words, message):
    places = {
        "R": reports,
        "A": reports.with_name("answers.parquet"),
        "S": store,
        "N": tmp_path / "new",
        "T": tmp_path / "t.parquet",
        "C": tmp_path / "c",
    }
    status, output, errors = run(*(places.get(word, word) for word in words))
    assert (status, output) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_store_that_lost_a_file(run, store, tmp_path):
    note = json.loads((store / "store.json").read_text())
    assert note["tasks"] == 60
    next(store.glob("partition-*/values.npy")).unlink()
    status, _, errors = run("infer", store, "-o", tmp_path / "t.parquet")
    assert status == 2
    assert "values.npy: this file is missing. Create the store again." in errors


@pytest.fixture
def answers(run, reports, tmp_path):
    """Return a store of plain answers."""
    folder = tmp_path / "plain"
    words = (folder, "--to", "store", "--non-private", "--labels", "no,yes", "--partitions", 3)
    assert run("convert", reports.with_name("answers.parquet"), *words)[0] == 0
    return folder


def test_a_store_is_randomised(run, answers, tmp_path):
    folder = tmp_path / "sent"
    status, output, errors = run("randomize", answers, "-o", folder, "-m", "two-layer", "-e", 1)
    assert (status, output) == (0, "")
    assert f"300 reports written to {folder}; workers: 25." in errors
    assert "Answers of the busiest worker" in errors
    assert "simulated" not in errors
    store = Store.open(folder)
    assert (len(store), store.mechanism.name, store.simulated) == (300, "two-layer", False)
    status, _, errors = run("infer", folder, "-o", tmp_path / "t.parquet")
    assert status == 0
    assert "60 tasks, 25 workers, 300 answers" in errors


def test_a_store_with_rows_left_out_needs_a_mechanism_that_hides_it(run, tmp_path):
    frame = pd.DataFrame(
        {"task": ["t", "t", "u", "v"], "worker": ["a", "b", "b", "c"]}, dtype="string"
    ).assign(label=["no", "maybe", "yes", None])
    write_table(frame, tmp_path / "a.parquet")
    folder, sent = tmp_path / "plain", tmp_path / "sent"
    words = (folder, "--to", "store", "--non-private", "--labels", "no,yes", "--drop-invalid")
    assert run("convert", tmp_path / "a.parquet", *words)[0] == 0
    words = ("randomize", folder, "-o", sent)
    status, output, errors = run(*words)
    assert (status, output) == (2, "")
    (line,) = errors.splitlines()
    assert line.startswith(
        "quietcrowd: error: rows dropped because of a missing or invalid answer: 2"
    )
    assert "--participation-is-public" in line
    assert not sent.exists()
    status, _, errors = run(*words, "--participation-is-public")
    assert status == 0
    assert "does not protect 2 dropped rows. A missing report reveals" in errors
    assert len(Store.open(sent)) == 2
    status, _, errors = run(*words, "--drop-invalid")
    assert status == 2
    assert "--drop-invalid is not available for a store" in errors
    lists = (tmp_path / "tasks.csv", tmp_path / "workers.csv")
    lists[0].write_text("task\nt\nu\nv\n")
    lists[1].write_text("worker\na\nb\nc\n")
    hiding = (
        "-m",
        "one-layer:missing=category",
        "--all-tasks",
        lists[0],
        "--all-workers",
        lists[1],
    )
    status, _, errors = run("randomize", folder, "-o", tmp_path / "hidden", *hiding)
    assert status == 0
    assert "9 reports written" in errors
    assert "does not protect" not in errors


def test_what_hides_who_answered_needs_lists(run, answers, tmp_path):
    folder = tmp_path / "sent"
    words = ("randomize", answers, "-o", folder, "-m", "one-layer:missing=category")
    status, _, errors = run(*words)
    assert status == 2
    assert "List all tasks and all workers" in errors
    assert not folder.exists()
    lists = (tmp_path / "tasks.csv", tmp_path / "workers.csv")
    store = Store.open(answers)
    tasks = [one for index in range(3) for one in store.task_ids(index).to_pylist()]
    pd.DataFrame({"task": tasks}).to_csv(lists[0], index=False)
    pd.DataFrame({"worker": store.workers.to_pylist()}).to_csv(lists[1], index=False)
    status, _, errors = run(*words, "--all-tasks", lists[0], "--all-workers", lists[1])
    assert status == 0
    assert "1,500 reports written" in errors
    assert run(*words[:3], tmp_path / "simulated", *words[4:], "--simulate", 1)[0] == 0
    assert Store.open(tmp_path / "simulated").simulated


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--labels", "no,yes"), "is not available for a store"),
        (("-m", "laplace"), "domain"),
        (("-o", "{answers}"), "is the input"),
        (("--dask", "here"), "scheduler must be tcp://host:port"),
    ],
)
def test_what_does_not_go_with_randomising_a_store(run, answers, tmp_path, words, error):
    given = [str(word).format(answers=answers) for word in words]
    status, _, errors = run("randomize", answers, "-o", tmp_path / "sent", *given)
    assert status == 2
    assert error in errors
    assert "This is a bug" not in errors
    assert not (tmp_path / "sent").exists()


def test_a_scheduler_goes_with_a_store(run, reports, tmp_path):
    for words in (
        ("infer", reports, "--dask", "local"),
        (
            *("randomize", reports.with_name("answers.parquet"), "--labels", "no,yes"),
            *("-o", tmp_path / "r.parquet", "--dask", "local"),
        ),
    ):
        status, _, errors = run(*words)
        assert status == 2
        assert "--dask requires a store" in errors


@pytest.mark.nightly
@pytest.mark.slow
def test_a_cluster_finds_what_threads_find(run, store, tmp_path):
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    assert run("infer", store, "-o", here)[0] == 0
    status, output, errors = run("infer", store, "-o", there, "--dask", "local:1")
    assert (status, output) == (0, "")
    assert errors.startswith("60 tasks, 25 workers, 300 answers;")
    assert here.read_bytes() == there.read_bytes()
