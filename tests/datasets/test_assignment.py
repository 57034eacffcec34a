import numpy as np
import pytest

from quietcrowd.datasets.assignment import allot_tasks, assign_evenly, assign_uniformly


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
