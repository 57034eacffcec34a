"""Small crowds, mechanisms and methods: made of whole numbers, and so the same everywhere."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

import quietcrowd as qc
from quietcrowd.inference import CATD, CRH, GTM, MOON, KDEm, RatioMean, WeightedMean
from quietcrowd.mechanisms import MatrixFactorization, Mechanism, TwoLayerRandomizedResponse

TWO = qc.Categorical(["no", "yes"])
THREE = qc.Categorical(["no", "perhaps", "yes"])
FIVE = qc.Categorical(["a", "b", "c", "d", "e"])
LEVELS = qc.Ordinal(range(5))
RANGE = qc.Interval(low=0.0, high=10.0)
DOMAINS = {"two": TWO, "three": THREE, "five": FIVE, "levels": LEVELS, "numbers": RANGE}

SEED = 20_180_819


def draw_rows(domain, *, tasks: int, workers: int, share: float, seed: int) -> pd.DataFrame:
    """Return answers of workers who are more or less good, and the column ``truth``."""
    rng = np.random.default_rng(seed)
    labels = getattr(domain, "labels", None)
    truths = rng.integers(0, 640 if labels is None else len(labels), tasks)
    faults = rng.integers(1, 6, workers)
    rows = []
    for task in range(tasks):
        for worker in range(workers):
            given, fault = rng.random() < share, rng.integers(0, 10) < faults[worker]
            other, off = rng.integers(0, 640), rng.integers(-40, 41)
            if not given and worker != task % workers:
                continue
            if labels is None:
                place = truths[task] + off * faults[worker]
                answer, truth = float(np.clip(place, 0, 640)) / 64, truths[task] / 64
            else:
                answer = labels[other % len(labels) if fault else truths[task]]
                truth = labels[truths[task]]
            rows.append((f"t{task:02d}", f"w{worker:02d}", answer, truth))
    return pd.DataFrame(rows, columns=["task", "worker", "label", "truth"])


SIZES = {
    **{name: {"tasks": 12, "workers": 7, "share": 0.6} for name in DOMAINS},
    "sparse": {"tasks": 30, "workers": 14, "share": 0.12},
    "sparse-numbers": {"tasks": 30, "workers": 14, "share": 0.12},
    "few": {"tasks": 5, "workers": 4, "share": 0.7},
}
OF_CROWD = {**DOMAINS, "sparse": THREE, "sparse-numbers": RANGE, "few": THREE}
LABEL_CROWDS = ("two", "three", "five", "levels", "sparse")
NUMBER_CROWDS = ("levels", "numbers", "sparse-numbers")


@cache
def rows_of(crowd: str) -> pd.DataFrame:
    """Return the rows of a crowd."""
    return draw_rows(OF_CROWD[crowd], **SIZES[crowd], seed=SEED + list(SIZES).index(crowd))


@cache
def answers_of(crowd: str) -> qc.Answers:
    """Return the answers of a crowd."""
    return qc.Answers.from_frame(rows_of(crowd).drop(columns="truth"), OF_CROWD[crowd])


def known_of(crowd: str, count: int = 3) -> pd.DataFrame:
    """Return the truths of the first tasks of a crowd."""
    truths = rows_of(crowd).drop_duplicates("task")[["task", "truth"]]
    return truths.rename(columns={"truth": "label"}).head(count).reset_index(drop=True)


MECHANISMS: Mapping[str, Mechanism] = {
    "one-layer": qc.RandomizedResponse(domain=TWO, epsilon=1.0),
    "one-layer-three": qc.RandomizedResponse(domain=THREE, epsilon=2.0),
    "one-layer-flip": qc.RandomizedResponse(domain=FIVE, flip_probability=0.25),
    "one-layer-levels": qc.RandomizedResponse(domain=LEVELS, epsilon=1.5),
    "one-layer-null": qc.RandomizedResponse(domain=THREE, epsilon=2.0, missing="category"),
    "two-layer": TwoLayerRandomizedResponse(domain=THREE, low=0.05, high=0.4),
    "two-layer-claimed": TwoLayerRandomizedResponse.from_claimed_epsilon(domain=TWO, epsilon=1.0),
    "two-layer-epsilon": TwoLayerRandomizedResponse(
        domain=THREE, epsilon=1.0, distribution="epsilon"
    ),
    "two-layer-null": TwoLayerRandomizedResponse(
        domain=THREE, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    "laplace": qc.LaplaceMechanism(domain=RANGE, epsilon=4.0, fill=None),
    "laplace-filled": qc.LaplaceMechanism(domain=LEVELS, epsilon=4.0),
    "laplace-midpoint": qc.LaplaceMechanism(domain=RANGE, epsilon=4.0, fill="midpoint"),
    "laplace-number": qc.LaplaceMechanism(domain=LEVELS, epsilon=4.0, fill=3),
    "laplace-released": qc.LaplaceMechanism(domain=RANGE, epsilon=4.0, participation="released"),
    "laplace-paper": qc.LaplaceMechanism(domain=LEVELS, epsilon=4.0, scale="paper", fill=None),
    "laplace-step": qc.LaplaceMechanism(domain=RANGE, epsilon=4.0, fill=None, step=0.5),
    "factors": MatrixFactorization(domain=LEVELS, epsilon=4.0, rank=4),
    "factors-statistics": MatrixFactorization(
        domain=RANGE, epsilon=4.0, rank=3, variant="statistics", profile="rademacher"
    ),
    "factors-ridge": MatrixFactorization(
        domain=RANGE, epsilon=4.0, rank=3, variant="ridge", profile="buckets", seed=5
    ),
}


def crowd_of(mechanism: Mechanism) -> str:
    """Return the name of the crowd in the domain of a mechanism."""
    return next(name for name, domain in DOMAINS.items() if domain == mechanism.domain)


LABEL_METHODS = {
    "majority": qc.MajorityVote(),
    "weighted-vote": qc.WeightedVote(),
    "weighted-vote-smooth": qc.WeightedVote(smoothing=3.0, random_state=4),
    "dawid-skene": qc.DawidSkene(),
    "dawid-skene-coin": qc.DawidSkene(one_coin=True),
    "glad": qc.GLAD(),
    "crh-labels": CRH(loss="zero-one"),
    "catd-labels": CATD(loss="zero-one"),
}
NUMBER_METHODS = {
    "mean": qc.Mean(),
    "median": qc.Median(),
    "weighted-mean": WeightedMean(),
    "crh": CRH(),
    "crh-absolute": CRH(loss="absolute", normaliser="max"),
    "catd": CATD(),
    "gtm": GTM(),
    "kdem": KDEm(),
    "moon": MOON(truth_prior=None),
    "moon-variance": MOON(variant="variance"),
    "moon-lagrange": MOON(solver="lagrange"),
    "moon-prior": MOON(truth_prior="normal"),
    "ratio-mean": RatioMean(),
}
METHODS = {**LABEL_METHODS, **NUMBER_METHODS}

PLAIN_ARITHMETIC = ("mean", "median", "weighted-mean", "ratio-mean")
"""Methods of sums, quotients and roots alone, which are rounded alike on every machine."""
