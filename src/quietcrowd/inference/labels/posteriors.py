"""Label posteriors from a sweep's log-odds, in NumPy."""

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.inference.partition import Partition

Floats = npt.NDArray[np.float64]


def task_rows(partition: Partition) -> npt.NDArray[np.int64]:
    """Return the task of each row, shape (answers,)."""
    return np.repeat(np.arange(partition.tasks), np.diff(partition.offsets))


def vote_counts(partition: Partition, labels: int, weights: npt.NDArray[Any]) -> Floats:
    """Return the sum of the workers' weights for each label, shape (tasks, labels)."""
    cells = task_rows(partition) * labels + partition.values.astype(np.int64)
    size = partition.tasks * labels
    counts = np.bincount(cells, weights=weights[partition.worker_codes], minlength=size)
    table: Floats = counts.reshape(partition.tasks, labels).astype(np.float64, copy=False)
    return table


def probabilities(votes: Floats, partition: Partition) -> Floats:
    """Return probabilities from log-odds: 1 for a known truth, NaN for a task without answers."""
    odds = np.exp(votes - votes.max(axis=1, keepdims=True))
    return _with_known(odds / odds.sum(axis=1, keepdims=True), partition)


def vote_shares(counts: Floats, partition: Partition) -> Floats:
    """Return the fraction of votes of each label, shape (tasks, labels); 1 for known truths."""
    with np.errstate(invalid="ignore"):
        return _with_known(counts / counts.sum(axis=1, keepdims=True), partition)


def _with_known(shares: Floats, partition: Partition) -> Floats:
    known = partition.known_truths
    shares[np.diff(partition.offsets) == 0] = np.nan
    rows = np.flatnonzero(known >= 0)
    shares[rows] = 0.0
    shares[rows, known[rows]] = 1.0
    return shares
