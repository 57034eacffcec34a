"""Crowds whose claims follow a known density: normal of reliable workers, even of the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_real, check_whole

__all__ = ["opinion_crowd"]

MIDDLES = (0.0, 10.0)
"""The opinions about a task lie around a middle between these."""

SPREADS = 8.0
"""A normal claim is no farther from its middle than so many standard deviations."""


def opinion_crowd(
    *,
    tasks: int = 300,
    workers: int = 20,
    unreliable: float = 0.5,
    spread: float = 1.0,
    reach: float = 15.0,
    seed: int = 0,
) -> Dataset:
    """Draw a crowd whose reliable workers claim what a normal density says.

    The middles mu of the tasks are even on 0 to 10 and are the known truths. All workers make a
    claim about every task: a reliable one from ``N(mu, spread^2)``, an unreliable one from
    anywhere between ``mu - reach`` and ``mu + reach``. A worker is reliable on all tasks or on
    none; the last ones are not. The public range is wide enough for all claims.

    Parameters
    ----------
    tasks, workers : int
        At least 1.
    unreliable : float
        Share of the workers that is unreliable, 0 to 1, rounded to whole workers.
    spread : float
        Standard deviation of reliable claims, above 0, in the unit of the claims.
    reach : float
        How far an unreliable claim is from the middle at most, above 0, in the same unit.
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
    >>> opinion_crowd(tasks=5, workers=4).answers
    Answers(20 answers, 5 tasks, 4 workers, domain=Interval(low=-15.0, high=25.0))
    """
    check_whole("tasks", tasks, 1)
    check_whole("workers", workers, 1)
    check_whole("seed", seed, 0)
    check_real("unreliable", unreliable, 0)
    if unreliable > 1:
        raise ParameterError(f"unreliable must be 0 to 1; got {unreliable!r}")
    for name, length in (("spread", spread), ("reach", reach)):
        check_real(name, length, 0)
        if length == 0:
            raise ParameterError(f"{name} must be above 0; got {length!r}")
    rng = np.random.default_rng(seed)
    middles = rng.uniform(*MIDDLES, tasks)
    normal = np.clip(rng.normal(size=(workers, tasks)), -SPREADS, SPREADS) * spread
    even = rng.uniform(-reach, reach, (workers, tasks))
    reliable = np.arange(workers) < workers - round(unreliable * workers)
    claims = middles + np.where(reliable[:, np.newaxis], normal, even)
    worker, task = np.indices(claims.shape)
    frame = pd.DataFrame({"task": task.ravel(), "worker": worker.ravel(), "label": claims.ravel()})
    widest = max(reach, SPREADS * spread)
    public = Interval(low=MIDDLES[0] - widest, high=MIDDLES[1] + widest)
    return Dataset(
        name=f"opinions, {workers} x {tasks}, {unreliable:.0%} unreliable (seed {seed})",
        answers=Answers.from_frame(frame, public, tasks=range(tasks), workers=range(workers)),
        truths=pa.table({"task": np.arange(tasks), "label": middles}),
        remark="drawn, not collected",
    )
