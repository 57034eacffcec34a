"""Random assignment of workers to tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["allot_tasks", "assign_evenly", "assign_uniformly"]


def allot_tasks(
    rng: np.random.Generator, tasks: int, workers: int, per_worker: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Assign equally many tasks to every worker, and workers to tasks, to within one.

    Returns the number of workers of each task, shape (tasks,), and the workers, task by task,
    sorted within each, shape (workers * per_worker,).
    """
    asked = assign_evenly(rng, workers, tasks, per_worker)
    who = np.repeat(np.arange(workers), per_worker)[np.argsort(asked.reshape(-1), kind="stable")]
    return np.bincount(asked.reshape(-1), minlength=tasks), who


def assign_evenly(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int
) -> npt.NDArray[np.int64]:
    """Return `per_task` different workers for every task, sorted, shape (tasks, per_task).

    All workers get equally many tasks, to within one. A worker who is dealt a task twice swaps with
    a random place, until no duplicates remain.
    """
    if per_task > workers / 2:  # assign the few unassigned workers instead
        answers = np.full((tasks, workers), True)
        if per_task < workers:
            left_out = assign_evenly(rng, tasks, workers, workers - per_task)
            np.put_along_axis(answers, left_out, False, axis=1)
        return np.nonzero(answers)[1].reshape(tasks, per_task)
    order = rng.permutation(workers)
    places = order[np.arange(tasks * per_task) % workers]
    rng.shuffle(places)
    who = np.sort(places.reshape(tasks, per_task), axis=1)
    while (again := np.diff(who, axis=1, prepend=-1) == 0).any():
        for row, column in zip(*np.nonzero(again), strict=True):
            other = int(rng.integers(tasks)), int(rng.integers(per_task))
            who[row, column], who[other] = who[other], who[row, column]
        who.sort(axis=1)
    return who


def assign_uniformly(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int
) -> npt.NDArray[np.int64]:
    """Return `per_task` different workers for every task, sorted, uniformly at random."""
    if per_task**2 > workers:  # most draws with replacement would repeat a worker
        block = max(1, 10**7 // workers)
        return np.concatenate(
            [
                np.sort(np.argsort(rng.random((min(block, tasks - start), workers)))[:, :per_task])
                for start in range(0, tasks, block)
            ]
        )
    who = np.sort(rng.integers(0, workers, (tasks, per_task)))
    again = np.flatnonzero((np.diff(who) == 0).any(axis=1))
    while len(again):
        who[again] = np.sort(rng.integers(0, workers, (len(again), per_task)))
        again = again[(np.diff(who[again]) == 0).any(axis=1)]
    return who
