"""The inner loop of `NoiseAware` for labels: posteriors of the tasks from reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.confusion import gather, scatter
from tests.reference.posteriors import (
    Beliefs,
    believe,
    block_of,
    leave_out,
    no_beliefs,
    scale_votes,
    settle,
    to_units,
)
from tests.reference.vector_math import exp_minus, log, to_integer

__all__ = ["ROUNDS", "LabelCounts", "LabelRoom", "compare", "correct", "noisy_label_kernel"]

ROUNDS = 3
"""So many times the last pass takes out what a report said of its own task by way of its worker."""


class LabelCounts(NamedTuple):
    """What a pass adds up, in whole units.

    Attributes
    ----------
    counts : ndarray of int64
        Expected reports, from place ``(worker reports + report) labels`` on one per truth.
    classes : ndarray of int64, shape (labels,)
        Expected tasks of each label.
    calibration : ndarray of int64
        For each temperature the log-probabilities of the known truths by their tasks' reports.
    agreed : ndarray of int64
        Per worker; see `posteriors.settle`.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    calibration: npt.NDArray[np.int64]
    agreed: npt.NDArray[np.int64]


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


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _take_twice(
    votes: npt.NDArray[np.float64],
    final: npt.NDArray[np.float64],
    count: int,
    twice: npt.NDArray[np.float64],
) -> None:
    """Fill in what `correct` takes from the final votes of a block, times its probability."""
    for label in range(len(votes)):
        for place in range(count):
            twice[label, place] = 2.0 * (final[label, place] - votes[label, place])


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _estimate(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known: npt.NDArray[np.int32],
    first: int,
    beliefs: Beliefs,
    draws: npt.NDArray[np.uint64],
    seed: np.uint64,
    even: npt.NDArray[np.int64],
    credit: npt.NDArray[np.int64],
    sums: LabelCounts,
    room: LabelRoom,
) -> None:
    """Fill in the estimates of a block that begins at task `first`; see `settle`."""
    end = first + len(known)
    settle(
        beliefs,
        offsets,
        worker_codes,
        values,
        known,
        draws[first:end],
        seed,
        even,
        credit,
        sums.agreed,
        room.truths[first:end],
        room.confidence[first:end],
        room.tied[first:end],
    )
    if len(room.posterior):
        for place in range(end - first):
            for label in range(room.posterior.shape[1]):
                room.posterior[first + place, label] = beliefs.shares[label, place]


@lru_cache(maxsize=64)
def noisy_label_kernel(labels: int) -> Callable[..., int]:
    """Return the kernel for so many labels, known when it is compiled.

    The kernel returns the sum of the entropies in units, and takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``known_truths`` of a `Partition`;
      worker codes as unsigned numbers;
    - ``reports``, int: how many kinds of reports there are;
    - ``log_odds`` and ``votes``, int32 in units of ``nats``: from place
      ``(worker reports + report) labels`` on what a report adds to each label's log-odds, while
      the crowd is learnt and in the last pass;
    - ``nats``, float: see above;
    - ``priors``, float64 per label: their logarithms;
    - ``last``, bool: whether this is the last pass, which takes ``votes``;
    - ``sharpness``, float: what log-odds are multiplied by for estimates;
    - ``temperatures``, float64: such factors, to compare with known truths;
    - ``unit`` and ``told_unit``, floats: what a probability, and a log-probability, of 1 is stored
      as;
    - ``even``, int64: `integer_sums.shares`;
    - ``seed``, uint64, for ties;
    - ``sums``, a `LabelCounts`, to which is added;
    - ``room``, a `LabelRoom`, to be filled in the last pass.
    """
    block = block_of(labels)

    @numba.njit(nogil=True, cache=True, error_model="numpy")
    def infer(
        offsets: npt.NDArray[np.int64],
        codes: npt.NDArray[np.uint32],
        values: npt.NDArray[Any],
        draws: npt.NDArray[np.uint64],
        known_truths: npt.NDArray[np.int32],
        reports: int,
        log_odds: npt.NDArray[np.int32],
        votes: npt.NDArray[np.int32],
        nats: float,
        priors: npt.NDArray[np.float64],
        last: bool,
        sharpness: float,
        temperatures: npt.NDArray[np.float64],
        unit: float,
        told_unit: float,
        even: npt.NDArray[np.int64],
        seed: np.uint64,
        sums: LabelCounts,
        room: LabelRoom,
    ) -> int:
        added, credit = np.empty(labels, np.int64), np.empty(labels, np.int64)
        all_credit = np.empty((labels, block), np.int64)
        final, twice = np.zeros((labels, block)), np.zeros((labels, block))
        damped = np.empty((labels, block))
        beliefs = no_beliefs(*damped.shape)
        learnt = beliefs.votes
        entropy = np.int64(0)
        for first in range(0, len(offsets) - 1, block):
            end = min(first + block, len(offsets) - 1)
            rows, known = offsets[first : end + 1], known_truths[first:end]
            gather(
                rows, codes, values, log_odds, labels, reports, False, nats, priors, added, learnt
            )
            if last or known.max() >= 0:
                gather(
                    rows, codes, values, votes, labels, reports, False, nats, priors, added, final
                )
                _take_twice(learnt, final, end - first, twice)
            if last:
                correct(beliefs, final, twice, damped, known)
            else:
                believe(beliefs, known)
            leave_out(beliefs, rows, known)
            entropy += to_units(beliefs, end - first, unit, all_credit, sums.classes)
            scatter(rows, codes, values, all_credit, labels, reports, False, credit, sums.counts)
            if known.max() >= 0:
                compare(rows, final, twice, known, temperatures, told_unit, sums.calibration)
            if last:
                scale_votes(beliefs, sharpness, end - first)
                believe(beliefs, known)
                _estimate(
                    rows,
                    codes,
                    values,
                    known,
                    first,
                    beliefs,
                    draws,
                    seed,
                    even,
                    credit,
                    sums,
                    room,
                )
        return int(entropy)

    return infer
