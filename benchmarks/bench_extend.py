"""New reports on new tasks, and a fit that starts from an earlier one."""

import time

import numpy as np
import pytest
from attrs import evolve

import quietcrowd as qc
from timing import least_seconds

SHARE = 0.01
"""Of the tasks that are new."""


@pytest.fixture(scope="module")
def reports(million):
    """Return a million reports at epsilon 3."""
    mechanism = qc.RandomizedResponse(domain=million.answers.domain, epsilon=3.0)
    return mechanism.randomize(million.answers, rng=np.random.default_rng(0)).table


def split(answers):
    """Return the answers on all tasks but the last, and those on the last."""
    kept = int(len(answers.tasks) * (1 - SHARE))
    row = answers.offsets[kept]
    old = evolve(
        answers,
        tasks=answers.tasks[:kept],
        offsets=answers.offsets[: kept + 1],
        worker_codes=answers.worker_codes[:row],
        values=answers.values[:row],
    )
    new = evolve(
        answers,
        tasks=answers.tasks[kept:],
        offsets=answers.offsets[kept:] - row,
        worker_codes=answers.worker_codes[row:],
        values=answers.values[row:],
    )
    return old, new


METHODS = {
    "weighted vote": qc.WeightedVote(),
    "one coin": qc.DawidSkene(one_coin=True),
    "Dawid-Skene": qc.DawidSkene(),
    "Dawid-Skene, tolerance 1e-5": qc.DawidSkene(tolerance=1e-5),
}


@pytest.mark.parametrize("name", METHODS)
def test_one_in_a_hundred_is_new(benchmark, reports, name, compare, tabulate):
    """An extension against a fresh fit; a warm fit against its sweeps."""
    method = METHODS[name]
    old, new = split(reports)
    before, fresh = method.fit(old), method.fit(reports)
    benchmark.pedantic(method.extend, (before, new), rounds=7, warmup_rounds=1)
    fit_seconds = least_seconds(lambda: method.fit(reports), rounds=3)
    start = time.perf_counter()
    warm = method.fit(reports, start=before)
    warm_seconds = time.perf_counter() - start
    more = method.extend(before, new)
    compare(
        f"{name}: 1 % new reports on new tasks, beside 10^6",
        benchmark.stats.stats.min,
        "a tenth of a fresh fit",
        fit_seconds / 10,
        1,
    )
    truths = fresh.estimates.truths
    agreed = np.mean(more.estimates.truths == truths[-len(new.tasks) :])
    tabulate(
        "Starting from an earlier estimate: 10^6 reports at epsilon 3, of which 1 % are new",
        {
            "method": name,
            "fresh sweeps": str(fresh.iterations),
            "warm sweeps": f"{warm.iterations} ({warm.iterations / fresh.iterations:.0%})",
            "warm time": f"{warm_seconds / fit_seconds:.0%}",
            "same labels, warm": f"{np.mean(warm.estimates.truths == truths):.2%}",
            "extension's time": f"{benchmark.stats.stats.min / fit_seconds:.1%}",
            "same labels, extension": f"{agreed:.2%}",
        },
    )
