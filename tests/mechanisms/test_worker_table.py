import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms.worker_table import worker_table

YES_NO = qc.Categorical(["no", "yes"])


def table_of(answers, domain=YES_NO, tasks=("a", "b", "c")):
    return worker_table(answers, domain=domain, tasks=tasks, worker="me", campaign="drugs")


def test_answers_become_the_table_that_a_frame_becomes():
    table = table_of({"c": "yes", "a": "no", "b": None})
    assert table.to_frame("pyarrow").to_pylist() == [
        {"task": "a", "worker": "me", "label": "no"},
        {"task": "c", "worker": "me", "label": "yes"},
    ]
    assert table.tasks.to_pylist() == ["a", "b", "c"]


def test_nothing_answered_is_a_table_too():
    assert len(table_of({})) == 0
    assert len(table_of({}, domain=qc.Interval(low=0, high=1))) == 0


def test_tasks_count_as_what_they_print_as():
    assert len(table_of({1: "no", "2": "yes"}, tasks=(1, 2))) == 2


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"a": "perhaps"}, "task 'a': the answer is outside the domain 'no', 'yes'"),
        ({"a": ["no"]}, "task 'a'"),
        ({"a": pd.NaT}, "task 'a'"),
        ({"a": object()}, "task 'a'"),
        ({"d": "no"}, "task 'd' is not one of the 3 tasks of campaign 'drugs'"),
        ({1: "no", "1": "no"}, "the same name as text"),
        ([("a", "no")], "must map tasks to answers"),
    ],
)
def test_what_is_wrong_is_told_without_an_answer(answers, told):
    with pytest.raises(AnswerError, match=told) as caught:
        table_of(answers)
    assert "perhaps" not in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 10.1, float("nan"), "x", 10**400])
def test_numbers_lie_within_their_bounds(value):
    with pytest.raises(AnswerError, match=r"outside the domain 0\.0 to 10\.0"):
        table_of({"a": value}, domain=qc.Interval(low=0, high=10))
