"""New reports on new tasks, and a fit that starts from an earlier one."""

import numpy as np
import pytest
from attrs import evolve

import quietcrowd as qc
from crowds import crowd_of_a_million
from timing import least_seconds

SHARE = 0.01
"""Of the tasks that are new."""


CROWDS = 6
"""How many crowds a warm fit is tried on: where it converges to is different in each."""


def reports_of(answers, seed=0):
    """Return reports at epsilon 3."""
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0)
    return mechanism.simulate(answers, random_state=seed).table


@pytest.fixture(scope="module")
def reports(million):
    """Return a million reports."""
    return reports_of(million.answers)


@pytest.fixture(scope="module")
def many_reports(reports):
    """Return the reports of several crowds, a million each."""
    crowds = (crowd_of_a_million(seed).answers for seed in range(1, CROWDS))
    return [reports, *(reports_of(answers, seed) for seed, answers in enumerate(crowds, 1))]


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
    "Dawid-Skene, tolerance 1e-5": qc.DawidSkene(tol=1e-5),
}


@pytest.mark.parametrize("name", METHODS)
def test_one_in_a_hundred_is_new(benchmark, reports, name, compare, tabulate):
    """An extension against a fresh fit."""
    method = METHODS[name]
    old, new = split(reports)
    before, fresh = method.fit(old), method.fit(reports)
    benchmark.pedantic(method.extend, (before, new), rounds=7, warmup_rounds=1)
    fit_seconds = least_seconds(lambda: method.fit(reports), rounds=3)
    more = method.extend(before, new)
    compare(
        f"{name}: 1 % new reports on new tasks, added to 10^6",
        benchmark.stats.stats.min,
        "a tenth of a fresh fit",
        fit_seconds / 10,
        1,
    )
    truths = fresh.estimates.truths
    agreed = np.mean(more.estimates.truths == truths[-len(new.tasks) :])
    tabulate(
        "Extension by new tasks: 10^6 reports at epsilon 3, 1 % of them new",
        {
            "method": name,
            "time / fresh fit": f"{benchmark.stats.stats.min / fit_seconds:.1%}",
            "same labels": f"{agreed:.2%}",
        },
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_that_starts_from_an_earlier_one(many_reports, name, tabulate):
    """The sweeps of a warm fit against those of a fresh one, in several crowds."""
    method = METHODS[name]
    fresh_sweeps, warm_sweeps, agreed = [], [], []
    for reports in many_reports:
        fresh = method.fit(reports)
        warm = method.fit(reports, init=method.fit(split(reports)[0]))
        fresh_sweeps.append(fresh.n_iter)
        warm_sweeps.append(warm.n_iter)
        agreed.append(np.mean(warm.estimates.truths == fresh.estimates.truths))
    ratios = np.divide(warm_sweeps, fresh_sweeps)
    tabulate(
        f"Fit from an earlier estimate: 10^6 reports at epsilon 3, 1 % of them new; {CROWDS} "
        "crowds",
        {
            "method": name,
            "fresh sweeps": f"{np.mean(fresh_sweeps):.1f}",
            "warm sweeps": f"{np.mean(warm_sweeps):.1f}",
            "warm / fresh, mean and standard error": f"{ratios.mean():.0%} "
            f"± {ratios.std(ddof=1) / CROWDS**0.5:.0%}",
            "range": f"{ratios.min():.0%} to {ratios.max():.0%}",
            "same labels, minimum": f"{min(agreed):.2%}",
        },
    )
