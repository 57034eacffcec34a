"""Crowds of sensors: numbers with normal errors, of good and of bad workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_real, check_whole, plain

__all__ = ["sensor_crowd"]


def sensor_crowd(
    *,
    tasks: int = 100,
    workers: int = 60,
    share: float = 1.0,
    sigmas: tuple[float, float] = (0.3, 3.0),
    domain: Interval | None = None,
    seed: int = 0,
) -> Dataset:
    """Draw a crowd that measures numbers.

    Truths are spread evenly over the domain. A worker answers each task with probability `share`,
    independently; the answer is the truth plus normal noise, clipped to the domain. The noise of
    the first half of the workers has the smaller standard deviation, that of the others the larger.

    Parameters
    ----------
    tasks, workers : int
        At least 1.
    share : float
        Share of the tasks that a worker answers, above 0 and at most 1.
    sigmas : (float, float)
        Standard deviations of good and of bad workers, in the unit of the domain; at least 0.
    domain : Interval, optional
        Default: 0 to 10.
    seed : int
        Of the draw; the same seed gives the same crowd.

    Returns
    -------
    Dataset
        Ids of tasks and workers are whole numbers from 0.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range.

    Examples
    --------
    >>> sensor_crowd(tasks=5, workers=4).answers
    Answers(20 answers, 5 tasks, 4 workers, domain=Interval(low=0.0, high=10.0))
    """
    bounds = Interval(low=0, high=10) if domain is None else domain
    check_whole("tasks", tasks, 1)
    check_whole("workers", workers, 1)
    check_whole("seed", seed, 0)
    check_real("share", share, 0)
    _check_pair(sigmas)
    if not 0 < share <= 1:
        raise ParameterError(f"share must be above 0 and at most 1; got {share!r}")
    rng = np.random.default_rng(seed)
    truths = rng.uniform(bounds.low, bounds.high, tasks)
    sigma = np.where(np.arange(workers) < workers // 2, *sigmas)
    answers = truths + sigma[:, np.newaxis] * rng.normal(size=(workers, tasks))
    worker, task = np.nonzero(rng.random((workers, tasks)) < share)
    frame = pd.DataFrame(
        {
            "task": task,
            "worker": worker,
            "label": np.clip(answers[worker, task], bounds.low, bounds.high),
        }
    )
    return Dataset(
        name=f"sensors, {workers} x {tasks}, {share:.0%} answered (seed {seed})",
        answers=Answers.from_frame(frame, bounds, tasks=range(tasks), workers=range(workers)),
        truths=pa.table({"task": np.arange(tasks), "label": truths}),
        remark="drawn, not collected",
    )


def _check_pair(sigmas: Any) -> None:
    try:
        pair = [*sigmas]
    except TypeError:
        pair = []
    if len(pair) != 2 or isinstance(sigmas, str | bytes):
        raise ParameterError(
            f"sigmas must be two numbers, of good and of bad workers, as (0.3, 3.0); got {sigmas!r}"
        )
    for deviation in pair:
        check_real("each of sigmas", plain(deviation), 0)
