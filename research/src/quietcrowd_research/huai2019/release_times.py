"""How long synthetic claims take, with and without their privacy test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd_research.huai2019.density_methods import drawn_claims

REPEATS = 5
"""A release is repeated with the same randomness, and the shortest time counts."""

Release: TypeAlias = Callable[..., Any]


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
        Releases of each number, at least 2; each is repeated alike, and the shortest counts.
    seed : int
        Of the releases.

    Returns
    -------
    pandas.DataFrame
        A row per number and method: ``method``, ``claims``, ``tasks``, ``milliseconds`` of
        processor time, ``milliseconds_se``, ``trials``.
    """
    releases = {
        (name, number): release
        for number in claims
        for name, release in _releases(dataset, bandwidth, epsilon0, number).items()
    }
    for release in releases.values():
        release(random_state=np.random.default_rng(seed))  # fills caches
    # All sizes in turn: whatever else the machine does meets all of them.
    times = np.array(
        [
            [_milliseconds(release, seed + trial) for release in releases.values()]
            for trial in range(trials)
            for _ in range(REPEATS)
        ]
    )
    shortest = times.reshape(trials, REPEATS, len(releases)).min(axis=1)
    frame = pd.DataFrame([*releases], columns=["method", "claims"])
    return frame.assign(
        tasks=len(dataset.answers.tasks),
        milliseconds=shortest.mean(axis=0),
        milliseconds_se=shortest.std(axis=0, ddof=1) / math.sqrt(trials),
        trials=trials,
    )


def _releases(
    dataset: Dataset, bandwidth: float, epsilon0: float, claims: int
) -> dict[str, Release]:
    """Return a release as printed, and draws without a test."""
    method = PrisCrowd(release="paper", epsilon0=epsilon0, bandwidth=bandwidth, claims=claims)
    crowd = method.fit(dataset.answers)
    densities = crowd.densities("combined")

    def draw(*, random_state: np.random.Generator) -> Any:
        return drawn_claims(densities, claims, random_state)

    return {"with the test": crowd.release, "without the test": draw}


def _milliseconds(release: Release, seed: int) -> float:
    """Return the processor time that a release takes."""
    rng = np.random.default_rng(seed)
    begin = process_time()
    release(random_state=rng)
    return 1e3 * (process_time() - begin)
