import polars as pl

import quietcrowd as qc
from quietcrowd.inference import WeightedVote

CROWD = qc.make_crowd(tasks=20, workers=10, answers_per_task=3)


def test_columns_and_one_row_per_task_and_worker():
    estimate = WeightedVote().fit(CROWD.answers)
    assert list(estimate.truths.columns) == ["task", "truth", "confidence", "answers", "tied"]
    found = ["agreement", "accuracy", "accuracy_low", "accuracy_high"]
    assert list(estimate.workers.columns) == ["worker", *found, "answers"]
    assert len(estimate.truths) == 20
    assert len(estimate.workers) == 10
    assert estimate.workers["answers"].sum() == estimate.truths["answers"].sum() == 60
    assert set(estimate.truths["truth"]) <= {"no", "yes"}


def test_frames_of_another_library():
    estimate = WeightedVote().fit(CROWD.answers)
    assert isinstance(estimate.truths_as("polars"), pl.DataFrame)
    assert isinstance(estimate.workers_as("polars"), pl.DataFrame)


def test_it_shows_what_it_is():
    text = repr(WeightedVote().fit(CROWD.answers))
    assert text.startswith("LabelEstimate(20 tasks, 10 workers, WeightedVote(")
    assert text.endswith("converged)")
