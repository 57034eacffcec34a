"""How fast MOON is: a sweep, sweeps to convergence, and runs against one without privacy."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.inference import CRH, MOON
from quietcrowd.inference.loop import available_threads, run_loop
from quietcrowd.inference.partition import Partition, Summary
from timing import least_seconds

pytestmark = [
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning"),
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning"),
]

REPORTS, PER_TASK = 10**7, 100
LIMIT = 40e-9
"""Seconds per report and sweep, on two cores."""


@pytest.fixture(scope="module", params=[10**4, 10**5], ids=["10^4 workers", "10^5 workers"])
def sensors(request):
    """Return 10^7 reports at epsilon 5 as one partition, their summary, and the truths."""
    workers = request.param
    rng = np.random.default_rng(0)
    tasks = REPORTS // PER_TASK
    mechanism = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=10), epsilon=5.0, fill=None)
    codes = rng.integers(0, workers, REPORTS).astype(np.int32)
    sigma = np.where(np.arange(workers) % 2, 0.3, 3.0)
    truths = rng.uniform(0, 10, tasks)
    answers = np.repeat(truths, PER_TASK) + sigma[codes] * rng.normal(size=REPORTS)
    reports = np.clip(answers, 0, 10) + rng.laplace(0, mechanism.channel.scale, REPORTS)
    summary = Summary(
        domain=mechanism.domain,
        answers_per_worker=np.bincount(codes, minlength=workers),
        tasks=tasks,
        longest_task=PER_TASK,
        low=float(reports.min()),
        high=float(reports.max()),
        channel=mechanism.channel,
    )
    partition = Partition(
        offsets=np.arange(tasks + 1) * PER_TASK,
        worker_codes=codes,
        values=(reports - summary.middle) / summary.extent,
        draws=np.zeros(tasks, np.uint64),
        known_truths=np.full(tasks, np.nan),
    )
    return partition, summary, truths


def sweep_of(method, partition, summary, pool, n_jobs):
    """Return a function that makes one sweep, with the state after three."""
    model = type(method)(max_iter=3).bind(summary)
    state = run_loop(model, [partition], n_jobs=n_jobs).state
    model = method.bind(summary)
    runs = partition.split(n_jobs)
    return lambda: list(pool.map(lambda run: model.sweep(run, state, None), runs))


def test_a_sweep(benchmark, sensors, compare, remark):
    """One sweep of MOON, against its limit and against CRH's."""
    partition, summary, _ = sensors
    n_jobs = available_threads()
    with ThreadPoolExecutor(n_jobs) as pool:
        moon = sweep_of(MOON(truth_prior=None), partition, summary, pool, n_jobs)
        crh = sweep_of(CRH(), partition, summary, pool, n_jobs)
        benchmark.pedantic(moon, rounds=5, warmup_rounds=1)
        ours, theirs = benchmark.stats.stats.min, least_seconds(crh, rounds=5)
    crowd = f"10^7 reports of 10^{round(np.log10(summary.workers))} workers"
    name = f"MOON, a sweep over {crowd}, {n_jobs} threads"
    compare(name, ours, "the limit of 40 ns per report", LIMIT * REPORTS, 1)
    remark(
        f"MOON, {crowd}: {ours / REPORTS * 1e9:.3g} ns per report and sweep, "
        f"{ours / theirs:.3g} times CRH's {theirs / REPORTS * 1e9:.3g} ns, on {n_jobs} threads."
    )


def test_sweeps_until_convergence(benchmark, sensors, remark):
    """From a cold start until the posterior converges."""
    partition, summary, truths = sensors
    found, model = [], MOON(truth_prior=None).bind(summary)
    benchmark.pedantic(lambda: found.append(run_loop(model, [partition])), rounds=1)
    result = found[0]
    assert result.converged
    error = np.abs(result.estimates.truths * summary.extent + summary.middle - truths).mean()
    remark(
        f"MOON converges after {result.n_iter} sweeps over 10^7 reports of {summary.workers:,} "
        f"workers (goal: below 60), "
        f"{benchmark.stats.stats.min:.3g} s; mean absolute error {error:.3g}."
    )


SETS = ("emotion", "weather_temperature", "flight_20111201", "population")


@pytest.mark.skipif(not os.environ.get("QUIETCROWD_DATA"), reason="QUIETCROWD_DATA is not set")
@pytest.mark.parametrize("name", SETS)
def test_against_no_privacy(benchmark, name, remark):
    """Run time on reports against CRH on non-private answers: Figure 5 of the paper."""
    answers = qc.load_dataset(name).answers.canonical
    mechanism = qc.LaplaceMechanism(domain=answers.domain, epsilon=1.0, fill=None)
    reports = mechanism.simulate(answers, random_state=0)
    benchmark.pedantic(MOON(truth_prior=None).fit, (reports,), rounds=3, warmup_rounds=1)
    plain = least_seconds(lambda: CRH().fit(answers), rounds=3)
    ours = benchmark.stats.stats.min
    iterations = MOON(truth_prior=None).fit(reports).n_iter
    remark(
        f"Run time on {name}, {len(answers):,} answers: MOON on reports at epsilon 1 "
        f"{ours * 1e3:.3g} ms ({iterations} sweeps), CRH on non-private answers "
        f"{plain * 1e3:.3g} ms ({CRH().fit(answers).n_iter} sweeps): {ours / plain:.3g} times."
    )
