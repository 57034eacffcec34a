from pathlib import Path

import pytest

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import resolve

FILE = Path("a.csv")
ANSWERS = ("task", "worker", "label")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["label", "task", "worker"], ["task", "worker", "label"]),
        (["task", "performer", "label"], ["task", "performer", "label"]),
        (["workerId", "taskId", "answer"], ["taskId", "workerId", "answer"]),
        (["task", "worker", "performer", "answer", "label"], ["task", "worker", "label"]),
    ],
)
def test_names_of_other_programs_are_known(names, found):
    assert list(resolve(FILE, names, ANSWERS).values()) == found


def test_a_truth_is_no_answer():
    assert "label" not in resolve(FILE, ["task", "worker", "truth"], ANSWERS)
    for name in ("truth", "true_label", "agg_label"):
        assert resolve(FILE, ["task", name], ("task", "label")) == {"task": "task", "label": name}


def test_names_that_the_caller_gives_have_no_others():
    assert resolve(FILE, ["task", "worker", "answer"], ("task", "worker", "said")) == {
        "task": "task",
        "worker": "worker",
    }


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["task", "performer", "workerId", "label"], "'performer' and 'workerId' could each be"),
        (["task", "task", "worker", "label"], "2 columns have the name 'task'"),
        (["task", "performer", "performer", "label"], "2 columns have the name 'performer'"),
    ],
)
def test_what_is_not_clear_is_an_error(names, told):
    with pytest.raises(FormatError, match=told):
        resolve(FILE, names, ANSWERS)
