"""From a task's log-odds to probabilities of its labels: what all posteriors share.

Log-odds are sums of integers, in units of 2^-32, and so is whatever is added over labels. A
posterior is the same to the last bit for any order of rows and any names of labels.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference import fixed_point
from quietcrowd.inference.kernels import pick_tied

__all__ = ["believe", "log_counts", "settle"]

_NATS = 1.0 / fixed_point.ONE
_FINE = 2.0**44
_NO_VOTE = -64 * fixed_point.ONE


@numba.njit(nogil=True, cache=True)
def log_counts(votes: npt.NDArray[np.int64]) -> None:
    """Turn counts of votes into log-odds whose probabilities are the shares of the votes.

    A label without votes gets probability 2e-28.
    """
    for label in range(len(votes)):
        count = votes[label]
        votes[label] = np.int64(np.rint(np.log(count) / _NATS)) if count > 0 else _NO_VOTE


@numba.njit(nogil=True, cache=True)
def believe(votes: npt.NDArray[np.int64], known: int, shares: npt.NDArray[np.float64]) -> float:
    """Fill in the probability of each label; return the log of what they are normalised by.

    Parameters
    ----------
    votes : ndarray of int64, shape (labels,)
        Log-odds in units of 2^-32.
    known : int
        The label that is known to be true, or -1: its probability is 1.
    shares : ndarray of float64, shape (labels,)
        To be filled.
    """
    if known >= 0:
        for label in range(len(votes)):
            shares[label] = 1.0 if label == known else 0.0
        return float(votes[known] * _NATS)
    best = votes[0]
    for label in range(1, len(votes)):
        best = max(best, votes[label])
    total = np.int64(0)
    for label in range(len(votes)):
        shares[label] = np.exp((votes[label] - best) * _NATS)
        total += np.int64(shares[label] * _FINE)
    whole = total / _FINE
    for label in range(len(votes)):
        shares[label] /= whole
    return float(best * _NATS + np.log(whole))


@numba.njit(nogil=True, cache=True)
def settle(
    task: int,
    votes: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
    known: int,
    draw: np.uint64,
    seed: np.uint64,
    even: npt.NDArray[np.int64],
    credit: npt.NDArray[np.int64],
    truths: npt.NDArray[Any],
    confidence: npt.NDArray[np.float64],
    tied: npt.NDArray[np.bool_],
) -> None:
    """Fill in the estimates of a task, and what an answer of each label is credited.

    The truth is the most probable label, its confidence the probability. The credit goes to the
    truth or is shared by the labels that tie; `even` is `fixed_point.shares`.
    """
    for label in range(len(votes)):
        credit[label] = even[1] if label == known else 0
    truth = known
    if known < 0:
        best = votes[0]
        for label in range(1, len(votes)):
            best = max(best, votes[label])
        winners = 0
        for label in range(len(votes)):
            winners += votes[label] == best
        for label in range(len(votes)):
            credit[label] = even[winners] if votes[label] == best else 0
        truth = pick_tied(votes, best, winners, draw, seed)
        tied[task] = winners > 1
    truths[task] = truth
    confidence[task] = shares[truth]
