"""How fast every worker reports every task, simulated; against limits in seconds, two cores."""

from functools import partial

import numpy as np
import pytest

import quietcrowd as qc
from own_process import run_script
from quietcrowd.mechanisms import MatrixFactorization
from timing import least_seconds


@pytest.fixture(scope="module")
def wide():
    """Return a crowd of the size of AdultContent: 825 workers, 11,040 tasks, 1 % answered."""
    return qc.make_crowd(
        kind="sparse",
        workers=825,
        tasks=11_040,
        sparsity=1 - 89_796 / (825 * 11_040),
        levels=range(5),
        random_state=0,
    ).answers


MECHANISMS = {
    "Laplace noise": qc.LaplaceMechanism,
    "randomized response with NULL": partial(qc.RandomizedResponse, missing="category"),
    "matrix factorization, fill, rank 100": partial(MatrixFactorization, rank=100),
    "matrix factorization, ridge, rank 100": partial(
        MatrixFactorization, rank=100, variant="ridge"
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_9_million_reports(benchmark, wide, name, compare):
    """825 workers times 11,040 tasks."""
    mechanism = MECHANISMS[name](domain=wide.domain, epsilon=1.0)
    rng = np.random.default_rng(0)
    benchmark.pedantic(mechanism.randomize, (wide, rng), rounds=3, warmup_rounds=1)
    compare(f"825 x 11,040 reports: {name}", benchmark.stats.stats.min, "the limit of 2 s", 2.0, 1)


def test_real_noise(benchmark, wide, compare):
    """Exact draws, against the fast simulated ones."""
    mechanism = qc.LaplaceMechanism(domain=wide.domain, epsilon=1.0, fill=None)
    simulated = least_seconds(lambda: mechanism.simulate(wide, random_state=0))
    benchmark.pedantic(mechanism.randomize, (wide,), rounds=3, warmup_rounds=1)
    compare(
        f"{len(wide):,} numbers with simulated noise",
        simulated,
        "the same with exact noise",
        benchmark.stats.stats.min,
        1,
    )


@pytest.mark.parametrize(
    ("case", "what", "seconds", "gigabytes"),
    [
        ("every", "10,000 x 1,000, every mechanism but paper, and Algorithm 1", 60.0, 4.0),
        ("many", "10^6 x 10^4 at sparsity 0.999, simulated and randomized", 60.0, 2.0),
    ],
)
def test_large_cases(benchmark, case, what, seconds, gigabytes, compare, remark):
    """Time and memory of a process of its own."""
    run = benchmark.pedantic(run_script, ("sparse_run.py", case), rounds=1)
    compare(what, run["seconds"], f"the limit of {seconds:g} s", seconds, 1)
    remark(f"Peak memory of {what}: {run['gigabytes']:.2f} GB (goal: below {gigabytes:g}).")
