"""The inner loops of Dawid-Skene: posteriors of the tasks, and what is learnt of the workers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import add_vector
from quietcrowd.inference.kernels.voting import rows_of

__all__ = [
    "gather",
    "scatter",
]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def gather(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    log_odds: npt.NDArray[np.int32],
    labels: int,
    reports: int,
    one_coin: bool,
    nats: float,
    log_priors: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    votes: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-odds of each task's labels: the log-priors and those of its answers.

    `reports` is how many kinds of answers there are: as many as labels, unless they are reports.
    """
    for place in range(len(offsets) - 1):
        start, end = rows_of(offsets, place)
        for label in range(labels):
            sums[label] = 0
        for row in range(start, end):
            if one_coin:
                sums[values[row]] += log_odds[worker_codes[row]]
            else:
                record = np.uint64(worker_codes[row]) * np.uint64(reports) + np.uint64(values[row])
                add_vector(sums, 0, log_odds, record * np.uint64(labels), labels)
        for label in range(labels):
            votes[label, place] = sums[label] * nats + log_priors[label]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def scatter(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    all_credit: npt.NDArray[np.int64],
    labels: int,
    reports: int,
    one_coin: bool,
    credit: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Add the probabilities of each task's labels to the records of those who answered."""
    for place in range(len(offsets) - 1):
        start, end = rows_of(offsets, place)
        for label in range(labels):
            credit[label] = all_credit[label, place]
        for row in range(start, end):
            if one_coin:
                counts[worker_codes[row]] += credit[values[row]]
            else:
                record = np.uint64(worker_codes[row]) * np.uint64(reports) + np.uint64(values[row])
                add_vector(counts, record * np.uint64(labels), credit, 0, labels)
