"""The inner loop of Dawid-Skene: posteriors of the tasks, expected confusions of the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference import fixed_point
from quietcrowd.inference.posteriors import believe, log_counts, settle

__all__ = ["confusion_kernel"]

_NATS = 1.0 / fixed_point.ONE


@numba.njit(nogil=True, cache=True)
def _to_units(
    votes: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
    evidence: float,
    unit: float,
    credit: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
) -> np.int64:
    """Fill in the probabilities in units, add them to the classes, and return their entropy."""
    entropy = np.int64(0)
    for label in range(len(votes)):
        share = shares[label] * unit
        credit[label] = np.int64(np.rint(share))
        classes[label] += credit[label]
        entropy += np.int64(np.rint(share * (evidence - votes[label] * _NATS)))
    return entropy


@numba.njit(nogil=True, cache=True)
def _gather(
    workers: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    log_odds: npt.NDArray[np.int64],
    labels: int,
    one_coin: bool,
    votes: npt.NDArray[np.int64],
) -> None:
    """Add the log-odds of a task's answers to the votes."""
    for row in range(len(workers)):
        if one_coin:
            votes[values[row]] += log_odds[workers[row], 0]
        else:
            place = np.uint64(workers[row]) * np.uint64(labels) + np.uint64(values[row])
            for label in range(labels):
                votes[label] += log_odds[place, label]


@numba.njit(nogil=True, cache=True)
def _scatter(
    workers: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    credit: npt.NDArray[np.int64],
    labels: int,
    one_coin: bool,
    counts: npt.NDArray[np.int64],
) -> None:
    """Add the probabilities of a task's labels to the records of those who answered."""
    for row in range(len(workers)):
        if one_coin:
            counts[workers[row], 0] += credit[values[row]]
        else:
            place = np.uint64(workers[row]) * np.uint64(labels) + np.uint64(values[row])
            for label in range(labels):
                counts[place, label] += credit[label]


@lru_cache(maxsize=64)
def confusion_kernel(labels: int, *, one_coin: bool, estimating: bool) -> Callable[..., int]:
    """Return the kernel of Dawid-Skene for a number of labels.

    All parameters are known when it is compiled: with `one_coin` a worker is one number, with
    `estimating` it fills in the estimates and tallies agreements.

    The kernel returns the sum of the entropies in units, and takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``gold`` of a `Partition`; worker codes
      as unsigned numbers;
    - ``log_odds``, int64 in units of 2^-32: row ``worker labels + answer`` holds the
      log-likelihoods of the answer for each truth; one-coin: row ``worker`` holds the one log-odds
      of its answer against another;
    - ``log_priors``, int64 per label, in the same units;
    - ``voting``, bool: whether to take shares of votes instead, as in the first pass;
    - ``unit``, float: what a probability of 1 is stored as;
    - ``even``, int64: `fixed_point.shares`;
    - ``seed``, uint64, for ties;
    - ``counts``, int64, of the shape of ``log_odds``: expected answers are added; one-coin:
      expected right answers;
    - ``classes``, int64 per label, to which probabilities are added;
    - ``agreed``, int64 per worker, to which agreements are added;
    - ``truths``, ``confidence`` and ``tied``, one entry per task, to be filled.
    """

    @numba.njit(nogil=True, cache=True)
    def confuse(
        offsets: npt.NDArray[np.int64],
        worker_codes: npt.NDArray[np.uint32],
        values: npt.NDArray[Any],
        draws: npt.NDArray[np.uint64],
        gold: npt.NDArray[np.int32],
        log_odds: npt.NDArray[np.int64],
        log_priors: npt.NDArray[np.int64],
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
        votes = np.empty(labels, np.int64)
        credit = np.empty(labels, np.int64)
        shares = np.empty(labels, np.float64)
        entropy = np.int64(0)
        for task in range(len(offsets) - 1):
            start, end, known = offsets[task], offsets[task + 1], gold[task]
            if start == end and known < 0:
                continue
            for label in range(labels):
                votes[label] = 0 if voting else log_priors[label]
            if voting:
                for row in range(start, end):
                    votes[values[row]] += 1
                log_counts(votes)
            else:
                _gather(
                    worker_codes[start:end], values[start:end], log_odds, labels, one_coin, votes
                )
            evidence = believe(votes, known, shares)
            entropy += _to_units(votes, shares, evidence, unit, credit, classes)
            _scatter(worker_codes[start:end], values[start:end], credit, labels, one_coin, counts)
            if estimating:
                settle(
                    task,
                    votes,
                    shares,
                    known,
                    draws[task],
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
