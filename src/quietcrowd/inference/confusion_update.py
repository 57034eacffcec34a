"""From expected answers to log-probabilities: the updates of Dawid-Skene."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import log, to_integer

__all__ = ["learn_coins", "learn_confusions"]

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
