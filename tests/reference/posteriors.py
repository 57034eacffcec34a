"""From log-odds to probabilities of labels: what all posteriors share.

Some tasks are done side by side, so that vector registers hold several. Whatever is added over
labels is rounded to whole numbers first. A posterior is the same to the last bit for any order of
rows, any names of labels, and whatever tasks stand beside its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.vector_math import exp_minus, log, to_integer, to_whole
from tests.reference.voting import pick_tied, rows_of

__all__ = [
    "Beliefs",
    "believe",
    "block_of",
    "leave_out",
    "log_counts",
    "no_beliefs",
    "scale_votes",
    "settle",
    "to_units",
]

_NO_VOTE = -64.0


class Beliefs(NamedTuple):
    """What is believed of some tasks that stand side by side.

    Attributes
    ----------
    votes : ndarray of float64, shape (labels, block)
        Log-odds of each label.
    shares : ndarray of float64, shape (labels, block)
        The probability of each label.
    best : ndarray of float64, shape (block,)
        The greatest vote, or that for the known label.
    rest : ndarray of float64, shape (block,)
        The logarithm of the sum of all ``exp(vote - best)``; 0 where the label is known.
    """

    votes: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    best: npt.NDArray[np.float64]
    rest: npt.NDArray[np.float64]


def block_of(labels: int) -> int:
    """Return how many tasks are done side by side."""
    return max(8, min(64, 2048 // labels))


@numba.njit(nogil=True, cache=True)
def no_beliefs(labels: int, block: int) -> Beliefs:
    """Return room for what is believed of a block of tasks."""
    return Beliefs(
        np.empty((labels, block)), np.empty((labels, block)), np.empty(block), np.empty(block)
    )


@numba.njit(nogil=True, cache=True)
def _unit_for(labels: int) -> float:
    """Return what 1.0 is stored as where so many of them add up in a float without rounding."""
    unit = 2.0**50
    while unit * labels > 2.0**52:
        unit /= 2.0
    return unit


@numba.njit(nogil=True, cache=True, error_model="numpy")
def log_counts(counts: npt.NDArray[np.float64], tasks: int) -> None:
    """Turn counts of votes on tasks into log-odds whose probabilities are the shares of the votes.

    A label without votes gets probability 2e-28.
    """
    for label in range(len(counts)):
        for place in range(tasks):
            count = counts[label, place]
            counts[label, place] = log(max(count, 1.0)) if count > 0.0 else _NO_VOTE


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def scale_votes(beliefs: Beliefs, factor: float, count: int) -> None:
    """Multiply the votes of the first `count` tasks.

    A loop, as everywhere in the kernels where arrays are copied: ``a[:] = b`` brings in texts for
    the error of two shapes, which take longer to compile than most kernels do.
    """
    for label in range(len(beliefs.votes)):
        for place in range(count):
            beliefs.votes[label, place] *= factor


@numba.njit(nogil=True, cache=True, error_model="numpy")
def believe(beliefs: Beliefs, known: npt.NDArray[np.int32]) -> None:
    """Fill in the probabilities of labels, given the votes.

    Parameters
    ----------
    beliefs : Beliefs
        With votes.
    known : ndarray of int32
        One entry per task: the label that is known to be true, its probability is 1; or -1.
    """
    votes, shares, best, rest = beliefs
    count, unit = len(known), _unit_for(len(votes))
    for place in range(count):
        best[place] = votes[0, place]
        rest[place] = 0.0
    for label in range(1, len(votes)):
        for place in range(count):
            vote = votes[label, place]
            best[place] = vote if vote > best[place] else best[place]
    for label in range(len(votes)):
        for place in range(count):
            share = exp_minus(best[place] - votes[label, place])
            shares[label, place] = share
            rest[place] += to_whole(share * unit)
    for label in range(len(votes)):
        for place in range(count):
            shares[label, place] *= unit / rest[place]
    for place in range(count):
        rest[place] = log(rest[place] / unit)
    for place in range(count):
        if known[place] >= 0:
            for label in range(len(votes)):
                shares[label, place] = 1.0 if label == known[place] else 0.0
            best[place] = votes[known[place], place]
            rest[place] = 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def leave_out(
    beliefs: Beliefs, offsets: npt.NDArray[np.int64], known: npt.NDArray[np.int32]
) -> None:
    """Make the probabilities of tasks 0 that have neither an answer nor a known truth."""
    for place in range(len(known)):
        if offsets[place] == offsets[place + 1] and known[place] < 0:
            beliefs.shares[:, place] = 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def to_units(
    beliefs: Beliefs,
    count: int,
    unit: float,
    credit: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
) -> np.int64:
    """Fill in probabilities in units, add them to the classes, and return their entropy.

    Parameters
    ----------
    beliefs : Beliefs
        As `believe` leaves them.
    count : int
        How many tasks there are.
    unit : float
        What 1.0 is stored as, at most 2^44.
    credit : ndarray of int64, shape (labels, block)
        To be filled.
    classes : ndarray of int64, shape (labels,)
        To be added to.
    """
    votes, shares, best, rest = beliefs
    entropy = np.int64(0)
    for label in range(len(votes)):
        total = np.int64(0)
        for place in range(count):
            share = shares[label, place] * unit
            credit[label, place] = to_integer(share)
            total += credit[label, place]
            entropy += to_integer(share * (rest[place] + (best[place] - votes[label, place])))
        classes[label] += total
    return entropy


@numba.njit(nogil=True, cache=True)
def _settle_task(
    votes: npt.NDArray[np.float64],
    best: float,
    known: int,
    draw: np.uint64,
    seed: np.uint64,
    even: npt.NDArray[np.int64],
    credit: npt.NDArray[np.int64],
) -> tuple[int, bool]:
    """Fill in what an answer of each label is credited; return the truth, and if it is tied."""
    if known >= 0:
        credit[:] = 0
        credit[known] = even[1]
        return known, False
    winners = 0
    for label in range(len(credit)):
        winners += votes[label] == best
    for label in range(len(credit)):
        credit[label] = even[winners] if votes[label] == best else 0
    return pick_tied(votes, best, winners, draw, seed), winners > 1


@numba.njit(nogil=True, cache=True)
def settle(
    beliefs: Beliefs,
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known: npt.NDArray[np.int32],
    draws: npt.NDArray[np.uint64],
    seed: np.uint64,
    even: npt.NDArray[np.int64],
    credit: npt.NDArray[np.int64],
    agreed: npt.NDArray[np.int64],
    truths: npt.NDArray[Any],
    confidence: npt.NDArray[np.float64],
    tied: npt.NDArray[np.bool_],
) -> None:
    """Fill in the estimates of a block of tasks, and credit the workers who agree.

    The truth is the most probable label, its confidence the probability. The credit goes to the
    truth or is shared by the labels that tie; reports that are no labels have none. A task with
    neither an answer nor a known truth is left out.

    Parameters
    ----------
    beliefs : Beliefs
        As `believe` leaves them.
    offsets, known, draws, truths, confidence, tied : ndarray
        Of the block's tasks alone, otherwise as of a `Partition` and of `LabelEstimates`.
    worker_codes, values : ndarray
        Of all tasks.
    seed : uint64
        For ties.
    even : ndarray of int64
        `integer_sums.shares`.
    credit : ndarray of int64, shape (labels,)
        Room.
    agreed : ndarray of int64
        Per worker, to which credits are added.
    """
    for place in range(len(known)):
        start, end = rows_of(offsets, place)
        if start == end and known[place] < 0:
            continue
        truth, is_tied = _settle_task(
            beliefs.votes[:, place],
            beliefs.best[place],
            known[place],
            draws[place],
            seed,
            even,
            credit,
        )
        truths[place] = truth
        tied[place] = is_tied
        confidence[place] = beliefs.shares[truth, place]
        for row in range(start, end):
            if values[row] < len(credit):
                agreed[worker_codes[row]] += credit[values[row]]
