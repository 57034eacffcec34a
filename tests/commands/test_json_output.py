"""What ``--json`` prints: every digit of a number, and texts as they are in the file."""

import json

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.description import describe

LOOK_LIKE_NUMBERS = ["007", "TRUE", "Nan", "1.0", "1e3", "-0", "na", "Null", "inf"]


@pytest.fixture
def odd(tmp_path):
    """Return a file whose tasks, workers and labels are texts that look like something else."""
    path = tmp_path / "odd.csv"
    names = LOOK_LIKE_NUMBERS
    rows = [
        (task, worker, names[place % 3 if worker != "007" else 2])
        for place, task in enumerate(names)
        for worker in names[: 3 + place % 3]
    ]
    pd.DataFrame(rows, columns=["task", "worker", "label"]).to_csv(path, index=False)
    return path


def same(printed, frame):
    """Return whether rows of JSON are those of a frame, to the last bit."""
    assert len(printed) == len(frame)
    for row, (_, expected) in zip(printed, frame.iterrows(), strict=True):
        assert list(row) == list(expected.index)
        for name, cell in expected.items():
            missing = cell is None or (isinstance(cell, float) and not np.isfinite(cell))
            assert row[name] == (None if missing else cell), name
            assert isinstance(row[name], str) == isinstance(cell, str), name
    return True


@pytest.mark.parametrize("method", ["noise-aware", "dawid-skene", "mace"])
def test_infer_prints_what_python_finds(run, odd, method):
    status, output, _ = run("infer", odd, "--non-private", "--method", method, "--json")
    assert status == 0
    found = json.loads(output)
    frame = pd.read_csv(odd, dtype=str, keep_default_na=False)
    kind = {"noise-aware": qc.NoiseAware, "dawid-skene": qc.DawidSkene, "mace": qc.MACE}[method]
    estimate = kind().fit(frame, non_private=True)
    assert same(found["truths"], estimate.truths)
    assert same(found["workers"], estimate.workers)
    assert [row["task"] for row in found["truths"]] == LOOK_LIKE_NUMBERS
    assert {row["truth"] for row in found["truths"]} <= set(LOOK_LIKE_NUMBERS[:3])


def test_numbers_have_all_their_digits(run, tmp_path):
    path = tmp_path / "numbers.csv"
    numbers = [0.1 + 0.2, 1 / 3, 1e-10, 0.12345678912345678, -2 / 3]
    rows = [
        (f"0{place}", worker, number) for place, number in enumerate(numbers) for worker in "ab"
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame.assign(label=frame["label"].map(repr)).to_csv(path, index=False)
    status, output, _ = run("infer", path, "--non-private", "--method", "mean", "--json")
    assert status == 0
    found = json.loads(output)
    estimate = qc.Mean().fit(frame, non_private=True)
    assert same(found["truths"], estimate.truths)
    assert same(found["workers"], estimate.workers)
    assert np.allclose([row["truth"] for row in found["truths"]], numbers, rtol=0, atol=1e-8)


def test_what_is_suggested_and_described(run, odd, tmp_path):
    status, output, _ = run("convert", odd, "--describe", "--json")
    assert status == 0
    frame = pd.read_csv(odd, dtype=str, keep_default_na=False)
    assert json.loads(output) == describe(frame).to_dict()
    reports = tmp_path / "reports.csv"
    labels = ",".join(LOOK_LIKE_NUMBERS[:3])
    assert run("randomize", odd, "--labels", labels, "-e", 9, "-o", reports)[0] == 0
    status, output, _ = run("lab", "suggest", reports, "--count", 30, "--json")
    assert status == 0
    suggested = json.loads(output)["tasks"]
    assert same(suggested, qc.fit(qc.read_reports(reports)).suggest_tasks(30))
    assert {row["task"] for row in suggested} <= set(LOOK_LIKE_NUMBERS)


@pytest.mark.slow
def test_what_is_evaluated(run, folder):
    words = ("-e", "1", "-m", "one-layer", "--trials", 2)
    status, output, _ = run("lab", "evaluate", folder, *words, "--json")
    assert status == 0
    rows = json.loads(output)
    target = folder / "result.parquet"
    assert run("lab", "evaluate", folder, *words, "-o", target)[0] == 0
    assert same(rows, pd.read_parquet(target))


@pytest.mark.nightly
def test_what_is_audited(run):
    words = ("one-layer", "--labels", "007,TRUE,nan", "-e", repr(1 / 3), "--simulate", 1)
    status, output, _ = run(
        "lab", "audit", *words, "--answers-per-worker", 2, "--samples", 200, "--json"
    )
    assert status == 0
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["007", "TRUE", "nan"]), epsilon=1 / 3)
    report = audit(mechanism, 2, draws=200, random_state=1)
    assert json.loads(output) == report.to_dict()
