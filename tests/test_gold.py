from functools import cache

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning
from quietcrowd.gold import UNKNOWN, label_per_task, number_per_task

FRAME = pd.DataFrame(
    {"task": [1, 1, 2, 2, 3], "worker": [*"uvuvu"], "label": ["a", "a", "b", "b", "a"]}
)
KNOWN = pd.DataFrame({"task": ["1", "2"], "label": ["a", "a"]})
FORMS = {
    "mapping": {1: "a", 2: "a"},
    "series": pd.Series({1: "a", 2: "a"}),
    "frame": KNOWN,
    "frame of polars": pl.from_pandas(KNOWN),
    "lazy frame": pl.from_pandas(KNOWN).lazy(),
    "columns of an estimate": KNOWN.rename(columns={"label": "truth"}),
    "columns of crowd-kit": KNOWN.rename(columns={"label": "true_label"}),
    "estimate": lambda: qc.MajorityVote().fit(KNOWN.assign(worker="w"), non_private=True),
}


@cache
def estimate():
    """Return an estimate; what is compiled for it is not for who only collects."""
    return qc.MajorityVote().fit(FRAME, non_private=True)


@pytest.mark.parametrize("truths", FORMS.values(), ids=FORMS)
def test_truths_come_in_many_forms(truths):
    truths = truths() if callable(truths) else truths
    assert qc.error_rate(estimate(), truths) == 0.5
    found = qc.MajorityVote().fit(FRAME, gold=truths, non_private=True).truths
    assert found["truth"].tolist() == ["a", "a", "a"]
    assert found["confidence"].tolist() == [1, 1, 1]


def test_each_truth_is_that_of_its_task():
    tasks = pa.array(["x", "y", "z"])
    labels = label_per_task(tasks, {"z": "b", "y": "a"}, qc.Categorical(["a", "b"]))
    assert labels.tolist() == [UNKNOWN, 0, 1]
    assert number_per_task(tasks, {"z": 3.0, "y": 2.0})[1:].tolist() == [2.0, 3.0]


def test_what_an_estimate_did_not_find_is_not_known():
    half = qc.Answers.from_frame(FRAME[:2], qc.Categorical(["a", "b"]), tasks=[1, 2])
    truths = qc.MajorityVote().fit(FRAME, gold=qc.MajorityVote().fit(half), non_private=True).truths
    assert truths["truth"].tolist() == ["a", "b", "a"]


def test_unknown_tasks_are_named_and_left_out():
    truths = {1: "b", "x": "a", **{f"y{place}": "zebra" for place in range(7)}}
    truths = {str(task): label for task, label in truths.items()}
    with pytest.warns(DroppedRowsWarning, match=r"8 of 9 tasks .*: 'x', 'y0', .*'y3' and 3 more"):
        assert qc.error_rate(estimate(), truths) == 1
    with pytest.warns(DroppedRowsWarning):
        assert qc.MajorityVote().fit(FRAME, gold=truths, non_private=True).truths["truth"][0] == "b"


def test_truths_of_other_tasks_alone_are_an_error():
    with pytest.raises(
        AnswerError, match=r"row 0: task 'x' is not in the answers, and neither is any other"
    ):
        qc.error_rate(estimate(), {"x": "a"})


def test_a_row_is_that_of_the_truths_that_came_in():
    truths = pd.DataFrame({"task": ["x", "1", "2"], "label": ["a", "a", "zebra"]})
    with (
        pytest.warns(DroppedRowsWarning),
        pytest.raises(AnswerError, match=r"row 2: the truth of .*, 'zebra', is outside"),
    ):
        qc.error_rate(estimate(), truths)
    twice = pd.DataFrame({"task": ["x", "1", "1"], "label": ["a", "a", "a"]})
    with (
        pytest.warns(DroppedRowsWarning),
        pytest.raises(AnswerError, match="row 2: task 1 occurs 2 times"),
    ):
        qc.error_rate(estimate(), twice)


def test_a_mapping_of_mixed_types_is_an_error():
    with pytest.raises(AnswerError, match="of one type"):
        qc.error_rate(estimate(), {1: "a", "x": "b"})
