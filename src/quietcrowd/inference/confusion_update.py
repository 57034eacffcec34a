"""From expected confusions to log-probabilities: the update of Dawid-Skene with matrices."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.vector_math import log, to_integer

__all__ = ["learn_confusions"]

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
