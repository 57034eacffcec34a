"""Crowds of numeric answers, of which most are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Label, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_real, check_whole

__all__ = ["Truths", "sparse_crowd"]

Truths: TypeAlias = Literal["normal", "uniform"]


def sparse_crowd(
    *,
    tasks: int = 200,
    workers: int = 2_000,
    sparsity: float = 0.9,
    truths: Truths = "normal",
    clip_truths: bool = False,
    levels: Sequence[Label] = tuple(range(10)),
    sigmas: tuple[float, float] = (1.0, 5.0),
    seed: int = 0,
) -> Dataset:
    """Draw a crowd in which each worker answers a small part of the tasks.

    A worker answers each task with probability ``1 - sparsity``, independently. The answer is the
    truth plus normal noise, rounded to the nearest level. The noise of one half of the workers,
    drawn, has the smaller standard deviation, that of the others the larger one.

    Parameters
    ----------
    tasks, workers : int
        At least 1.
    sparsity : float
        Share of answers that are missing, from 0 to 1.
    truths : {"normal", "uniform"}
        Truths of mean 0 and variance 1, as in the paper: half of them lie below all levels 0 to
        9, and a constant guess is hard to beat. Or spread over the whole domain, where it is
        useless.
    clip_truths : bool
        Whether truths are clipped to the domain before answers are drawn around them. The paper
        does not say.
    levels : sequence of numbers
        At least two, increasing.
    sigmas : (float, float)
        Standard deviations of good and of bad workers.
    seed : int
        Of the draw; the same seed gives the same crowd.

    Returns
    -------
    Dataset
        Ids of tasks and workers are whole numbers from 0. Memory grows with the answers alone.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, section VI-A.
    """
    domain = Ordinal(levels)
    check_whole("tasks", tasks, 1)
    check_whole("workers", workers, 1)
    check_whole("seed", seed, 0)
    check_real("sparsity", sparsity, 0)
    for deviation in sigmas:
        check_real("sigmas", deviation, 0)
    if sparsity > 1 or domain.size < 2:
        raise ParameterError(
            "sparsity must be at most 1, and levels at least two; "
            f"got sparsity={sparsity!r}, {domain.size} levels"
        )
    if truths not in get_args(Truths):
        raise ParameterError(f"truths must be 'normal' or 'uniform'; got {truths!r}")
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 1, tasks) if truths == "normal" else rng.uniform(*_bounds(domain), tasks)
    if clip_truths:
        true = np.clip(true, *_bounds(domain))
    sigma = np.where(rng.permutation(workers) < workers // 2, *sigmas)
    who = [_participants(rng, workers, 1 - sparsity) for _ in range(tasks)]
    values = [
        _nearest(domain, mean + sigma[codes] * rng.standard_normal(len(codes)))
        for mean, codes in zip(true, who, strict=True)
    ]
    return Dataset(
        name=f"sparse crowd, sparsity {sparsity:g}, {truths} truths (seed {seed})",
        answers=Answers(
            domain=domain,
            tasks=pa.array(np.arange(tasks)),
            workers=pa.array(np.arange(workers)),
            offsets=np.concatenate([[0], np.cumsum([len(codes) for codes in who])]),
            worker_codes=np.concatenate(who),
            values=np.concatenate(values),
        ),
        truths=pa.table({"task": np.arange(tasks), "label": true}),
        remark="drawn, not collected",
    )


def _bounds(domain: Ordinal) -> tuple[float, float]:
    return domain.low, domain.high


def _participants(rng: np.random.Generator, workers: int, share: float) -> npt.NDArray[np.int32]:
    """Return who answers a task, sorted."""
    count = int(rng.binomial(workers, share))
    drawn = rng.choice(workers, count, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int32)


def _nearest(domain: Ordinal, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.unsignedinteger]:
    """Return the codes of the nearest levels."""
    levels = np.array(domain.levels, np.float64)
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, numbers).astype(domain.dtype)
