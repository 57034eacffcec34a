"""How long synthetic claims take, with and without their privacy test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.evaluation.density_experiment import fitted
from quietcrowd.evaluation.density_methods import drawn_claims
from quietcrowd.synthesis.pris_crowd import PrisCrowd

__all__ = ["release_times"]

REPEATS = 3
"""A release is repeated with the same randomness, and the shortest time counts."""


def release_times(
    dataset: Dataset,
    *,
    bandwidth: float,
    epsilon0: float,
    claims: Sequence[int],
    trials: int,
    seed: int,
) -> pd.DataFrame:
    """Measure releases as printed, and draws from the same densities without a test.

    The densities are learnt beforehand. Without the test, claims are drawn by NumPy, all at once;
    with it, a compiled loop makes the attempts, one after the other, until enough have passed.

    Parameters
    ----------
    dataset : Dataset
        Whose claims are synthesised.
    bandwidth, epsilon0 : float
        As of `PrisCrowd`.
    claims : sequence of int
        Numbers of synthetic claims per task.
    trials : int
        Releases of each number, at least 2.
    seed : int
        Of the releases.

    Returns
    -------
    pandas.DataFrame
        A row per number and method: ``method``, ``claims``, ``tasks``, ``milliseconds``,
        ``milliseconds_se``,
        ``trials``. Of each release, repeated alike, the shortest time counts.
    """
    densities = fitted(dataset, bandwidth).densities("combined")
    rows = []
    for number in claims:
        method = PrisCrowd(release="paper", epsilon0=epsilon0, bandwidth=bandwidth, claims=number)
        crowd = method.fit(dataset.answers)
        crowd.release(np.random.default_rng(seed))  # compiles, and fills caches
        releases: dict[str, Callable[[np.random.Generator], Any]] = {
            "with the test": crowd.release,
            "without the test": lambda rng, number=number: drawn_claims(densities, number, rng),  # type: ignore[misc]
        }
        for name, release in releases.items():
            times = 1e3 * np.array([_seconds(release, seed + trial) for trial in range(trials)])
            rows.append(
                {
                    "method": name,
                    "claims": number,
                    "tasks": densities.tasks,
                    "milliseconds": float(times.mean()),
                    "milliseconds_se": float(times.std(ddof=1) / math.sqrt(trials)),
                    "trials": trials,
                }
            )
    return pd.DataFrame(rows)


def _seconds(release: Callable[[np.random.Generator], Any], seed: int) -> float:
    """Return how long a release takes: the shortest of some that are alike."""
    shortest = math.inf
    for _ in range(REPEATS):
        rng = np.random.default_rng(seed)
        begin = perf_counter()
        release(rng)
        shortest = min(shortest, perf_counter() - begin)
    return shortest
