import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from quietcrowd.answers import Answers
from quietcrowd.datasets import Dataset, make_crowd
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.evaluation import mean_absolute_error
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import Mean
from quietcrowd_research.transforms import log10_dataset, selected_tasks, standardised_dataset


def dataset(rows, truths, domain):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = pd.DataFrame(truths, columns=["task", "label"])
    return Dataset(name="some", answers=Answers.from_frame(frame, domain), truths=known)


def test_logarithms():
    crowd = dataset(
        [("a", "u", 10.0), ("a", "v", 1000.0), ("b", "u", 1.0)],
        [("b", 100.0)],
        Interval(low=0, high=1e6),
    )
    moved = log10_dataset(crowd)
    assert moved.answers.values.tolist() == [1.0, 3.0, 0.0]
    assert moved.answers.domain == Interval(low=0, high=6)
    assert pa.table(moved.truths)["label"].to_pylist() == [2.0]
    assert "log10" in moved.name


def test_logarithms_of_small_numbers_are_refused():
    small = dataset([("a", "u", 0.5)], [("a", 2.0)], Interval(low=0, high=9))
    with pytest.raises(AnswerError, match=r"0\.5 is below 1"):
        log10_dataset(small)
    with pytest.raises(AnswerError, match="below 1"):
        log10_dataset(dataset([("a", "u", 2.0)], [("a", 0.0)], Interval(low=0, high=9)))
    with pytest.raises(AnswerError, match="Interval"):
        log10_dataset(dataset([("a", "u", 2)], [("a", 2)], Ordinal([1, 2])))
    with pytest.raises(AnswerError, match="numbers"):
        log10_dataset(make_crowd(tasks=5, workers=20))


def test_standardised_tasks_have_mean_0_and_deviation_1():
    moved = standardised_dataset(make_crowd(kind="sensors", random_state=1), bound=50)
    grouped = pd.Series(moved.answers.values).groupby(moved.answers.task_codes)
    assert grouped.mean().to_numpy() == pytest.approx(np.zeros(100), abs=1e-9)
    assert grouped.std(ddof=0).to_numpy() == pytest.approx(np.ones(100))


def test_tasks_whose_answers_do_not_differ_are_left_out():
    crowd = dataset(
        [("a", "u", 1.0), ("a", "v", 3.0), ("b", "u", 2.0), ("b", "v", 2.0)],
        [("a", 100.0), ("b", 2.0)],
        Interval(low=0, high=9),
    )
    moved = standardised_dataset(crowd, bound=3)
    assert moved.answers.tasks.to_pylist() == ["a"]
    assert moved.answers.values.tolist() == [-1.0, 1.0]
    assert pa.table(moved.truths).to_pylist() == [{"task": "a", "label": 3.0}]
    with pytest.raises(AnswerError, match="no task's answers deviate"):
        standardised_dataset(crowd, least_spread=1.0)
    with pytest.raises(ParameterError, match="bound"):
        standardised_dataset(crowd, bound=0.5)


def test_tasks_and_workers_without_answers_stay():
    crowd = make_crowd(
        kind="sensors", tasks=50, workers=3, share=0.2, domain=Interval(low=1, high=1000)
    )
    assert (crowd.answers.answers_per_task == 0).any()
    moved = log10_dataset(crowd)
    assert len(moved.answers.tasks) == 50
    assert len(moved.answers.workers) == 3
    mean_absolute_error(Mean().fit(moved.answers), moved.truths)


def test_standardised_truths_are_those_of_the_tasks_that_are_kept():
    moved = standardised_dataset(make_crowd(kind="sensors", tasks=50, workers=8, share=0.2))
    tasks = moved.answers.tasks.to_pylist()
    assert pa.table(moved.truths)["task"].to_pylist() == tasks
    assert 0 < len(tasks) < 50
    assert len(moved.answers.workers) == 8


ROWS = [("a", "u", 1.0), ("a", "v", 2.0), ("b", "u", 3.0), ("b", "v", 4.0), ("c", "v", 5.0)]


def test_tasks_are_selected_by_answers_and_by_known_truths():
    some = dataset(ROWS, [("b", 3.0), ("c", 5.0)], Interval(low=0, high=9))
    busy = selected_tasks(some, least_answers=2)
    assert busy.answers.tasks.to_pylist() == ["a", "b"]
    assert busy.answers.workers.to_pylist() == ["u", "v"]
    assert len(busy.answers) == 4
    assert busy.truths["task"].to_pylist() == ["b"]
    known = selected_tasks(some, least_answers=2, known=True)
    assert known.answers.tasks.to_pylist() == ["b"]
    assert known.answers.values.tolist() == [3.0, 4.0]
    assert selected_tasks(some).answers.tasks.to_pylist() == ["a", "b", "c"]


def test_no_task_is_left():
    some = dataset(ROWS, [("c", 5.0)], Interval(low=0, high=9))
    with pytest.raises(AnswerError, match="some: no task has 3 answers"):
        selected_tasks(some, least_answers=3)
    with pytest.raises(AnswerError, match="no task has 2 answers and a known truth"):
        selected_tasks(some, least_answers=2, known=True)
    with pytest.raises(AnswerError, match="Interval"):
        selected_tasks(make_crowd(tasks=3, workers=4, answers_per_task=2, labels=["1", "2"]))
