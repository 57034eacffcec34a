"""How fast items are ranked: 10^5 comparisons of 10^3 items, plain and randomised."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import quietcrowd as qc
from own_process import HERE
from quietcrowd.comparisons import SIDES
from quietcrowd.formats import write_table
from quietcrowd.inference.ranking.likelihood import Comparisons, maximise
from timing import least_seconds

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

ITEMS, COMPARISONS = 1000, 10**5
LIMIT = 1.0
"""Seconds, from a frame or from reports to scores with standard errors."""


@pytest.fixture(scope="module")
def frame():
    """Return comparisons of random pairs, each by another worker, as crowd-kit has them."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, ITEMS)
    left = rng.integers(0, ITEMS, COMPARISONS)
    right = (left + rng.integers(1, ITEMS, COMPARISONS)) % ITEMS
    wins = rng.random(COMPARISONS) < 1 / (1 + np.exp(scores[right] - scores[left]))
    names = np.array([f"item {place}" for place in range(ITEMS)])
    return pd.DataFrame(
        {
            "worker": np.arange(COMPARISONS),
            "left": names[left],
            "right": names[right],
            "label": names[np.where(wins, left, right)],
        }
    )


@pytest.mark.parametrize("epsilon", [None, 1.0], ids=["plain", "epsilon 1"])
def test_ranking(benchmark, frame, epsilon, compare, remark):
    """All of it, against its limit."""
    data = frame
    if epsilon is not None:
        device = qc.RandomizedResponse(domain=SIDES, epsilon=epsilon)
        data = device.simulate(qc.Answers.from_comparisons(frame), random_state=1)
    found = benchmark.pedantic(qc.BradleyTerry().fit, (data,), rounds=3, warmup_rounds=1)
    assert found.converged
    ours = benchmark.stats.stats.min
    what = "plain comparisons" if epsilon is None else "comparisons at epsilon 1"
    compare(f"ranking of 10^3 items by 10^5 {what}", ours, "the limit of 1 s", LIMIT, 1)
    remark(f"10^3 items by 10^5 {what}: {ours:.3g} s, {len(found.history) - 1} steps.")


def test_ranking_beside_crowd_kit(frame, peers, tmp_path, compare, remark):
    """Plain comparisons; crowd-kit goes on for as many iterations as it usually does, 100."""
    path = tmp_path / "comparisons.parquet"
    write_table(frame, path)
    words = [peers, HERE / "peers" / "crowd_kit_ranking.py", "100", path]
    theirs = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    ours = least_seconds(lambda: qc.BradleyTerry().fit(frame, non_private=True), rounds=3)
    compare(
        f"ranking of {ITEMS:,} items by {COMPARISONS:,} plain comparisons, with standard errors",
        ours,
        "crowd-kit's BradleyTerry, without",
        theirs["seconds"],
        1,
    )
    scores = qc.BradleyTerry().fit_predict(frame, non_private=True)
    both = scores.rank().corr(pd.Series(theirs["scores"])[scores.index].rank())
    remark(f"Rank correlation of our scores and those of crowd-kit's BradleyTerry: {both:.4f}.")
    assert both > 0.99


def test_search(benchmark, compare):
    """The search alone, against a general optimiser that is given objective and gradient."""
    rng = np.random.default_rng(2)
    distribution = qc.RandomizedResponse(domain=SIDES, epsilon=1.0).channel.table
    left = rng.integers(0, ITEMS, COMPARISONS)
    right = (left + rng.integers(1, ITEMS, COMPARISONS)) % ITEMS
    scores = rng.normal(0, 1, ITEMS)
    prefers_right = rng.random(COMPARISONS) > 1 / (1 + np.exp(scores[right] - scores[left]))
    keeps = rng.random(COMPARISONS) < np.exp(distribution[0, 0])
    reports = np.where(keeps, prefers_right, ~prefers_right).astype(int)
    model = Comparisons(
        items=ITEMS,
        left=left,
        right=right,
        log_left=distribution[0, reports],
        log_right=distribution[1, reports],
        counts=np.ones(COMPARISONS),
        spread=2.5,
    )

    def general():
        return minimize(
            lambda tried: -model.objective(tried),
            np.zeros(ITEMS),
            jac=lambda tried: -model.gradient(tried),
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-6, "maxiter": 10_000},
        ).x

    found = benchmark.pedantic(maximise, (model, 100), rounds=3, warmup_rounds=1)
    assert np.abs(found.scores - general()).max() < 0.01
    ours, theirs = benchmark.stats.stats.min, least_seconds(general, rounds=3)
    compare("search for 10^3 scores, with standard errors", ours, "L-BFGS, without", theirs, 1)
