"""Partitions drawn for timing: their size is what matters, not who is right."""

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add

import numpy as np
from attrs import evolve

import quietcrowd as qc
from crowds import PER_TASK
from quietcrowd.inference.loop import available_threads, run_loop
from quietcrowd.inference.partition import Partition, Summary
from timing import least_seconds


def drawn(answers, workers, labels):
    """Return a partition of labels, or of numbers where `labels` is 0, and its summary.

    Ten answers a task, by any workers; three in four are the task's truth, or near it.
    """
    rng = np.random.default_rng(answers + workers + labels)
    tasks = answers // PER_TASK
    codes = rng.integers(0, workers, answers, dtype=np.int32)
    if labels:
        truths = np.repeat(rng.integers(0, labels, tasks, dtype=np.uint8), PER_TASK)
        wrong = rng.integers(0, labels, answers, dtype=np.uint8)
        values = np.where(rng.random(answers, np.float32) < 0.75, truths, wrong)
        known = np.full(tasks, -1, np.int32)
    else:
        values = np.repeat(rng.uniform(-0.4, 0.4, tasks), PER_TASK)
        values += rng.uniform(-0.1, 0.1, answers)
        known = np.full(tasks, np.nan)
    partition = Partition(
        offsets=np.arange(tasks + 1) * PER_TASK,
        worker_codes=codes,
        values=values,
        draws=rng.integers(0, 2**64, tasks, dtype=np.uint64),
        known_truths=known,
    )
    summary = Summary(
        answers_per_worker=np.bincount(codes, minlength=workers),
        tasks=tasks,
        longest_task=PER_TASK,
        low=-0.5,
        high=0.5,
        domain=qc.Categorical(range(labels)) if labels else qc.Interval(low=-0.5, high=0.5),
    )
    return partition, summary


def sweep_seconds(method, partition, summary, n_jobs=None, rounds=7):
    """Return the least seconds of a sweep, tallies added up, with the state after two updates."""
    n_jobs = n_jobs or available_threads()
    start = evolve(method, max_iter=2).bind(summary)
    state = run_loop(start, [partition], n_jobs=n_jobs).state
    runs = partition.split(n_jobs)
    with ThreadPoolExecutor(n_jobs) as pool:

        def sweep():
            tallies = pool.map(lambda run: start.sweep(run, state, None), runs)
            return reduce(add, tallies)

        return least_seconds(sweep, rounds=rounds)


def copy_seconds(size):
    """Return the least seconds to copy so many bytes, on all cores."""
    n_jobs = available_threads()
    source = np.ones(size // n_jobs * n_jobs, np.uint8).reshape(n_jobs, -1)
    target = np.empty_like(source)
    with ThreadPoolExecutor(n_jobs) as pool:
        return least_seconds(lambda: list(pool.map(np.copyto, target, source)))
