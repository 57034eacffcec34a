"""What answers look like."""

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.description import MOST_LABELS, OTHERS, describe
from quietcrowd.exceptions import AnswerError

ROWS = [
    ("a", "ann", "no"),
    ("a", "bob", "yes"),
    ("b", "bob", "no"),
    ("b", "bob", "yes"),
    ("b", "bob", "no"),
    ("c", "cid", None),
]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


def test_rows_are_counted_once_a_worker_and_task():
    truths = pd.DataFrame({"task": ["a", "c", "z"], "label": ["no", "yes", "yes"]})
    found = describe(FRAME, truths)
    assert (found.tasks, found.workers, found.answers) == (3, 3, 3)
    assert (found.repeated, found.contradicting, found.missing) == (2, 1, 1)
    assert found.labels == {"no": 2, "yes": 1}
    assert found.numbers is None
    assert found.sparsity.least == pytest.approx(1 / 3)
    assert found.sparsity.most == 1.0
    assert found.answers_per_worker.mean == 1.0
    assert found.answers_per_task.most == 2.0
    assert (found.truths, found.unanswered_truths, found.right) == (3, 2, 0.5)
    assert found.truth_labels == {"no": 1, "yes": 2}


def test_answers_know_what_was_left_out():
    answers = qc.Answers.from_frame(
        FRAME.dropna(), qc.Categorical(["no", "yes"]), duplicates="first", tasks=["a", "b", "c"]
    )
    found = answers.describe()
    assert (found.tasks, found.answers, found.repeated) == (3, 3, 2)
    assert found.labels == {"no": 2, "yes": 1}


def test_many_numbers_have_quantiles_and_many_labels_others():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"task": np.arange(300), "worker": "w", "label": rng.normal(size=300)})
    found = describe(frame, frame[["task", "label"]])
    assert found.labels is None
    assert found.numbers.median == pytest.approx(np.median(frame["label"]))
    assert found.right == 1.0
    named = describe(frame.assign(label=[f"l{number % 40}" for number in range(300)]))
    assert len(named.labels) == MOST_LABELS
    assert sum(named.labels.values()) == 300
    assert OTHERS in named.labels


def test_numbers_that_are_written_differently_are_equal():
    frame = pd.DataFrame({"task": ["1", "2"], "worker": "w", "label": ["1", "2"]})
    truths = pd.DataFrame({"task": [1, 2], "label": [1.0, 3.0]})
    assert describe(frame, truths).right == 0.5


def test_what_cannot_be_described():
    for frame, message in (
        (FRAME[:0], "no answer"),
        (FRAME.drop(columns="label"), "label"),
        (
            pd.DataFrame({"task": ["a"], "worker": [None], "label": [1]}),
            "row 0, column 'worker': the id is missing",
        ),
    ):
        with pytest.raises(AnswerError, match=message):
            describe(frame)
