"""Theorems 1 and 2 of Huai et al., IJCAI 2019, as claimed, on a drawn crowd.

Neither holds as stated: ``research/docs/theory/crowd-densities.md`` and
``research/docs/theory/pris-crowd.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.kde import KernelDensities
from quietcrowd.synthesis.loss import claimed_release_loss
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import Weighting
from quietcrowd_research.figure import Figure, TablePart
from quietcrowd_research.huai2019.crowds import (
    CLAIMS,
    DRAWN,
    GAMMA,
    LEAST_USERS,
    SMALL,
    Crowd,
)
from quietcrowd_research.huai2019.density_errors import (
    claimed_theorem_1_bound,
    integrated_squared_errors,
    theorem_1_bound,
)

EPSILON0 = 1.0
WEIGHTINGS: tuple[Weighting, ...] = ("uniform", "global", "combined", "printed")

REACH = 7.0
"""Bandwidths: what of a normal kernel lies farther off is less than 10^-11."""

STEEPEST = 0.25
"""The slope of a normal kernel is at most exp(-1/2) / sqrt(2 pi) = 0.242 over its squared width."""


def _method(crowd: Crowd, weights: Weighting) -> PrisCrowd:
    return PrisCrowd(
        release="paper",
        epsilon0=EPSILON0,
        bandwidth=crowd.bandwidth,
        claims=CLAIMS,
        gamma=GAMMA,
        k=LEAST_USERS,
        weights=weights,
    )


def _pairs(crowd: Crowd, trials: int, seed: int, _: bool) -> pd.DataFrame:
    """Return the worst epsilon and delta over the tasks that Theorem 2 claims, for each t."""
    rows: list[dict[str, Any]] = []
    datasets = crowd.datasets(trials, seed)
    for weights in WEIGHTINGS:
        found: dict[int, list[tuple[float, float]]] = {t: [] for t in range(1, LEAST_USERS)}
        for dataset in datasets:
            density = _method(crowd, weights).fit(dataset.answers)
            for t, pairs in found.items():
                pairs.append(_worst_pair(density, t))
        for t, pairs in found.items():
            epsilon, delta = np.array(pairs).T
            rows.append(
                {
                    "weights": weights,
                    "t": t,
                    "claimed_epsilon": float(epsilon.mean()),
                    "claimed_epsilon_se": _error(epsilon),
                    "claimed_delta": float(delta.mean()),
                    "claimed_delta_se": _error(delta),
                }
            )
    return pd.DataFrame(rows)


def _worst_pair(density: CrowdDensity, t: int) -> tuple[float, float]:
    weights, offsets = density.claim_weights(), density.claims.offsets
    pairs = [
        claimed_release_loss(
            weights[slice(*offsets[task : task + 2])],
            epsilon0=EPSILON0,
            gamma=GAMMA,
            k=LEAST_USERS,
            threshold=t,
        )
        for task in np.flatnonzero(density.released)
    ]
    return max(epsilon for epsilon, _ in pairs), max(delta for _, delta in pairs)


def _error(values: Any) -> float:
    """Return the standard error of a mean; 0 where all are infinite."""
    if np.isinf(values).any():
        return 0.0
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _error_bounds(crowd: Crowd, trials: int, seed: int, _: bool) -> pd.DataFrame:
    """Return the mean integrated squared error of a task's release, and the bounds of Theorem 1."""
    rows = []
    datasets = crowd.datasets(trials, seed)
    for weights in WEIGHTINGS:
        errors, claimed, valid = [], [], []
        for trial, dataset in enumerate(datasets):
            density = _method(crowd, weights).fit(dataset.answers)
            released = density.release(random_state=seed + trial)
            of_raw = density.densities()
            found = released.densities(density.bandwidths)
            errors.append(integrated_squared_errors(of_raw, found, n_jobs=1).mean())
            bounds = np.array([_both(of_raw, density, task) for task in range(of_raw.tasks)])
            claimed.append(bounds[:, 0].mean())
            valid.append(bounds[:, 1].mean())
        rows.append(
            {
                "weights": weights,
                "ISE": float(np.mean(errors)),
                "ISE_se": _error(np.array(errors)),
                "bound_as_published": float(np.mean(claimed)),
                "bound_of_draws": float(np.mean(valid)),
            }
        )
    return pd.DataFrame(rows)


def _both(of_raw: KernelDensities, density: CrowdDensity, task: int) -> tuple[float, float]:
    """Return the published bound and ours for one task."""
    own = slice(*of_raw.offsets[task : task + 2])
    width = float(density.bandwidths[task])
    points = of_raw.points[own]
    setting: dict[str, Any] = {
        "slope": STEEPEST / width**2 * float(of_raw.weights[own].sum()),
        "bandwidth": width,
        "draws": CLAIMS,
        "kernel": density.method.blur.kernel,
        "support": float(np.ptp(points)) + 2 * REACH * width,
    }
    return claimed_theorem_1_bound(**setting), theorem_1_bound(**setting)


def _of(measure: Any, crowds: Sequence[Crowd], trials: int, seed: int) -> list[TablePart]:
    return [
        TablePart(columns={"dataset": crowd.name}, measure=partial(measure, crowd, trials, seed))
        for crowd in crowds
    ]


def _table(title: str, measure: Any, scores: tuple[str, ...]) -> Figure:
    return Figure(
        title=title,
        lines="table",
        scores=scores,
        parts=partial(_of, measure, DRAWN),
        quick=partial(_of, measure, (SMALL,)),
    )


THEOREMS = MappingProxyType(
    {
        "huai2019-theorem-1": _table(
            "Huai et al. 2019, Theorem 1: error of a release about one task",
            _error_bounds,
            ("ISE",),
        ),
        "huai2019-theorem-2": _table(
            "Huai et al. 2019, Theorem 2: what is claimed of one released claim",
            _pairs,
            ("claimed_epsilon", "claimed_delta"),
        ),
    }
)
"""The tables by their names on the command line."""
