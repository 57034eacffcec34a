"""The inner loop of Dawid-Skene: posteriors of the tasks, expected confusions of the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.compiling import rows_of
from quietcrowd.inference.kernels.lanes import add_lanes
from quietcrowd.inference.kernels.posteriors import (
    believe,
    block_of,
    leave_out,
    log_counts,
    no_beliefs,
    settle,
    to_units,
)

__all__ = ["confusion_kernel"]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _count(
    offsets: npt.NDArray[np.int64], values: npt.NDArray[Any], votes: npt.NDArray[np.float64]
) -> None:
    """Fill in logarithms of the shares of each task's votes, up to a constant."""
    votes[:] = 0.0
    for place in range(len(offsets) - 1):
        start, end = rows_of(offsets, place)
        for row in range(start, end):
            votes[values[row], place] += 1.0
    log_counts(votes, len(offsets) - 1)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    log_odds: npt.NDArray[np.int32],
    labels: int,
    one_coin: bool,
    nats: float,
    log_priors: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    votes: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-odds of each task's labels: the log-priors and those of its answers."""
    for place in range(len(offsets) - 1):
        start, end = rows_of(offsets, place)
        for label in range(labels):
            sums[label] = 0
        for row in range(start, end):
            if one_coin:
                sums[values[row]] += log_odds[worker_codes[row]]
            else:
                record = np.uint64(worker_codes[row]) * np.uint64(labels) + np.uint64(values[row])
                add_lanes(sums, 0, log_odds, record * np.uint64(labels), labels)
        for label in range(labels):
            votes[label, place] = sums[label] * nats + log_priors[label]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _scatter(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    all_credit: npt.NDArray[np.int64],
    labels: int,
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
                record = np.uint64(worker_codes[row]) * np.uint64(labels) + np.uint64(values[row])
                add_lanes(counts, record * np.uint64(labels), credit, 0, labels)


@lru_cache(maxsize=64)
def confusion_kernel(labels: int, *, one_coin: bool) -> Callable[..., int]:
    """Return the kernel of Dawid-Skene for a number of labels.

    Both parameters are known when it is compiled; with `one_coin` a worker is one number.

    The kernel returns the sum of the entropies in units, and takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``gold`` of a `Partition`; worker codes
      as unsigned numbers;
    - ``log_odds``, int32 in units of ``nats``, one after the other: from place ``(worker
      labels + answer) labels`` on the log-likelihoods of the answer for each truth; one-coin: at
      place ``worker`` the one log-odds of its answer against another;
    - ``nats``, float: see above;
    - ``log_priors``, float64 per label;
    - ``voting``, bool: whether to take shares of votes instead, as in the first pass;
    - ``unit``, float: what a probability of 1 is stored as;
    - ``even``, int64: `fixed_point.shares`;
    - ``seed``, uint64, for ties;
    - ``counts``, int64, as long as ``log_odds``: expected answers are added; one-coin: expected
      right answers;
    - ``classes``, int64 per label, to which probabilities are added;
    - ``agreed``, int64 per worker, to which agreements are added where there is room for truths;
    - ``truths``, ``confidence`` and ``tied``, one entry per task, to be filled where they are not
      empty.
    """
    block = block_of(labels)

    @numba.njit(nogil=True, cache=True, error_model="numpy")
    def confuse(
        offsets: npt.NDArray[np.int64],
        worker_codes: npt.NDArray[np.uint32],
        values: npt.NDArray[Any],
        draws: npt.NDArray[np.uint64],
        gold: npt.NDArray[np.int32],
        log_odds: npt.NDArray[np.int32],
        nats: float,
        log_priors: npt.NDArray[np.float64],
        voting: bool,
        unit: float,
        even: npt.NDArray[np.int64],
        seed: np.uint64,
        counts: npt.NDArray[np.int64],
        classes: npt.NDArray[np.int64],
        agreed: npt.NDArray[np.int64],
        truths: npt.NDArray[Any],
        confidence: npt.NDArray[np.float64],
        tied: npt.NDArray[np.bool_],
    ) -> int:
        sums, credit = np.empty(labels, np.int64), np.empty(labels, np.int64)
        all_credit = np.empty((labels, block), np.int64)
        beliefs = no_beliefs(labels, block)
        entropy = np.int64(0)
        for first in range(0, len(offsets) - 1, block):
            last = min(first + block, len(offsets) - 1)
            rows, known = offsets[first : last + 1], gold[first:last]
            if voting:
                _count(rows, values, beliefs.votes)
            else:
                _gather(
                    rows,
                    worker_codes,
                    values,
                    log_odds,
                    labels,
                    one_coin,
                    nats,
                    log_priors,
                    sums,
                    beliefs.votes,
                )
            believe(beliefs, known)
            leave_out(beliefs, rows, known)
            entropy += to_units(beliefs, last - first, unit, all_credit, classes)
            _scatter(rows, worker_codes, values, all_credit, labels, one_coin, credit, counts)
            if len(truths):
                settle(
                    beliefs,
                    rows,
                    worker_codes,
                    values,
                    known,
                    draws[first:last],
                    seed,
                    even,
                    credit,
                    agreed,
                    truths[first:last],
                    confidence[first:last],
                    tied[first:last],
                )
        return int(entropy)

    return confuse
