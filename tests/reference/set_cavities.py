"""What each set of labels tells of its worker's accuracy, given what the others tell of the truth.

As `cavity`, for reports that are sets: given the posterior of a task without the worker's own set,
that set is as likely as ``w c + (1 - w) b``, up to one factor, where the worker is right with
probability w. Votes are those of the last pass of `label_sets`.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.cavity import lookup_of, make_known_certain, tell
from tests.reference.label_sets import (
    SHARE_ONE,
    SetSigns,
    SetWorkers,
    expected_votes,
    read_set,
)
from tests.reference.vector_math import exp_minus, to_whole
from tests.reference.voting import rows_of

__all__ = ["set_cavities"]

_VOTE_ONE = 2.0**32
_FINE = 2.0**40


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_shares(
    sums: npt.NDArray[np.int64],
    own: npt.NDArray[np.int64],
    priors: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
) -> None:
    """Fill in how probable each label is by all votes but a report's own."""
    best, total = -np.inf, 0.0
    for label in range(len(shares)):
        shares[label] = (sums[label] - own[label]) / _VOTE_ONE + priors[label]
        best = max(best, shares[label])
    for label in range(len(shares)):
        shares[label] = to_whole(exp_minus(best - shares[label]) * _FINE)
        total += shares[label]
    for label in range(len(shares)):
        shares[label] /= total


@numba.njit(nogil=True, cache=True)
def _copy(source: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> None:
    """Copy to the first places of the target; see `posteriors.scale_votes` why not at once."""
    for place in range(len(source)):
        target[place] = source[place]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def set_cavities(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[np.int64],
    known_truths: npt.NDArray[np.int32],
    signs: SetSigns,
    workers: SetWorkers,
    priors: npt.NDArray[np.float64],
    nodes: npt.NDArray[np.float64],
    first_worker: int,
    histograms: npt.NDArray[np.int64],
) -> None:
    """Tell what sets say of workers.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths
        Of a `Partition`; worker codes as unsigned numbers.
    signs, workers
        See `label_sets`.
    priors : ndarray of float64, shape (labels,)
        Log-frequencies of the labels.
    nodes : ndarray of float64, shape (places,)
        Where the log-ratio of c and b is counted.
    first_worker, histograms
        As of `cavity.coin_cavities`; all assumed crowds are told the same.
    """
    labels, members = len(priors), len(signs.binomials)
    ratio, lookup = signs.gain + 1.0, lookup_of(nodes)
    longest = 1
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    codes, held = np.empty((longest, members), np.int64), np.empty((longest, labels), np.bool_)
    own, bases = np.empty((longest, labels), np.int64), np.empty(labels)
    right, wrong, shares = np.empty(longest), np.empty(longest), np.empty((labels, longest))
    rights, wrongs = np.empty(longest), np.empty(longest)
    alone, mine = np.empty(labels), np.empty(labels, np.int64)
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        count = int(end - start)
        mine[:] = 0
        for row in range(count):
            read_set(values[start + np.uint64(row)], signs.binomials, codes[row])
            held[row] = False
            for place in range(members):
                held[row, codes[row, place]] = True
            for label in range(labels):
                total = np.int64(0)
                for place in range(members):
                    total += signs.mistakes[codes[row, place], label]
                bases[label] = 1.0 + signs.gain * (total / SHARE_ONE)
            worker = worker_codes[start + np.uint64(row)]
            expected_votes(worker, codes[row], held[row], bases, ratio, workers, own[row])
            for label in range(labels):
                mine[label] += own[row, label]
        for row in range(count):
            _fill_shares(mine, own[row], priors, alone)
            _copy(alone, shares[:, row])
        if known_truths[task] >= 0:
            make_known_certain(np.array([0, count]), known_truths[task : task + 1], shares)
        for row in range(count):
            inside = 0.0
            for place in range(members):
                inside += to_whole(shares[codes[row, place], row] * _FINE)
            inside = min(inside / _FINE, 1.0)
            others = (members - inside) / (labels - 1)
            right[row] = 1.0 + signs.gain * inside
            wrong[row] = 1.0 + signs.gain * others
        for crowd in range(histograms.shape[1]):
            _copy(right[:count], rights)
            _copy(wrong[:count], wrongs)
            tell(
                rights[:count],
                wrongs[:count],
                nodes,
                lookup,
                worker_codes[start:end],
                crowd,
                0,
                first_worker,
                histograms,
            )
