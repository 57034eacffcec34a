"""The inner loop of voting, and ties: serial functions over plain arrays that Numba compiles.

They hold no lock, so that a pool of threads can run them on runs of tasks, and they add in
integers alone, so that neither threads nor partitions change a bit of what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["hash_texts", "pick_tied", "rows_of", "vote_kernel"]

_FNV_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_FINE = 2.0**50


@numba.njit(nogil=True, cache=True)
def _mix(word: np.uint64) -> np.uint64:
    """Scramble 64 bits so that every input bit reaches every output bit (splitmix64's finish)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def hash_texts(
    ends: npt.NDArray[np.int64], payload: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint64]:
    """Hash each of the texts ``payload[ends[i]:ends[i + 1]]`` to 64 bits (FNV-1a, then mixed)."""
    hashes = np.empty(len(ends) - 1, np.uint64)
    for text in range(len(hashes)):
        word = _FNV_BASIS
        for place in range(ends[text], ends[text + 1]):
            word = (word ^ np.uint64(payload[place])) * _FNV_PRIME
        hashes[text] = _mix(word)
    return hashes


@numba.njit(nogil=True, cache=True)
def pick_tied(
    votes: npt.NDArray[Any], best: Any, tied: int, draw: np.uint64, seed: np.uint64
) -> int:
    """Return one of the labels with the most votes, each with the same chance.

    Votes are whole numbers or floats. `best` is how many votes they have, `tied` how many labels
    have them; `draw` is of the task.
    """
    high_bits = _mix(draw ^ _mix(seed)) >> np.uint64(32)
    left = np.int64((high_bits * np.uint64(tied)) >> np.uint64(32))
    for label in range(len(votes)):
        if votes[label] == best:
            if left == 0:
                return label
            left -= 1
    return 0


@numba.njit(nogil=True, cache=True)
def _share_of_best(votes: npt.NDArray[np.int64], best: np.int64, nats: float) -> float:
    """Return the winner's share of the softmax of the votes, or of the votes where nats is 0.

    Summed in steps of 2^-50, so that the order of the labels does not show.
    """
    total = np.int64(0)
    if nats > 0:
        for label in range(len(votes)):
            total += np.int64(np.exp((votes[label] - best) * nats) * _FINE)
        return _FINE / total
    for label in range(len(votes)):
        total += votes[label]
    return best / total if total > 0 else np.nan


@numba.njit(nogil=True, cache=True, inline="always")
def rows_of(offsets: npt.NDArray[np.int64], task: int) -> tuple[np.uint64, np.uint64]:
    """Return the first row of a task and the one after its last.

    They are unsigned, so that no place has to be tested for counting from the end.
    """
    return np.uint64(offsets[task]), np.uint64(offsets[task + 1])


@lru_cache(maxsize=64)
def vote_kernel(labels: int, *, estimating: bool) -> Callable[..., None]:
    """Return the kernel of weighted voting for a number of labels.

    Both parameters are known when it is compiled: with `estimating` it fills in the estimates,
    without it only tallies.

    The kernel takes, in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``known_truths`` of a `Partition`;
      worker codes as unsigned numbers, which spares a test for negative places;
    - ``weights``, int64 per worker: what a vote counts;
    - ``shares``, int64: what an answer is credited where ``i`` labels tie, at place ``i``;
    - ``nats``, float: how much log-odds a vote of 1 is, or 0 where votes are mere counts;
    - ``seed``, uint64, for ties;
    - ``agreement``, int64 per worker, to which the credits are added;
    - ``truths``, ``confidence`` and ``tied``, one entry per task, to be filled if estimating.
      Confidence is the share of the softmax of the votes, or of the votes.
    """

    @numba.njit(nogil=True, cache=True)
    def vote(
        offsets: npt.NDArray[np.int64],
        worker_codes: npt.NDArray[np.uint32],
        values: npt.NDArray[Any],
        draws: npt.NDArray[np.uint64],
        known_truths: npt.NDArray[np.int32],
        weights: npt.NDArray[np.int64],
        shares: npt.NDArray[np.int64],
        nats: float,
        seed: np.uint64,
        agreement: npt.NDArray[np.int64],
        truths: npt.NDArray[Any],
        confidence: npt.NDArray[np.float64],
        tied: npt.NDArray[np.bool_],
    ) -> None:
        votes = np.empty(labels, np.int64)
        credit = np.empty(labels, np.int64)
        for task in range(len(offsets) - 1):
            start, end = rows_of(offsets, task)
            for label in range(labels):
                votes[label] = 0
            for row in range(start, end):
                votes[values[row]] += weights[worker_codes[row]]
            best = votes[0]
            for label in range(1, labels):
                best = max(best, votes[label])
            winners = 0
            for label in range(labels):
                winners += votes[label] == best
            share = shares[winners]
            for label in range(labels):
                credit[label] = share if votes[label] == best else 0
            known = known_truths[task]
            if known >= 0:
                for label in range(labels):
                    credit[label] = shares[1] if label == known else 0
            for row in range(start, end):
                agreement[worker_codes[row]] += credit[values[row]]
            if estimating and known >= 0:
                truths[task] = known
                confidence[task] = 1.0
            elif estimating:
                truths[task] = pick_tied(votes, best, winners, draws[task], seed)
                tied[task] = winners > 1
                confidence[task] = _share_of_best(votes, best, nats)

    return vote
