"""The inner loop of `NoiseAware` for labels: posteriors of the tasks from reports."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.posteriors import Beliefs, believe
from quietcrowd.inference.kernels.vector_math import exp_minus, log, to_integer

__all__ = ["ROUNDS", "LabelRoom", "compare", "correct"]

ROUNDS = 3
"""So many times the last pass takes out what a report said of its own task by way of its worker."""


class LabelRoom(NamedTuple):
    """Room for what a last pass says of its tasks: one entry each, or none in other passes.

    Attributes
    ----------
    truths, confidence, tied : ndarray
        As of `LabelEstimates`.
    posterior : ndarray of float64, shape (tasks, labels) or (0, labels)
        The probability of each label.
    """

    truths: npt.NDArray[Any]
    confidence: npt.NDArray[np.float64]
    tied: npt.NDArray[np.bool_]
    posterior: npt.NDArray[np.float64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def correct(
    beliefs: Beliefs,
    votes: npt.NDArray[np.float64],
    twice: npt.NDArray[np.float64],
    damped: npt.NDArray[np.float64],
    known: npt.NDArray[np.int32],
) -> None:
    """Make votes those of what the workers are believed to be without the task's own reports.

    Parameters
    ----------
    beliefs : Beliefs
        To be filled.
    votes, twice : ndarray, shape (labels, block)
        Log-odds, and what is taken from each, times its probability.
    damped : ndarray, shape (labels, block)
        Room.
    known : ndarray of int32
        As of `believe`.
    """
    for label in range(len(votes)):
        for place in range(len(known)):
            beliefs.votes[label, place] = votes[label, place]
    believe(beliefs, known)
    for label in range(len(votes)):
        for place in range(len(known)):
            damped[label, place] = beliefs.shares[label, place]
    for i in range(ROUNDS):
        for label in range(len(votes)):
            for place in range(len(known)):
                beliefs.votes[label, place] = (
                    votes[label, place] - damped[label, place] * twice[label, place]
                )
        believe(beliefs, known)
        if i < ROUNDS - 1:
            for label in range(len(votes)):
                for place in range(len(known)):
                    damped[label, place] = (
                        damped[label, place] + beliefs.shares[label, place]
                    ) / 2.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def compare(
    offsets: npt.NDArray[np.int64],
    votes: npt.NDArray[np.float64],
    twice: npt.NDArray[np.float64],
    known: npt.NDArray[np.int32],
    temperatures: npt.NDArray[np.float64],
    unit: float,
    calibration: npt.NDArray[np.int64],
) -> None:
    """Add the log-probabilities that reports give known truths, at each temperature."""
    labels = len(votes)
    for place in range(len(known)):
        truth = known[place]
        if truth < 0 or offsets[place] == offsets[place + 1]:
            continue
        votes[truth, place] -= twice[truth, place]
        best = votes[0, place]
        for label in range(1, labels):
            best = max(best, votes[label, place])
        for i in range(len(temperatures)):
            total = 0.0
            for label in range(labels):
                total += exp_minus((best - votes[label, place]) * temperatures[i])
            told = (votes[truth, place] - best) * temperatures[i] - log(total)
            calibration[i] += to_integer(max(told, -1e3) * unit)
