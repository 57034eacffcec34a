"""How fast PrisCrowd is: weights and densities, and a release."""

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.synthesis import PrisCrowd
from quietcrowd_research.huai2019.density_errors import integrated_squared_errors
from timing import least_seconds

TASKS, USERS = 10**4, 20
LEARNING_LIMIT, RELEASE_LIMIT = 10.0, 20.0
"""Seconds, on two cores."""


@pytest.fixture(scope="module")
def claims():
    """Return 20 claims about each of 10^4 tasks: half of the users reliable."""
    rng = np.random.default_rng(0)
    truths = rng.uniform(-20, 20, (TASKS, 1))
    spread = np.where(np.arange(USERS) % 2, 1.0, 8.0)
    values = np.clip(truths + spread * rng.normal(size=(TASKS, USERS)), -60, 60)
    frame = pd.DataFrame(
        {
            "task": np.repeat(np.arange(TASKS), USERS),
            "worker": np.tile(np.arange(USERS), TASKS),
            "label": values.reshape(-1),
        }
    )
    return qc.Answers.from_frame(frame, qc.Interval(low=-60, high=60))


def test_weights_and_densities(benchmark, claims, compare):
    """All weights, and how far the densities by combined and by equal weights are apart."""

    def learn():
        density = PrisCrowd(epsilon0=1.0, bandwidth=1.0, release="paper").fit(claims)
        uniform, combined = (density.densities(kind) for kind in ("uniform", "combined"))
        return integrated_squared_errors(uniform, combined)

    benchmark.pedantic(learn, rounds=3, warmup_rounds=1)
    ours = benchmark.stats.stats.min
    name = "PrisCrowd, weights and densities of 10^4 tasks with 20 claims"
    compare(name, ours, "the limit of 10 s", LEARNING_LIMIT, 1)


@pytest.mark.parametrize("release", ["attempts", "paper"])
def test_release(benchmark, claims, compare, remark, release):
    """A real release of 30 wanted claims, with the operating system's randomness."""
    density = PrisCrowd(epsilon0=1.0, bandwidth=1.0, release=release).fit(claims)
    found = []
    benchmark.pedantic(lambda: found.append(density.release()), rounds=3, warmup_rounds=1)
    ours = benchmark.stats.stats.min
    attempts = int(found[0].attempts.sum())
    name = f'PrisCrowd, release="{release}" of 10^4 tasks, 30 claims requested'
    compare(name, ours, "the limit of 20 s", RELEASE_LIMIT, 1)
    remark(
        f"{name}: {attempts:,} attempts with the test, {len(found[0]):,} claims, "
        f"{ours / attempts * 1e6:.3g} us per attempt, including the computation of the loss."
    )


def test_the_cost_of_claims(remark, claims):
    """Time against the number of claims; `huai2019-5` has it without the test as well."""
    times = {}
    for wanted in (10, 20, 30):
        density = PrisCrowd(
            epsilon0=1.0, bandwidth=1.0, release="paper", weights="uniform", claims=wanted
        ).fit(claims)
        times[wanted] = least_seconds(density.release, rounds=3)
    remark(
        "PrisCrowd, release of "
        + ", ".join(f"{wanted} claims {seconds:.3g} s" for wanted, seconds in times.items())
        + " per 10^4 tasks."
    )
