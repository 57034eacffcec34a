"""Crowds that are drawn, with every truth known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Categorical, Label
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole

__all__ = ["synthetic_crowd"]


def synthetic_crowd(
    *,
    tasks: int = 1_000,
    workers: int = 100,
    answers_per_task: int = 10,
    labels: Sequence[Label] = ("no", "yes"),
    accuracy: tuple[float, float] = (0.55, 0.95),
    seed: int = 0,
) -> Dataset:
    """Draw a crowd of one-coin workers.

    Each worker has an accuracy, uniform between two bounds; each task a truth, uniform on the
    labels, and answers from that many different workers. An answer is the truth with the
    worker's accuracy, and one of the other labels otherwise, uniformly.

    Parameters
    ----------
    tasks, workers, answers_per_task : int
        Sizes, at least 1; ``answers_per_task <= workers``.
    labels : sequence
        At least two labels.
    accuracy : (float, float)
        Bounds of the workers' accuracies.
    seed : int
        Of the draw; the same seed gives the same crowd.

    Returns
    -------
    Dataset
        Ids of tasks and workers are whole numbers from 0.

    Raises
    ------
    ParameterError
        Where a size is below 1, there are too few workers or labels, or the bounds are no
        probabilities in order.
    """
    domain = Categorical(labels)
    check_whole("seed", seed, 0)
    if min(tasks, workers, answers_per_task) < 1 or answers_per_task > workers:
        raise ParameterError(
            "tasks, workers and answers_per_task must be at least 1, and answers_per_task at most "
            f"workers; got tasks={tasks}, workers={workers}, answers_per_task={answers_per_task}"
        )
    if domain.size < 2 or not 0 <= accuracy[0] <= accuracy[1] <= 1:
        raise ParameterError(
            "at least two labels and accuracy bounds 0 <= low <= high <= 1 are needed; "
            f"got labels={list(labels)!r}, accuracy={accuracy!r}"
        )
    rng = np.random.default_rng(seed)
    accuracies = rng.uniform(*accuracy, size=workers)
    truths = rng.integers(0, domain.size, tasks)
    who = _distinct_workers(rng, tasks, workers, answers_per_task)
    right = rng.random(who.shape) < accuracies[who]
    shift = rng.integers(1, domain.size, who.shape)
    answered = np.where(right, truths[:, None], (truths[:, None] + shift) % domain.size)
    return Dataset(
        name=f"synthetic crowd (seed {seed})",
        answers=Answers(
            domain=domain,
            tasks=pa.array(np.arange(tasks)),
            workers=pa.array(np.arange(workers)),
            offsets=np.arange(tasks + 1, dtype=np.int64) * answers_per_task,
            worker_codes=who.reshape(-1).astype(np.int32),
            values=answered.reshape(-1).astype(domain.dtype),
        ),
        truths=pa.table({"task": np.arange(tasks), "label": domain.decode(truths)}),
        remark="drawn, not collected",
    )


def _distinct_workers(
    rng: np.random.Generator, tasks: int, workers: int, per_task: int
) -> npt.NDArray[np.int64]:
    """Return `per_task` different workers for every task, sorted, uniformly."""
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
