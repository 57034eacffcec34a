import numpy as np
import pytest

from quietcrowd.datasets import Dataset
from quietcrowd.datasets.drawn import (
    check_above_zero,
    check_accuracy,
    check_assigned_sizes,
    check_share,
    check_sizes,
    drawn_answers,
    drawn_crowd,
)
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import ParameterError

LABELS = Categorical(["no", "yes"])


@pytest.mark.parametrize(
    ("check", "bad", "words"),
    [
        (check_sizes, (0, 1, 0), "tasks must"),
        (check_sizes, (1, 2.5, 0), "workers must"),
        (check_sizes, (1, 1, -1), "seed must"),
        (check_assigned_sizes, (1, 1, 0, 0), "answers_per_task must"),
        (check_assigned_sizes, (1, 5, 6, 0), "answers_per_task=6, workers=5"),
        (check_accuracy, (Categorical(["one"]), (0, 1)), r"two labels .* got labels=\['one'\]"),
        (check_accuracy, (LABELS, (0.9, 0.5)), r"accuracy=\(0.9, 0.5\)"),
        (check_accuracy, (LABELS, (0.5, 1.5)), r"accuracy=\(0.5, 1.5\)"),
        (check_share, ("misled", 1.5), "misled must be 0 to 1; got 1.5"),
        (check_share, ("misled", float("nan")), "misled must be a finite number"),
        (check_above_zero, ("spread", 0), "spread must be above 0; got 0"),
    ],
)
def test_bad_parameters_are_named(check, bad, words):
    with pytest.raises(ParameterError, match=words):
        check(*bad)


def test_what_is_allowed():
    check_assigned_sizes(1, 5, 5, 0)
    check_accuracy(LABELS, (0, 1))
    check_share("misled", 0)
    check_share("misled", 1)
    check_above_zero("spread", 1e-300)


def test_answers_and_truths_are_kept_by_task():
    who, values = np.array([0, 2, 1, 0, 1, 2]), np.array([1, 0, 0, 1, 1, 1])
    answers = drawn_answers(LABELS, 3, [2, 1, 3], who, values)
    crowd = drawn_crowd(Dataset, "three", answers, ["no", "yes", "yes"])
    assert answers.offsets.tolist() == [0, 2, 3, 6]
    assert answers.task_codes.tolist() == [0, 0, 1, 2, 2, 2]
    assert answers.worker_codes.dtype == np.int32
    assert answers.values.dtype == LABELS.dtype
    assert crowd.truths.to_pydict() == {"task": [0, 1, 2], "label": ["no", "yes", "yes"]}
    assert (crowd.name, crowd.remark) == ("three", "drawn, not collected")
