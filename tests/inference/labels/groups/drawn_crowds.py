"""Simulated crowds, some with copies of one source, for tests of groups."""

import numpy as np

from quietcrowd.inference.labels.groups.reports import GroupReports
from quietcrowd.inference.partition import Partition


def channel(labels, epsilon):
    """Return the table of randomized response; the identity without noise."""
    if epsilon is None:
        return np.eye(labels)
    kept = np.exp(epsilon) / (np.exp(epsilon) + labels - 1)
    other = (1 - kept) / (labels - 1)
    return np.full((labels, labels), other) + np.eye(labels) * (kept - other)


def add_noise(reports, labels, epsilon, rng):
    """Randomize the reports, at [worker, task]; -1 is no report."""
    if epsilon is None:
        return reports
    changed = rng.random(reports.shape) > channel(labels, epsilon)[0, 0]
    other = (reports + rng.integers(1, labels, reports.shape)) % labels
    return np.where((reports >= 0) & changed, other, reports)


def with_copies(
    seed, copies, following, *, epsilon=None, labels=4, tasks=300, honest=40, lead=0.35, rate=0.8
):
    """Return reports of honest workers and then of copies, and the truths.

    12 honest workers, right with .55 to .85, answer each task. The source is right with `lead`;
    each copy answers a fraction `rate` of the tasks.
    """
    rng = np.random.default_rng(seed)
    truths = rng.integers(labels, size=tasks)
    skill = rng.uniform(0.55, 0.85, (honest, 1))
    wrong = (truths + rng.integers(1, labels, (honest, tasks))) % labels
    answers = np.where(rng.random((honest, tasks)) < skill, truths, wrong)
    chosen = rng.random((honest, tasks)).argsort(axis=0).argsort(axis=0) < 12
    source = np.where(
        rng.random(tasks) < lead, truths, (truths + rng.integers(1, labels, tasks)) % labels
    )
    own = rng.integers(0, labels, (copies, tasks))
    copied = np.where(rng.random((copies, tasks)) < following, source, own)
    present = rng.random((copies, tasks)) < rate
    reports = np.vstack([np.where(chosen, answers, -1), np.where(present, copied, -1)])
    return add_noise(reports, labels, epsilon, rng), truths


def independent(seed, tasks, workers, labels, epsilon, per_task=None):
    """Return reports of independent workers, each with a confusion table."""
    rng = np.random.default_rng(seed)
    truths = rng.choice(labels, tasks, p=rng.dirichlet(np.full(labels, 2.0)))
    low, high = np.sort(rng.uniform(0.3, 0.98, 2))
    skill = rng.uniform(low, high, (workers, 1, 1))
    centre = skill * np.eye(labels) + (1 - skill) * (1 - np.eye(labels)) / (labels - 1)
    tables = rng.standard_gamma(6 * centre + 0.3)
    tables /= tables.sum(axis=2, keepdims=True)
    draws = rng.random((workers, tasks, 1))
    answers = (draws > tables.cumsum(axis=2)[:, truths]).sum(axis=2).clip(0, labels - 1)
    if per_task is not None:
        order = rng.random((workers, tasks)).argsort(axis=0).argsort(axis=0)
        answers = np.where(order < per_task, answers, -1)
    return add_noise(answers, labels, epsilon, rng), truths


def partition_of(reports, known=None, seed=0):
    """Return the reports at [worker, task] as one partition, with hashes that `seed` draws."""
    tasks = reports.shape[1]
    task, worker = np.nonzero(reports.T >= 0)
    return Partition(
        offsets=np.concatenate([[0], np.cumsum(np.bincount(task, minlength=tasks))]),
        worker_codes=worker.astype(np.int32),
        values=reports.T[task, worker].astype(np.uint8),
        draws=np.random.default_rng(seed).integers(0, 2**64, tasks, np.uint64),
        known_truths=np.full(tasks, -1, np.int32) if known is None else known.astype(np.int32),
    )


def statistics_of(reports, known=None, seed=0):
    """Return the reports at [worker, task] as statistics."""
    everybody = np.ones(len(reports), bool)
    return GroupReports.of(partition_of(reports, known, seed), everybody, int((reports >= 0).sum()))
