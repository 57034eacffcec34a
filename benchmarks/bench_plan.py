"""How long a plan takes; how well its intervals hold is `plan_coverage.py`."""

import pytest

import quietcrowd as qc

LIMIT = 10.0
"""Seconds, on two cores, for 1,000 tasks, three numbers of workers and four epsilons."""


@pytest.mark.parametrize(
    "domain",
    [qc.Categorical(["no", "yes"]), qc.Interval(low=0, high=10)],
    ids=["labels", "numbers"],
)
def test_a_plan(benchmark, compare, domain):
    def make():
        return qc.plan(
            tasks=1_000,
            workers=[50, 100, 200],
            answers=100,
            domain=domain,
            epsilon=[0.5, 1.0, 2.0, 4.0],
        )

    kind = "labels" if isinstance(domain, qc.Categorical) else "numbers"
    benchmark.pedantic(make, rounds=1, warmup_rounds=1)
    seconds = benchmark.stats.stats.min
    compare(f"a plan of 1,000 tasks with {kind}", seconds, "the limit of 10 s", LIMIT, 1)
