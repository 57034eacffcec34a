import numpy as np
import pytest

from quietcrowd.datasets import Dataset
from quietcrowd.datasets.drawn import (
    allot_tasks,
    assign_evenly,
    assign_uniformly,
    check_accuracy,
    check_assigned_sizes,
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
        (check_sizes, (0, 1), "tasks must"),
        (check_sizes, (1, 2.5), "workers must"),
        (check_assigned_sizes, (1, 1, 0), "answers_per_task must"),
        (check_assigned_sizes, (1, 5, 6), "answers_per_task=6, workers=5"),
        (check_accuracy, (Categorical(["one"]), (0, 1)), r"two labels, .* got labels=\['one'\]"),
        (check_accuracy, (LABELS, (0.9, 0.5)), r"accuracy=\(0.9, 0.5\)"),
        (check_accuracy, (LABELS, (0.5, 1.5)), r"accuracy=\(0.5, 1.5\)"),
    ],
)
def test_bad_parameters_are_named(check, bad, words):
    with pytest.raises(ParameterError, match=words):
        check(*bad)


def test_what_is_allowed():
    check_assigned_sizes(1, 5, 5)
    check_accuracy(LABELS, (0, 1))


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


@pytest.mark.parametrize(
    ("tasks", "workers", "per_task"),
    [(200, 50, 10), (40, 200, 10), (50, 10, 5), (50, 10, 9), (1, 4, 2), (3, 4, 4), (7, 2, 1)],
)
def test_workers_differ_and_give_equally_many(tasks, workers, per_task):
    who = assign_evenly(np.random.default_rng(0), tasks, workers, per_task)
    assert who.shape == (tasks, per_task)
    assert (np.diff(who, axis=1) > 0).all()
    assert np.ptp(np.bincount(who.reshape(-1), minlength=workers)) <= 1


def test_who_answers_together_is_drawn():
    first, second = (assign_evenly(np.random.default_rng(seed), 40, 20, 4) for seed in (0, 1))
    assert not np.array_equal(first, second)
    assert len(np.unique(first, axis=0)) > 30  # 40 draws of 4,845 sets: fewer is below 1e-12


@pytest.mark.parametrize(("workers", "per_task"), [(10, 10), (10, 3), (1000, 5), (1, 1)])
def test_workers_of_a_task_differ_and_are_sorted(workers, per_task):
    who = assign_uniformly(np.random.default_rng(0), 300, workers, per_task)
    assert who.shape == (300, per_task)
    assert (np.diff(who, axis=1) > 0).all()
    assert 0 <= who.min() <= who.max() < workers


@pytest.mark.parametrize(
    ("tasks", "workers", "each"), [(10, 4, 3), (7, 30, 7), (5, 3, 1), (40, 40, 30)], ids=str
)
def test_workers_are_allotted_equally_many_tasks_and_tasks_equally_often(tasks, workers, each):
    counts, who = allot_tasks(np.random.default_rng(0), tasks, workers, each)
    assert len(counts) == tasks
    assert np.ptp(counts) <= 1
    assert np.array_equal(np.bincount(who, minlength=workers), np.full(workers, each))
    for asked in np.split(who, np.cumsum(counts)[:-1]):
        assert np.array_equal(asked, np.unique(asked))
