"""Tasks by their number, or by their ids."""

import numpy as np
import pyarrow as pa
import pytest

from quietcrowd import Categorical, RandomizedResponse
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.task_names import are_named, task_names

MECHANISM = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0, null="category")


@pytest.mark.parametrize(
    "tasks", [[3, 4], (3, 4), range(3, 5), np.array([3, 4]), pa.array([3, 4]), pa.array(["3", "4"])]
)
def test_ids_of_any_kind_are_texts(tasks):
    assert are_named(tasks)
    assert task_names(tasks) == ("3", "4")
    assert MECHANISM.guarantee(tasks=tasks) == MECHANISM.guarantee(tasks=2)


@pytest.mark.parametrize("tasks", [2, np.int64(2), "ab", b"ab", None, 2.0, {3, 4}])
def test_numbers_are_no_ids(tasks):
    assert not are_named(tasks)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (["a", "b", "a"], "id 2 is 'a' once more"),
        ([7, None], "id 1 is missing"),
        (["a", 1], "a number of tasks or their ids"),
        ([["a"]], "a number of tasks or their ids"),
        ([object()], "a number of tasks or their ids"),
        ([], "tasks must be a whole number, at least 1"),
        ("ab", "tasks must be a whole number, at least 1"),
    ],
)
def test_messages(tasks, message):
    with pytest.raises(ParameterError, match=message):
        MECHANISM.guarantee(tasks=tasks)


def test_more_answers_than_named_tasks():
    with pytest.raises(ParameterError, match="tasks must be a whole number, at least 3"):
        MECHANISM.guarantee(answers=3, tasks=["a", "b"])
