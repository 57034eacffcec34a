"""Truth discovery of Li et al., KDD 2018, on plain answers, by the weight that is chosen.

Equation 3 takes any increasing function g of a user's accuracy. Section 6.2.1 has the log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import check_finite
from quietcrowd.gold import MatchedTruths

Floats: TypeAlias = npt.NDArray[np.float64]

MOST_PASSES = 1000
TIE = 1e-9
FLOOR = 1e-3
"""Nearest that an accuracy comes to 0 and 1 under the log-odds."""


def _log_odds(p: Floats) -> Floats:
    bounded = np.clip(p, FLOOR, 1 - FLOOR)
    return np.log(bounded / (1 - bounded))


WEIGHTS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "log(p / (1 - p))": _log_odds,
        "2 p - 1": lambda p: 2 * p - 1,
        "p^2": np.square,
        "p^3": lambda p: p**3,
        "p": lambda p: p,
        "exp(5 p)": lambda p: np.exp(5 * p),
        "p^4": lambda p: p**4,
        "max(2 p - 1, 0)": lambda p: np.maximum(2 * p - 1, 0.0),
    }
)
"""Increasing functions g of a user's accuracy p; the last one is flat below 1/2."""


def clean_accuracies(dataset: Dataset) -> pd.DataFrame:
    """Return the accuracy of truths found without noise, by g.

    A tie of labels counts as the fraction of them that is right.

    Parameters
    ----------
    dataset : Dataset
        With answers that are labels, and known truths.

    Returns
    -------
    pandas.DataFrame
        A row per function: ``weight``, ``right`` (known truths that are found), ``accuracy``.
    """
    answers = dataset.answers.canonical
    domain = check_finite(answers.domain, "clean_accuracies")
    known = MatchedTruths(answers.tasks, dataset.truths)
    truths = known.codes(domain)
    found = []
    for name, weight in WEIGHTS.items():
        shares = _discover(answers, domain.size, weight)
        right = float(shares[known.tasks, truths].sum())
        found.append({"weight": name, "right": right, "accuracy": right / len(truths)})
    return pd.DataFrame(found)


def _discover(answers: Answers, labels: int, weight: Callable[[Floats], Floats]) -> Floats:
    """Return the fraction of each truth that each label has."""
    counts = answers.answers_per_worker
    weights = np.ones(len(answers.workers))
    shares = np.zeros((len(answers.tasks), labels))
    for _ in range(MOST_PASSES):
        votes = np.zeros_like(shares)
        np.add.at(votes, (answers.task_codes, answers.values), weights[answers.worker_codes])
        most = votes >= votes.max(axis=1, keepdims=True) - TIE
        before, shares = shares, most / most.sum(axis=1, keepdims=True)
        if np.array_equal(before, shares):
            break
        agree = shares[answers.task_codes, answers.values]
        right = np.bincount(answers.worker_codes, agree, len(counts))
        weights = weight(right / counts)
    return shares
