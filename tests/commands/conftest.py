"""What the tests of commands share: data, stores, and the fixtures of the service's tests."""

import os

import pandas as pd
import pytest
from tests.campaign.conftest import (
    database_url,
    log_as_before,
    postgresql_server,
    pytest_generate_tests,
    server,
)
from tests.campaign.people import new_desk

import quietcrowd as qc
from quietcrowd.formats import write_table

__all__ = ["database_url", "log_as_before", "postgresql_server", "pytest_generate_tests", "server"]


@pytest.fixture
def folder(tmp_path):
    """Return a small dataset folder."""
    crowd = qc.make_crowd(tasks=60, workers=15, answers_per_task=6, random_state=3)
    place = tmp_path / "crowd"
    place.mkdir()
    qc.write_answers(crowd.answers, place / "answers.csv")
    write_table(crowd.truths, place / "truth.csv")
    (place / "dataset.json").write_text('{"kind": "categorical", "domain": ["no", "yes"]}')
    return place


@pytest.fixture
def ratings(tmp_path):
    """Return the files of a campaign on numbers: answers, one device, an idle one, all tasks."""
    crowd = qc.make_crowd(
        kind="sparse", tasks=20, workers=15, sparsity=0.5, truths="uniform", random_state=1
    )
    frame = crowd.answers.to_frame()
    frame.to_csv(tmp_path / "answers.csv", index=False)
    frame[frame["worker"] == 3].to_csv(tmp_path / "three.csv", index=False)
    frame.iloc[:0].to_csv(tmp_path / "idle.csv", index=False)
    pd.DataFrame({"task": range(20)}).to_csv(tmp_path / "tasks.csv", index=False)
    pd.DataFrame({"worker": range(15)}).to_csv(tmp_path / "workers.csv", index=False)
    return tmp_path


@pytest.fixture
def reports(tmp_path):
    """Return a file of reports, with the answers in answers.parquet beside it."""
    crowd = qc.make_crowd(tasks=60, workers=25, answers_per_task=5, random_state=3)
    qc.write_answers(crowd.answers, tmp_path / "answers.parquet")
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    path = tmp_path / "reports.parquet"
    qc.write_reports(mechanism.randomize(crowd.answers), path)
    return path


@pytest.fixture
def store(run, reports, tmp_path):
    """Return a store of the reports."""
    folder = tmp_path / "big"
    status, _, errors = run("convert", reports, folder, "--to", "store", "--partitions", 3)
    assert status == 0
    assert "60 tasks, 25 workers, 300 answers; 3 partitions written to" in errors
    return folder


@pytest.fixture
def at_desk(server, monkeypatch):
    """Return a requester, whose server and key the environment names."""
    desk = new_desk(server)
    monkeypatch.setenv("QUIETCROWD_SERVER", server.url)
    monkeypatch.setenv("QUIETCROWD_KEY", desk.key)
    return desk


@pytest.fixture
def closed_pipe():
    """Return a pipe to write to, which nobody can read any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)
