"""The inner loop of Dawid-Skene: posteriors of the tasks, expected confusions of the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels import rows_of
from quietcrowd.inference.lanes import add_lanes
from quietcrowd.inference.posteriors import (
    believe,
    block_of,
    leave_out,
    log_counts,
    no_beliefs,
    settle,
    to_units,
)

__all__ = ["confusion_kernel"]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather(
    start: np.uint64,
    end: np.uint64,
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    log_odds: npt.NDArray[np.int32],
    labels: int,
    one_coin: bool,
    votes: npt.NDArray[np.int64],
) -> None:
    """Add the log-odds of a task's answers to the votes."""
    for row in range(start, end):
        if one_coin:
            votes[values[row]] += log_odds[worker_codes[row]]
        else:
            record = np.uint64(worker_codes[row]) * np.uint64(labels) + np.uint64(values[row])
            add_lanes(votes, 0, log_odds, record * np.uint64(labels), labels)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _scatter(
    start: np.uint64,
    end: np.uint64,
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    credit: npt.NDArray[np.int64],
    labels: int,
    one_coin: bool,
    counts: npt.NDArray[np.int64],
) -> None:
    """Add the probabilities of a task's labels to the records of those who answered."""
    for row in range(start, end):
        if one_coin:
            counts[worker_codes[row]] += credit[values[row]]
        else:
            record = np.uint64(worker_codes[row]) * np.uint64(labels) + np.uint64(values[row])
            add_lanes(counts, record * np.uint64(labels), credit, 0, labels)


@lru_cache(maxsize=64)
def confusion_kernel(labels: int, *, one_coin: bool, estimating: bool) -> Callable[..., int]:
    """Return the kernel of Dawid-Skene for a number of labels.

    All parameters are known when it is compiled: with `one_coin` a worker is one number, with
    `estimating` it fills in the estimates and tallies agreements.

    The kernel returns the sum of the entropies in units, and takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``gold`` of a `Partition`; worker codes
      as unsigned numbers;
    - ``log_odds``, int32 in units of ``nats``, one after the other: from place ``(worker
      labels + answer) labels`` on the log-likelihoods of the answer for each truth; one-coin: at
      place ``worker`` the one log-odds of its answer against another;
    - ``nats``, float: see above; where shares of votes are taken, 1;
    - ``log_priors``, float64 per label;
    - ``voting``, bool: whether to take shares of votes instead, as in the first pass;
    - ``unit``, float: what a probability of 1 is stored as;
    - ``even``, int64: `fixed_point.shares`;
    - ``seed``, uint64, for ties;
    - ``counts``, int64, as long as ``log_odds``: expected answers are added; one-coin: expected
      right answers;
    - ``classes``, int64 per label, to which probabilities are added;
    - ``agreed``, int64 per worker, to which agreements are added;
    - ``truths``, ``confidence`` and ``tied``, one entry per task, to be filled.
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
        sums = np.empty(labels, np.int64)
        credit = np.empty(labels, np.int64)
        credits = np.empty((labels, block), np.int64)
        beliefs = no_beliefs(labels, block)
        entropy = np.int64(0)
        for first in range(0, len(offsets) - 1, block):
            count = min(block, len(offsets) - 1 - first)
            known = gold[first : first + count]
            for place in range(count):
                start, end = rows_of(offsets, first + place)
                for label in range(labels):
                    sums[label] = 0
                if voting:
                    for row in range(start, end):
                        sums[values[row]] += 1
                else:
                    _gather(start, end, worker_codes, values, log_odds, labels, one_coin, sums)
                for label in range(labels):
                    beliefs.votes[label, place] = sums[label] * nats + log_priors[label]
            if voting:
                log_counts(beliefs.votes, count)
            believe(beliefs, known)
            leave_out(beliefs, offsets[first : first + count + 1], known)
            entropy += to_units(beliefs, count, unit, credits, classes)
            for place in range(count):
                start, end = rows_of(offsets, first + place)
                for label in range(labels):
                    credit[label] = credits[label, place]
                _scatter(start, end, worker_codes, values, credit, labels, one_coin, counts)
            if not estimating:
                continue
            for place in range(count):
                start, end = rows_of(offsets, first + place)
                if start == end and known[place] < 0:
                    continue
                settle(
                    beliefs,
                    place,
                    first + place,
                    known[place],
                    draws[first + place],
                    seed,
                    even,
                    credit,
                    truths,
                    confidence,
                    tied,
                )
                for row in range(start, end):
                    agreed[worker_codes[row]] += credit[values[row]]
        return int(entropy)

    return confuse
