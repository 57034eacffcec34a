"""Parameter checks, assignment of tasks, and assembly of synthetic crowds."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Categorical, Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole

Crowd = TypeVar("Crowd", bound=Dataset)


def check_sizes(tasks: int, workers: int) -> None:
    """Raise ParameterError unless there is a task and a worker."""
    check_whole("tasks", tasks, 1)
    check_whole("workers", workers, 1)


def check_assigned_sizes(tasks: int, workers: int, answers_per_task: int) -> None:
    """Check sizes, and that there are enough workers for distinct answers to a task."""
    check_sizes(tasks, workers)
    check_whole("answers_per_task", answers_per_task, 1)
    if answers_per_task > workers:
        raise ParameterError(
            "datasets.answers-per-task-too-many", answers_per_task=answers_per_task, workers=workers
        )


def draw_assignment(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int, per_worker: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of answers to each task, and the workers who give them, task by task.

    With `per_worker`, every worker gives this number of answers, and `per_task` is ignored.
    """
    if per_worker is not None:
        check_whole("answers_per_worker", per_worker, 1)
        if per_worker > tasks:
            raise ParameterError(
                "datasets.answers-per-worker-too-many", per_worker=per_worker, tasks=tasks
            )
        return allot_tasks(rng, tasks, workers, per_worker)
    return np.full(tasks, per_task), assign_evenly(rng, tasks, workers, per_task).reshape(-1)


def check_given(name: str, values: Any, workers: int, low: float, high: float) -> Any:
    """Return an array of one number per worker, or raise ParameterError."""
    given = np.array(values, np.float64)
    if given.shape != (workers,) or not ((given >= low) & (given <= high)).all():
        raise ParameterError(
            "datasets.per-worker-numbers-invalid", name=name, workers=workers, low=low, high=high
        )
    return given


def check_accuracy(domain: Categorical, accuracy: tuple[float, float]) -> None:
    """Raise ParameterError unless there are two labels and bounds 0 <= low <= high <= 1."""
    if domain.size < 2 or not 0 <= accuracy[0] <= accuracy[1] <= 1:
        raise ParameterError(
            "datasets.accuracy-bounds-invalid", labels=list(domain.labels), accuracy=accuracy
        )


def drawn_answers(
    domain: Domain, workers: int, counts: Any, who: npt.NDArray[Any], values: npt.NDArray[Any]
) -> Answers:
    """Return answers with integer ids from 0, given answers per task, workers and values."""
    return Answers(
        domain=domain,
        tasks=pa.array(np.arange(len(counts))),
        workers=pa.array(np.arange(workers)),
        offsets=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
        worker_codes=who.reshape(-1).astype(np.int32, copy=False),
        values=values.reshape(-1).astype(domain.dtype, copy=False),
    )


def drawn_crowd(
    kind: type[Crowd], name: str, answers: Answers, truths: Any, **distribution: Any
) -> Crowd:
    """Return a synthetic crowd; `truths` has one entry per task, in order."""
    return kind(
        name=name,
        answers=answers,
        truths=pa.table({"task": np.arange(len(answers.tasks)), "label": truths}),
        remark="drawn, not collected",
        **distribution,
    )


def allot_tasks(
    rng: np.random.Generator, tasks: int, workers: int, per_worker: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of workers of each task, and the workers, task by task, sorted in each.

    Every worker gets equally many tasks, and every task equally many workers, to within one.
    """
    asked = assign_evenly(rng, workers, tasks, per_worker)
    who = np.repeat(np.arange(workers), per_worker)[np.argsort(asked.reshape(-1), kind="stable")]
    return np.bincount(asked.reshape(-1), minlength=tasks), who


def assign_evenly(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int
) -> npt.NDArray[np.int64]:
    """Return `per_task` different workers for every task, sorted, shape (tasks, per_task).

    All get equally many tasks, to within one. A worker who is dealt a task twice swaps with a
    random place, until no duplicates remain.
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
