"""Section III-C of H. Sun et al., IEEE Big Data 2018: a task profile drawn, or learnt from answers.

Matrix factorisation with missing answers read as 0, in floats, for this comparison alone: the
profile that is learnt is made of the very answers that are to be hidden, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.evaluation.metrics import correlation, mean_absolute_error
from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile
from quietcrowd.mechanisms.factor_solve import ridge_solve
from quietcrowd.mechanisms.taskwise import dense_table
from quietcrowd.report_domains import Reals
from quietcrowd_research.sun2018.mechanisms import METHODS, RIDGE

PROFILES = ("drawn", "learnt")

Floats = npt.NDArray[np.float64]


def task_profiles(
    crowds: Sequence[Dataset], *, epsilons: Sequence[float], ranks: Sequence[int], seed: int
) -> pd.DataFrame:
    """Infer numbers from matrix factorisation with drawn and with learnt task profiles.

    Parameters
    ----------
    crowds : sequence of Dataset
        A trial each; at least 2.
    epsilons : sequence of float
        Of the noise, whose scale is the width of the domain over epsilon.
    ranks : sequence of int
        Numbers per task.
    seed : int
        Of the noise.

    Returns
    -------
    pandas.DataFrame
        A row per epsilon, rank and one of `PROFILES`: ``claimed_epsilon``, ``rank``, ``profile``,
        ``change`` (of the mean absolute error of Algorithm 1, from the plain answers),
        ``constant`` (what the best constant guess changes), ``correlation`` and ``trials``; of each
        score its standard error, ``_se``.
    """
    rows = []
    for trial, crowd in enumerate(crowds):
        answers, truths = crowd.answers.canonical, crowd.truths
        method = METHODS["weighted-mean"]
        plain = mean_absolute_error(method.fit(answers, n_jobs=1), truths)
        constant = _constant_error(truths) - plain
        cells = _cells(answers)
        rng = np.random.default_rng(np.random.SeedSequence((seed, trial)))
        for rank in ranks:
            drawn = TaskProfile(rank=rank, kind="gaussian", seed=0).matrix(answers.tasks) / UNIT
            profiles = (drawn, learnt_profile(cells, rank))
            for epsilon in epsilons:
                noise = rng.laplace(scale=_width(answers) / epsilon, size=(len(cells), rank))
                for name, profile in zip(PROFILES, profiles, strict=True):
                    predicted = _predictions(cells, profile, noise)
                    found = method.fit(dense_table(answers, Reals(), predicted), n_jobs=1)
                    rows.append(
                        {
                            "claimed_epsilon": epsilon,
                            "rank": rank,
                            "profile": name,
                            "change": mean_absolute_error(found, truths) - plain,
                            "constant": constant,
                            "correlation": correlation(found, truths),
                        }
                    )
    return _means(pd.DataFrame(rows), len(crowds))


def learnt_profile(cells: Floats, rank: int) -> Floats:
    """Return the best profile of all answers, shape (tasks, rank): their right singular vectors.

    Each is as long as its singular value says; then all are scaled alike, so that no task has a
    1-norm above 1, which is what the noise is made for.
    """
    _, values, vectors = np.linalg.svd(cells, full_matrices=False)
    profile = vectors[:rank].T * values[:rank]
    return np.asarray(profile / np.abs(profile).sum(axis=1).max(), np.float64)


def _cells(answers: Answers) -> Floats:
    """Return the answers, shape (workers, tasks), with 0 where there is none."""
    cells = np.zeros((len(answers.workers), len(answers.tasks)))
    cells[answers.worker_codes, answers.task_codes] = _numbers(answers)
    return cells


def _numbers(answers: Answers) -> Floats:
    domain: Any = answers.domain
    return np.asarray(domain.numbers(answers.values), np.float64)


def _width(answers: Answers) -> float:
    domain: Any = answers.domain
    return float(domain.high - domain.low)


def _predictions(cells: Floats, profile: Floats, noise: Floats) -> Floats:
    """Return what the noisy profiles of the workers predict, shape (tasks, workers)."""
    solved = ridge_solve((profile.T @ profile)[np.newaxis], cells @ profile + noise, RIDGE)
    return np.ascontiguousarray(profile @ solved.T)


def _constant_error(truths: Any) -> float:
    known = np.asarray(truths.column("label").to_pylist(), np.float64)
    return float(np.abs(known - np.median(known)).mean())


def _means(frame: pd.DataFrame, trials: int) -> pd.DataFrame:
    groups = frame.groupby(["claimed_epsilon", "rank", "profile"], sort=False)
    errors = (groups.std(ddof=1) / np.sqrt(trials)).add_suffix("_se")
    found: pd.DataFrame = pd.concat([groups.mean(), errors], axis=1).reset_index()
    return found.assign(trials=trials)
