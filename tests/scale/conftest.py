"""Answers and reports of a small crowd in Parquet files, and as they are in memory."""

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.formats import write_table
from quietcrowd.inference import RatioMean
from quietcrowd.scale import partition_parquet
from quietcrowd.scale.partition_job import Job, match_truths

LABELS = qc.Categorical(["no", "perhaps", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
DOMAINS = {"labels": LABELS, "numbers": NUMBERS}
MECHANISMS = {
    "randomised": qc.RandomizedResponse(domain=LABELS, epsilon=2.0),
    "null": qc.RandomizedResponse(domain=LABELS, epsilon=2.0, missing="category"),
    "laplace": qc.LaplaceMechanism(domain=NUMBERS, epsilon=4.0, fill=None),
    "filled": qc.LaplaceMechanism(domain=NUMBERS, epsilon=4.0),
    "released": qc.LaplaceMechanism(domain=NUMBERS, epsilon=4.0, participation="released"),
}


def draw_rows(kind: str) -> pd.DataFrame:
    """Return answers of 12 workers to some of 40 tasks, in no order, with texts as ids."""
    rng = np.random.default_rng(3)
    cells = [(task, worker) for task in range(40) for worker in range(12) if rng.random() < 0.4]
    tasks, workers = np.array([cells[place] for place in rng.permutation(len(cells))]).T
    if kind == "labels":
        right = rng.random(len(tasks)) < 0.9 - workers / 20
        codes = np.where(right, tasks % 3, rng.integers(0, 3, len(tasks)))
        labels = np.array(LABELS.labels)[codes]
    else:
        noise = rng.normal(size=len(tasks)) * (1 + workers / 6)
        labels = np.clip(np.round(tasks / 5 + noise, 3), 0, 10)
    return pd.DataFrame(
        {
            "task": [f"task {task}" for task in tasks],
            "worker": [f"w{worker}" for worker in workers],
            "label": labels,
        }
    )


@pytest.fixture(scope="session")
def crowd_files(tmp_path_factory):
    """Return a folder of Parquet files: one for each of `DOMAINS` and of `MECHANISMS`."""
    folder = tmp_path_factory.mktemp("crowd")
    answers = {}
    for kind, domain in DOMAINS.items():
        answers[domain] = qc.Answers.from_frame(draw_rows(kind), domain)
        write_table(draw_rows(kind), folder / f"{kind}.parquet")
    for name, mechanism in MECHANISMS.items():
        reports = mechanism.simulate(answers[mechanism.domain], random_state=2)
        qc.write_reports(reports, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def write(tmp_path):
    """Return what writes a frame to a Parquet file and gives its path."""

    def write_rows(frame, name="answers.parquet"):
        write_table(frame, tmp_path / name)
        return tmp_path / name

    return write_rows


@pytest.fixture
def job(crowd_files, tmp_path):
    store = partition_parquet(crowd_files / "released.parquet", tmp_path / "s", partitions=3)
    method = RatioMean()
    known = match_truths(store, method, None)
    return Job(
        store=store,
        model=method.bind(store.summary, known.values),
        known_truths=known,
    )
