"""Two sentences of Huai et al., IJCAI 2019, as tables: what k and gamma do, and who weighs little.

Section 4.3 says what the parameters of the privacy test do; the case study of section 5 that
outliers come from users of low weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.synthesis.attempt import TOTAL, PrivacyTest
from quietcrowd.synthesis.attempt_loss import Attempt
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import Weighting
from quietcrowd_research.figure import Figure, TablePart
from quietcrowd_research.huai2019.crowds import DRAWN, SMALL, Crowd
from quietcrowd_research.means import tell_means

KS = (2, 3, 5, 8, 12, 20)
GAMMAS = (1.5, 2.0, 4.0, 8.0)
CLAIMS = (20, 100)
EPSILON0 = 1.0
EPSILON = 2.0
"""The delta of an attempt is reported at this epsilon.

It is above `EPSILON0`, which the noisy threshold alone can lose.
"""

FAR = 3.0
"""A claim farther than so many bandwidths from the middle of the true density is an outlier."""

MOSTLY = 0.5
"""A user with a larger part of outliers is unreliable: in drawn crowds .8 of them are, or none."""

WEIGHTINGS: tuple[Weighting, ...] = ("combined", "global", "local")


def attempt_delta(k: int, gamma: float, claims: int) -> float:
    """Return the exact delta of one attempt with equal weights, at `EPSILON`."""
    test = PrivacyTest(k=k, epsilon0=EPSILON0)
    even = Fraction(1, claims)
    attempt = Attempt(
        passes=[int(weight) for weight in test.weights],
        total=TOTAL,
        gamma=Fraction(gamma),
        most=even,
        least=even,
        claims=claims,
    )
    return attempt.delta(EPSILON)


def _deltas(gammas: Sequence[float], claims: int, _: bool) -> pd.DataFrame:
    rows = [
        {"gamma": gamma, **{f"k_{k}": attempt_delta(k, gamma, claims) for k in KS}}
        for gamma in gammas
    ]
    return pd.DataFrame(rows).assign(**{f"k_{k}_se": 0.0 for k in KS})


def _delta_parts(_: int, __: int) -> list[TablePart]:
    return [
        TablePart(columns={"claims": f"{claims}"}, measure=partial(_deltas, GAMMAS, claims))
        for claims in CLAIMS
    ]


def _mean_weights(crowd: Crowd, trials: int, seed: int, _: bool) -> pd.DataFrame:
    """Return mean weights of claims, times their number in the task: 1 where all are equal."""
    found = np.array(
        [_weights(crowd, dataset) for dataset in crowd.datasets(trials, seed)]
    )  # trials x weightings x kinds
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(trials)
    rows = [
        {
            "weights": kind,
            **dict(zip(KINDS, means[row], strict=True)),
            **{f"{name}_se": value for name, value in zip(KINDS, errors[row], strict=True)},
        }
        for row, kind in enumerate(WEIGHTINGS)
    ]
    return pd.DataFrame(rows).assign(trials=trials)


KINDS = ("near", "outlier", "reliable", "unreliable", "of_low_users")
"""Mean weights of claims near and far from the truth, of reliable and unreliable users; and the
part of the outliers that come from users whose mean weight is below the average."""


def _weights(crowd: Crowd, dataset: Dataset) -> list[list[float]]:
    method = PrisCrowd(release="paper", epsilon0=EPSILON0, bandwidth=crowd.bandwidth)
    density = method.fit(dataset.answers)
    claims = density.claims
    truths = dict(
        zip(
            dataset.truths.column("task").to_pylist(),
            np.asarray(dataset.truths.column("label").to_pylist(), np.float64),
            strict=True,
        )
    )
    middle = np.array([truths[task] for task in claims.tasks.to_pylist()])
    far = np.abs(density.values - middle[claims.task_codes]) > FAR * crowd.bandwidth
    answered = np.bincount(claims.worker_codes)
    reliable = np.bincount(claims.worker_codes, far) / answered < MOSTLY
    counts = np.diff(claims.offsets)[claims.task_codes]
    rows = []
    for kind in WEIGHTINGS:
        weights = density.claim_weights(kind) * counts
        of_user = np.bincount(claims.worker_codes, weights) / answered
        low = (of_user < 1.0)[claims.worker_codes]
        of_reliable = reliable[claims.worker_codes]
        rows.append(
            [
                float(weights[~far].mean()),
                float(weights[far].mean()),
                float(weights[of_reliable].mean()),
                float(weights[~of_reliable].mean()),
                float(low[far].mean()),
            ]
        )
    return rows


def _weight_parts(crowds: Sequence[Crowd], trials: int, seed: int) -> list[TablePart]:
    return [
        TablePart(
            columns={"dataset": crowd.name}, measure=partial(_mean_weights, crowd, trials, seed)
        )
        for crowd in crowds
    ]


WEIGHTS = MappingProxyType(
    {
        "huai2019-test": Figure(
            title="Huai et al. 2019, Section 4.3: delta of an attempt at epsilon 2, by k",
            lines="table",
            scores=tuple(f"k_{k}" for k in KS),
            parts=_delta_parts,
            quick=_delta_parts,
        ),
        "huai2019-3-weights": Figure(
            title="Huai et al. 2019, Figure 3: mean weights of outliers and of unreliable users",
            lines="table",
            scores=KINDS,
            parts=partial(_weight_parts, DRAWN),
            quick=partial(_weight_parts, (SMALL,)),
            tell=tell_means,
        ),
    }
)
"""The tables by their names on the command line."""
