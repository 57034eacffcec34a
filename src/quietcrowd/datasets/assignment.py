"""Who answers what, where all workers are to give equally many answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole

__all__ = ["assign_evenly", "check_crowd_sizes"]


def check_crowd_sizes(tasks: int, workers: int, answers_per_task: int, seed: int) -> None:
    """Raise ParameterError unless such a crowd can be drawn."""
    check_whole("tasks", tasks, 1)
    check_whole("workers", workers, 1)
    check_whole("answers_per_task", answers_per_task, 1)
    check_whole("seed", seed, 0)
    if answers_per_task > workers:
        raise ParameterError(
            "answers_per_task must be at most the number of workers, who answer a task once; "
            f"got answers_per_task={answers_per_task}, workers={workers}"
        )


def assign_evenly(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int
) -> npt.NDArray[np.int64]:
    """Return `per_task` different workers for every task, sorted, shape (tasks, per_task).

    All workers are given equally many tasks, to within one. Places are dealt out; one that has a
    worker for the second time is exchanged with any other place, until there is none.
    """
    if per_task > workers / 2:  # those who are left out are dealt out as evenly, and are few
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
