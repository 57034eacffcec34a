"""How long methods take on reports, against a method on the plain answers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.mechanisms.mechanism import Mechanism

REPEATS = 3
"""A fit is repeated, and the shortest time counts."""


def fit_times(
    dataset: Dataset,
    *,
    methods: Mapping[str, FittingMethod],
    plain: FittingMethod,
    mechanisms: Mapping[float, Mechanism],
    trials: int,
    seed: int,
) -> pd.DataFrame:
    """Measure fits to reports by one thread, in processor time, as multiples of a plain fit.

    Parameters
    ----------
    dataset : Dataset
        Whose answers are randomised.
    methods : mapping of str to method
        Of the reports.
    plain : method
        Of the plain answers; it is timed beside each of the others, so that whatever else the
        machine does meets both.
    mechanisms : mapping of float to Mechanism
        By the epsilon that is claimed.
    trials : int
        Randomisations, at least 2; each fit is repeated, and the shortest counts.
    seed : int
        Of the noise.

    Returns
    -------
    pandas.DataFrame
        A row per epsilon and method: ``claimed_epsilon``, ``method``, ``times_plain``,
        ``times_plain_se``, ``iterations`` (mean), ``plain_iterations``, ``trials``.
    """
    answers = dataset.answers.canonical
    rng = np.random.default_rng(seed)
    still = plain.fit(answers, n_jobs=1)
    rows = []
    for epsilon, mechanism in mechanisms.items():
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in methods}
        for _ in range(trials):
            reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
            for name, method in methods.items():
                ours, n_iter = _seconds(method, reports)
                theirs, _ = _seconds(plain, answers)
                found[name].append((ours / theirs, n_iter))
        for name, measured in found.items():
            ratios, iterations_of = np.array(measured).T
            rows.append(
                {
                    "claimed_epsilon": epsilon,
                    "method": name,
                    "times_plain": float(ratios.mean()),
                    "times_plain_se": float(ratios.std(ddof=1) / math.sqrt(trials)),
                    "iterations": float(iterations_of.mean()),
                    "plain_iterations": still.n_iter,
                    "trials": trials,
                }
            )
    return pd.DataFrame(rows)


def _seconds(method: FittingMethod, data: Any) -> tuple[float, int]:
    """Return the shortest processor time of a fit, and its iterations."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        for _ in range(REPEATS):
            begin = process_time()
            estimate = method.fit(data, n_jobs=1)
            times.append(process_time() - begin)
    return min(times), estimate.n_iter
