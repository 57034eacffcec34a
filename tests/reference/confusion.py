"""The inner loops of Dawid-Skene: posteriors of the tasks, and what is learnt of the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.posteriors import (
    believe,
    block_of,
    leave_out,
    log_counts,
    no_beliefs,
    settle,
    to_units,
)
from tests.reference.vector_math import add_vector, log, to_integer
from tests.reference.voting import rows_of

__all__ = [
    "confusion_kernel",
    "gather",
    "learn_coins",
    "learn_confusions",
    "scatter",
]


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


@lru_cache(maxsize=64)
def confusion_kernel(labels: int, *, one_coin: bool) -> Callable[..., int]:
    """Return the kernel of Dawid-Skene for a number of labels.

    Both parameters are known when it is compiled; with `one_coin` a worker is one number.

    The kernel returns the sum of the entropies in units, and takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``known_truths`` of a `Partition`;
      worker codes as unsigned numbers;
    - ``log_odds``, int32 in units of ``nats``, one after the other: from place ``(worker
      labels + answer) labels`` on the log-likelihoods of the answer for each truth; one-coin: at
      place ``worker`` the one log-odds of its answer against another;
    - ``nats``, float: see above;
    - ``log_priors``, float64 per label;
    - ``voting``, bool: whether to take shares of votes instead, as in the first pass;
    - ``unit``, float: what a probability of 1 is stored as;
    - ``even``, int64: `integer_sums.shares`;
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
        known_truths: npt.NDArray[np.int32],
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
        beliefs = no_beliefs(*all_credit.shape)
        entropy = np.int64(0)
        for first in range(0, len(offsets) - 1, block):
            last = min(first + block, len(offsets) - 1)
            rows, known = offsets[first : last + 1], known_truths[first:last]
            if voting:
                _count(rows, values, beliefs.votes)
            else:
                gather(
                    rows,
                    worker_codes,
                    values,
                    log_odds,
                    labels,
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
            scatter(
                rows, worker_codes, values, all_credit, labels, labels, one_coin, credit, counts
            )
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


BLOCK = 1024
"""About so many cells are done at once."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_records(
    counts: npt.NDArray[np.int64],
    labels: int,
    added: int,
    added_right: int,
    least: int,
    records: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
) -> None:
    """Fill in counts with what is added to them, and their shares of their truth's."""
    totals = np.empty(labels, np.int64)
    for worker in range(len(counts) // (labels * labels)):
        totals[:] = 0
        first = np.uint64(worker * labels * labels)
        place = first
        for answer in range(labels):
            for truth in range(labels):
                extra = added_right if answer == truth else added
                record = max(counts[place] + extra, least)
                records[place] = record
                totals[truth] += record
                place += np.uint64(1)
        place = first
        for _ in range(labels):
            for truth in range(labels):
                shares[place] = records[place] / totals[truth]
                place += np.uint64(1)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_logs(
    records: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    one: float,
    unit: float,
    log_odds: npt.NDArray[np.int32],
) -> np.int64:
    """Fill in the logarithms of the shares; return the sum of their products with the records."""
    climbed = np.int64(0)
    for place in range(len(log_odds)):
        likely = log(shares[place])
        climbed += to_integer(records[place] * unit * likely)
        log_odds[place] = to_integer(likely * one)
    return climbed


@numba.njit(nogil=True, cache=True, error_model="numpy")
def learn_confusions(
    counts: npt.NDArray[np.int64],
    labels: int,
    added: int,
    added_right: int,
    least: int,
    one: float,
    unit: float,
    log_odds: npt.NDArray[np.int32],
) -> np.int64:
    """Fill in the log-probabilities of all workers' answers.

    Parameters
    ----------
    counts : ndarray of int64, shape (workers * labels * labels,)
        Expected answers, in the order worker, answer, truth.
    labels : int
        How many there are.
    added, added_right : int
        What is added to a count of wrong, and of right answers, in the same units.
    least : int
        No count is less.
    one : float
        What 1.0 is stored as in `log_odds`.
    unit : float
        What 1 of a count times 1.0 is stored as in what is returned. Products are stored as at most
        2^50, and their sum as at most 2^62.
    log_odds : ndarray of int32, of the shape of `counts`
        To be filled.

    Returns
    -------
    int
        The sum of the counts, with what is added, times their log-probabilities.
    """
    cells = labels * labels
    block = max(BLOCK // cells, 1) * cells
    records, shares = np.empty(block), np.empty(block)
    climbed = np.int64(0)
    for first in range(0, len(counts), block):
        end = min(first + block, len(counts))
        room = end - first
        _fill_records(
            counts[first:end], labels, added, added_right, least, records[:room], shares[:room]
        )
        climbed += _fill_logs(records[:room], shares[:room], one, unit, log_odds[first:end])
    return climbed


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_coin_records(
    right_counts: npt.NDArray[np.int64],
    answers: npt.NDArray[np.int64],
    one_answer: float,
    added_wrong: int,
    added_right: int,
    least: int,
    right: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64],
) -> None:
    """Fill in right and wrong answers with what is added to them."""
    for worker in range(len(right)):
        of_all = np.int64(answers[worker] * one_answer)
        right[worker] = max(right_counts[worker] + added_right, least)
        wrong[worker] = max(of_all - right_counts[worker] + added_wrong, least)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_coins(
    right: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64],
    log_others: float,
    one: float,
    unit: float,
    log_odds: npt.NDArray[np.int32],
) -> np.int64:
    """Fill in log-odds; return the sum of the records times their log-probabilities."""
    climbed = np.int64(0)
    for worker in range(len(log_odds)):
        total = right[worker] + wrong[worker]
        log_right = log(right[worker] / total)
        log_wrong = log(wrong[worker] / total) - log_others
        climbed += to_integer(unit * (right[worker] * log_right + wrong[worker] * log_wrong))
        log_odds[worker] = to_integer((log_right - log_wrong) * one)
    return climbed


@numba.njit(nogil=True, cache=True, error_model="numpy")
def learn_coins(
    right_counts: npt.NDArray[np.int64],
    answers: npt.NDArray[np.int64],
    one_answer: float,
    others: int,
    added_wrong: int,
    added_right: int,
    least: int,
    one: float,
    unit: float,
    log_odds: npt.NDArray[np.int32],
) -> np.int64:
    """Fill in the log-odds of the label that a worker gives against each other one.

    Parameters
    ----------
    right_counts : ndarray of int64, shape (workers,)
        Expected right answers.
    answers : ndarray of int64, shape (workers,)
        How many each worker gave.
    one_answer : float
        What one of them is in units of `right_counts`.
    others : int
        How many labels are wrong; each is as likely.
    added_wrong, added_right, least, one, unit, log_odds
        As of `learn_confusions`; `log_odds` has one per worker.

    Returns
    -------
    int
        The sum of right and wrong answers, with what is added, times their log-probabilities.
    """
    log_others = np.log(float(others))
    right, wrong = np.empty(BLOCK), np.empty(BLOCK)
    climbed = np.int64(0)
    for first in range(0, len(right_counts), BLOCK):
        end = min(first + BLOCK, len(right_counts))
        room = end - first
        _fill_coin_records(
            right_counts[first:end],
            answers[first:end],
            one_answer,
            added_wrong,
            added_right,
            least,
            right[:room],
            wrong[:room],
        )
        climbed += _fill_coins(
            right[:room], wrong[:room], log_others, one, unit, log_odds[first:end]
        )
    return climbed
