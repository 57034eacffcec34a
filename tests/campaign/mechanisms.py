"""One mechanism of every kind, and reports of them."""

import numpy as np
import pandas as pd
from attrs import evolve
from tests.nightly import by_day

import quietcrowd as qc
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)

LABELS = qc.Categorical(["no", "yes", "maybe"])
LEVELS = qc.Ordinal(range(5))
RANGE = qc.Interval(low=0.0, high=10.0)

MECHANISMS = {
    "one-layer": qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0),
    "one-layer with NULL": qc.RandomizedResponse(
        domain=qc.Categorical(["no", "yes"]), epsilon=1.0, missing="category"
    ),
    "sets of labels": qc.SubsetSelection(domain=LABELS, epsilon=1.0),
    "two-layer": TwoLayerRandomizedResponse.from_claimed_epsilon(domain=LABELS, epsilon=1.0),
    "optimal": OptimalMechanism(domain=LABELS, epsilon=1.0, prior={"no": 0.7}),
    "laplace": qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None),
    "laplace, filled": qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0),
    "laplace with a bit": qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, participation="released"),
    "piecewise": qc.PiecewiseMechanism(domain=RANGE, epsilon=1.0),
    "duchi": DuchiMechanism(domain=LEVELS, epsilon=1.0),
    "hybrid": HybridMechanism(domain=RANGE, epsilon=2.0),
    "matrix factorisation": MatrixFactorization(domain=LEVELS, epsilon=1.0, rank=4),
    "matrix factorisation, statistics": MatrixFactorization(
        domain=RANGE, epsilon=1.0, rank=3, variant="statistics"
    ),
    "matrix factorisation, ridge": MatrixFactorization(
        domain=RANGE, epsilon=1.0, rank=3, variant="ridge"
    ),
}


def relabelled(mechanism, seed: int):
    """Return the mechanism with its labels, and reports without a name, in another order.

    It is the mechanism itself if the order of its labels is fixed.
    """
    domain, rng = mechanism.domain, np.random.default_rng(seed)
    if not isinstance(domain, qc.Categorical):
        return mechanism
    rows = rng.permutation(domain.size)
    turned = {"domain": qc.Categorical([domain.labels[row] for row in rows])}
    if isinstance(mechanism, OptimalMechanism):
        columns = rng.permutation(mechanism.channel.reports)
        turned["weights"] = mechanism.channel.weights[rows][:, columns]
    return evolve(mechanism, **turned)


MECHANISMS_BY_DAY = ("one-layer", "laplace", "matrix factorisation")
"""One for labels, one for numbers, one that sends sketches: where trying all takes long."""


def mechanisms_by_day(*more: str, of=MECHANISMS) -> list:
    """Return the cases of a test for every mechanism: some by day, all others by night."""
    return by_day([name for name in (*MECHANISMS_BY_DAY, *more) if name in of], of)


def answers_of(mechanism, names: list[str], workers: int, seed: int) -> qc.Answers:
    """Return random answers of every worker to every task."""
    rng = np.random.default_rng(seed)
    domain = mechanism.domain
    size = len(names) * workers
    if isinstance(domain, qc.Interval):
        values = rng.uniform(domain.low, domain.high, size)
    else:
        values = [domain.labels[code] for code in rng.integers(0, domain.size, size)]
    frame = {
        "task": np.repeat(names, workers).tolist(),
        "worker": [f"w{place:02d}" for place in range(workers)] * len(names),
        "label": values,
    }
    return qc.Answers.from_frame(pd.DataFrame(frame), domain)


def reports_of(mechanism, tasks: int, workers: int, seed: int) -> qc.Reports:
    """Return reports, drawn as devices draw them."""
    names = [f"t{place}" for place in range(tasks)]
    return mechanism.randomize(answers_of(mechanism, names, workers, seed))
