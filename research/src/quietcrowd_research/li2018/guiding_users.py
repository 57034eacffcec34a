"""Section 6.3 of Li et al., KDD 2018: whether users who drew a small p guide the result.

One set of reports, and votes by several weights of the same users: even ones, those of truth
discovery, those of the plain answers, and those of truth discovery for a part of the users alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.inference.labels.voting import WeightedVote
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse
from quietcrowd_research.li2018.drawn_weights import BUSY, log_odds_weights

SMALL_FLIP = 0.1
"""Who drew less has a small flip probability."""

BEST = 10
"""So many users, of largest plain weight, are the good ones."""

WEIGHTINGS = ("even", "learnt", "plain", "small_learnt", "others_learnt")
"""Weights of a vote: all alike; of truth discovery on the reports; of truth discovery on the plain
answers; as learnt for users of a small flip probability and even for the others; and the other way
round. Where weights are even for a part, they are the mean of what was learnt of that part."""

Floats = npt.NDArray[np.float64]


def guiding_users(
    dataset: Dataset, *, epsilons: Sequence[float], trials: int, seed: int
) -> pd.DataFrame:
    """Perturb with two layers, and vote with several weights.

    Parameters
    ----------
    dataset : Dataset
        With two labels.
    epsilons : sequence of float
        What Theorem 6.3 claims.
    trials : int
        Draws of the mechanism, at least 2.
    seed : int
        Of the noise.

    Returns
    -------
    pandas.DataFrame
        A row per epsilon: ``claimed_epsilon``, ``small`` (the mean number of users of a small flip
        probability), an error rate for each of `WEIGHTINGS`, ``rank_correlation`` (by draws, of the
        error with weights as learnt and the least flip probability of the good users), ``trials``;
        of each score its standard error, ``_se``.
    """
    answers = dataset.answers.canonical
    truths = _truths(dataset, answers)
    method = WeightedVote()
    plain = log_odds_weights(answers, method)
    busy = answers.answers_per_worker >= BUSY
    best = np.argsort(np.where(busy, -plain, np.inf), kind="stable")[:BEST]
    rng = np.random.default_rng(np.random.SeedSequence((seed, len(answers))))
    rows = []
    for epsilon in epsilons:
        mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
            domain=answers.domain,
            epsilon=epsilon,
        )
        errors, least, small = np.empty((trials, len(WEIGHTINGS))), [], []
        for trial in range(trials):
            drawn = mechanism.draw_workers(len(answers.workers), rng)
            reports = mechanism.randomize_tasks(answers, drawn, rng).table
            flips = drawn[0] / TOTAL
            learnt = log_odds_weights(reports, method)
            low = flips < SMALL_FLIP
            weights = (np.ones(len(flips)), learnt, plain, _part(learnt, low), _part(learnt, ~low))
            errors[trial] = [_error(reports, each, truths) for each in weights]
            least.append(flips[best].min())
            small.append(int((low & busy).sum()))
        rows.append(
            {
                "claimed_epsilon": epsilon,
                "small": float(np.mean(small)),
                **dict(zip(WEIGHTINGS, errors.mean(axis=0), strict=True)),
                **_errors_of_means(errors),
                "rank_correlation": pd.Series(errors[:, 1]).rank().corr(pd.Series(least).rank()),
                "rank_correlation_se": 1 / np.sqrt(trials - 1),
            }
        )
    return pd.DataFrame(rows).assign(trials=trials)


def _errors_of_means(errors: Floats) -> dict[str, float]:
    deviations = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    return {f"{name}_se": each for name, each in zip(WEIGHTINGS, deviations, strict=True)}


def _truths(dataset: Dataset, answers: Answers) -> Floats:
    """Return -1 or 1 for the labels of the tasks, and NaN where none is known."""
    known = dict(
        zip(
            map(str, dataset.truths.column("task").to_pylist()),
            dataset.truths.column("label").to_pylist(),
            strict=True,
        )
    )
    domain: Any = answers.domain
    first = str(domain.labels[0])
    return np.array(
        [
            np.nan if task not in known else (-1.0 if str(known[task]) == first else 1.0)
            for task in map(str, answers.tasks.to_pylist())
        ]
    )


def _part(learnt: Floats, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Return weights as learnt where chosen, and their mean among the others."""
    rest = learnt[~chosen]
    return np.where(chosen, learnt, rest.mean() if len(rest) else 0.0)


def _error(reports: Answers, weights: Floats, truths: Floats) -> float:
    """Return the error rate of a weighted vote; a tie counts one half."""
    votes = np.where(reports.values == 0, -1.0, 1.0) * weights[reports.worker_codes]
    sums = np.bincount(reports.task_codes, votes, minlength=len(truths))
    known = ~np.isnan(truths)
    right = np.sign(sums[known]) * truths[known]
    return float(np.mean((1 - right) / 2))
