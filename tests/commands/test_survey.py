import io
import json
from functools import partial

import pandas as pd
import pytest

import quietcrowd as qc

LEVELS = qc.Ordinal(range(3))


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "survey")


def written(folder, mechanism, labels):
    frame = pd.DataFrame({"task": "q", "worker": range(len(labels)), "label": labels})
    answers = qc.Answers.from_frame(frame, domain=mechanism.domain)
    path = folder / "reports.parquet"
    qc.write_reports(mechanism.randomize(answers), path)
    return path


def test_shares_of_labels_and_means_of_levels(run, tmp_path):
    path = written(tmp_path, qc.RandomizedResponse(domain=LEVELS, epsilon=8.0), [0, 1, 1, 2] * 50)
    status, output, errors = run(path)
    shares = pd.read_csv(io.StringIO(output))
    assert status == 0
    assert shares["label"].tolist() == [0, 1, 2]
    assert shares["share"].tolist() == pytest.approx([0.25, 0.5, 0.25], abs=0.1)
    assert "200 reports on 1 question. Low and high are 95% intervals" in " ".join(errors.split())
    means = json.loads(run(path, "--means", "--json", "--confidence", 0.5)[1])
    assert means[0]["mean"] == pytest.approx(1.0, abs=0.1)
    assert means[0]["low"] < means[0]["mean"] < means[0]["high"]


def test_numbers_have_means(run, tmp_path):
    domain = qc.Interval(low=0, high=10)
    mechanism = qc.PiecewiseMechanism(domain=domain, epsilon=8.0)
    target = tmp_path / "means.csv"
    status, output, _ = run(written(tmp_path, mechanism, [4.0] * 100), "-o", target)
    assert (status, output) == (0, "")
    assert pd.read_csv(target)["mean"][0] == pytest.approx(4.0, abs=1.0)


@pytest.mark.parametrize("confidence", ["0", "1", "1.5", "nan"])
def test_errors_are_one_line(run, tmp_path, confidence):
    path = written(tmp_path, qc.RandomizedResponse(domain=LEVELS, epsilon=1.0), [0, 1])
    status, output, errors = run(path, "--confidence", confidence)
    assert (status, output) == (2, "")
    assert "--confidence" in errors
    status, output, errors = run(tmp_path / "missing.csv")
    assert (status, output, errors.count("\n")) == (2, "", 1)
