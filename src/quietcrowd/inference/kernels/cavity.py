"""What each report tells of its worker's accuracy, given what the other reports tell of the truth.

The posterior of a task's truth without a worker's own report is the cavity. Given the cavity, a
report is as likely as ``w c + (1 - w) b`` where the worker is right with probability w: ``c`` is
its probability if the answer was right, ``b`` if it was wrong. That is ``b (1 + w (exp(v) - 1))``
with ``v = ln(c / b)``, so that all reports of a worker are told by how often v came to lie where: a
histogram, beside the sum of ``ln b``. A v between two nodes counts for both, in proportion.
Derivation: ``docs/theory/workers-quality.md``.

Everything is added in whole numbers: no order of rows, tasks or labels changes a bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import exp_minus, log, to_integer, to_whole
from quietcrowd.inference.kernels.voting import rows_of

__all__ = ["SPREAD", "TOLD_ONE", "CavityVotes", "ReportLaws", "coin_cavities", "table_cavities"]

TOLD_ONE = 2.0**30
"""What a report, and a log-probability of 1, is stored as."""

SPREAD = 3.0
"""Nodes lie at ``SPREAD sinh(t)`` for even steps of t: as good as evenly within this of 0."""

_VOTE_ONE = 2.0**24
"""What log-odds of 1 are stored as: there is room for 10^10 votes of 12."""

_FINE = 2.0**44
_FINER_LABELS = 2**8
_LEAST = 1e-11


class CavityVotes(NamedTuple):
    """What a report adds to the log-odds of the labels, under each of the assumed crowds.

    The vote of worker i is ``trust_i`` times its own, cut at `most`, and ``1 - trust_i`` times that
    of a worker of the assumed crowd.

    Attributes
    ----------
    own : ndarray of int32 or int64
        In units of `nats`; of shape (workers,): log-odds of the label that a worker gives against
        any other; or, at place ``(worker labels + report) labels + truth``, log-likelihoods.
    nats : float
        See above.
    most : float
        No vote of a worker's own is larger.
    trust : ndarray of float64, shape (workers,)
        From 0 to 1.
    crowd : ndarray of float64, shape (crowds,) or (crowds, labels, labels)
        Log-odds of a report against any other label; or log-likelihoods at [crowd, report, truth].
    log_priors : ndarray of float64, shape (labels,)
        Log-frequency of each label.
    """

    own: npt.NDArray[Any]
    nats: float
    most: float
    trust: npt.NDArray[np.float64]
    crowd: npt.NDArray[np.float64]
    log_priors: npt.NDArray[np.float64]


class ReportLaws(NamedTuple):
    """How likely a report is under each of several channels.

    Attributes
    ----------
    right, wrong : ndarray of float64, shape (channels, labels, labels) or (channels, 2)
        P(report | truth) at [channel, report, truth] if the answer is right, and if it is wrong;
        or the same for all labels: that a report equals the truth, and that it is one other label.
    silent : ndarray of float64, shape (channels, labels)
        P(report) where the worker gave no answer.
    answering : ndarray of float64, shape (workers,)
        How often a worker's report comes from an answer of its own: 1 but where silence is hidden.
    nodes : ndarray of float64, shape (places,)
        Where v is counted.
    """

    right: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    silent: npt.NDArray[np.float64]
    answering: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _tell(
    right: float, wrong: float, nodes: npt.NDArray[np.float64], told: npt.NDArray[np.int64]
) -> None:
    """Add a report to a histogram, whose last place is the sum of the logarithms."""
    last = len(nodes) - 1
    span = nodes[last]
    low = log(wrong if wrong > _LEAST else _LEAST)
    v = log(right if right > _LEAST else _LEAST) - low
    if v > span:
        low += v - span
    v = min(max(v, -span), span)
    size = abs(v) / SPREAD
    stretched = log(size + np.sqrt(size * size + 1.0))
    size = span / SPREAD
    share = stretched / log(size + np.sqrt(size * size + 1.0))
    at = (1.0 + (share if v >= 0.0 else -share)) * 0.5 * last
    place = min(max(int(at), 0), last - 1)
    above = (v - nodes[place]) / (nodes[place + 1] - nodes[place])
    part = to_integer(min(max(above, 0.0), 1.0) * TOLD_ONE)
    told[place] += np.int64(TOLD_ONE) - part
    told[place + 1] += part
    told[last + 1] += to_integer(low * TOLD_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _fine(labels: int) -> float:
    """Return what 1.0 is stored as where shares of so many labels add up without rounding."""
    return _FINE if labels <= _FINER_LABELS else _FINE / 2.0**12


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _coin(votes: CavityVotes, worker: np.uint64, crowd: int) -> np.int64:
    """Return what a report adds to its label, in units."""
    odds = min(max(votes.own[worker] * votes.nats, -votes.most), votes.most)
    trust = votes.trust[worker]
    return to_integer((trust * odds + (1.0 - trust) * votes.crowd[crowd]) * _VOTE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _share_labels(
    sums: npt.NDArray[np.int64],
    log_priors: npt.NDArray[np.float64],
    votes: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
) -> tuple[float, float]:
    """Fill in log-odds and unnormalised shares in units; return the greatest vote and the total."""
    best, fine, total = -np.inf, _fine(len(sums)), 0.0
    for label in range(len(sums)):
        votes[label] = sums[label] / _VOTE_ONE + log_priors[label]
        best = max(best, votes[label])
    for label in range(len(sums)):
        shares[label] = to_whole(exp_minus(best - votes[label]) * fine)
        total += shares[label]
    return best, total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def coin_cavities(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known_truths: npt.NDArray[np.int32],
    votes: CavityVotes,
    laws: ReportLaws,
    told: npt.NDArray[np.int64],
) -> None:
    """Tell what reports say of workers where all labels are alike: one log-odds per worker.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths
        Of a `Partition`; worker codes as unsigned numbers.
    votes : CavityVotes
        One log-odds per worker.
    laws : ReportLaws
        Two probabilities per channel.
    told : ndarray of int64, shape (workers, crowds, channels, places + 1)
        To be added to.
    """
    labels = len(votes.log_priors)
    sums, odds, shares = np.empty(labels, np.int64), np.empty(labels), np.empty(labels)
    fine, others = _fine(labels), max(labels - 1, 1)
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        known = known_truths[task]
        for crowd in range(told.shape[1]):
            sums[:] = 0
            for row in range(start, end):
                sums[values[row]] += _coin(votes, worker_codes[row], crowd)
            best, total = _share_labels(sums, votes.log_priors, odds, shares)
            for row in range(start, end):
                worker, label = worker_codes[row], values[row]
                own = _coin(votes, worker, crowd) / _VOTE_ONE
                true = 1.0 if label == known else 0.0
                if known < 0:
                    without = np.exp(odds[label] - own - best) * fine
                    true = without / (total - shares[label] + without)
                for channel in range(told.shape[2]):
                    same, other = laws.right[channel]
                    right = true * same + (1.0 - true) * other
                    spread = (1.0 - true) / others
                    wrong = spread * same + (1.0 - spread) * other
                    share = laws.answering[worker]
                    silent = (1.0 - share) * laws.silent[channel, label]
                    _tell(
                        share * right + silent,
                        share * wrong + silent,
                        laws.nodes,
                        told[worker, crowd, channel],
                    )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_votes(
    votes: CavityVotes,
    worker: np.uint64,
    report: np.uint64,
    room: npt.NDArray[np.float64],
    filled: npt.NDArray[np.int64],
) -> None:
    """Fill in what a report adds to each label under each crowd, in units."""
    labels, trust = len(room), votes.trust[worker]
    if len(votes.own) == len(votes.trust):
        for label in range(labels):
            room[label] = 0.0
        room[report] = min(max(votes.own[worker] * votes.nats, -votes.most), votes.most)
    else:
        place = (worker * np.uint64(labels) + report) * np.uint64(labels)
        highest = votes.own[place]
        for label in range(labels):
            highest = max(highest, votes.own[place + np.uint64(label)])
        for label in range(labels):
            below = (votes.own[place + np.uint64(label)] - np.float64(highest)) * votes.nats
            room[label] = max(below, -votes.most)
    for crowd in range(len(filled)):
        for label in range(labels):
            vote = trust * room[label] + (1.0 - trust) * votes.crowd[crowd, report, label]
            filled[crowd, label] = to_integer(vote * _VOTE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _mix(
    law: npt.NDArray[np.float64], shares: npt.NDArray[np.float64], total: float, fine: float
) -> float:
    """Return the probability of a report, mixed over truths."""
    mixed = 0.0
    for label in range(len(shares)):
        mixed += to_whole(shares[label] / total * law[label] * fine)
    return mixed / fine


@numba.njit(nogil=True, cache=True, error_model="numpy")
def table_cavities(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known_truths: npt.NDArray[np.int32],
    votes: CavityVotes,
    laws: ReportLaws,
    told: npt.NDArray[np.int64],
) -> None:
    """Tell what reports say of workers, by tables; parameters as of `coin_cavities`."""
    labels, crowds = len(votes.log_priors), told.shape[1]
    sums, filled = np.empty((2, crowds, labels), np.int64)
    room, odds, shares = np.empty((3, labels))
    fine = _fine(labels)
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        known = known_truths[task]
        sums[:] = 0
        for row in range(start, end):
            _fill_votes(votes, worker_codes[row], values[row], room, filled)
            sums += filled
        for row in range(start, end):
            worker, report = worker_codes[row], values[row]
            _fill_votes(votes, worker, report, room, filled)
            for crowd in range(crowds):
                total = 1.0
                if known < 0:
                    for label in range(labels):
                        filled[crowd, label] = sums[crowd, label] - filled[crowd, label]
                    _, total = _share_labels(filled[crowd], votes.log_priors, odds, shares)
                else:
                    for label in range(labels):
                        shares[label] = 1.0 if label == known else 0.0
                for channel in range(told.shape[2]):
                    share = laws.answering[worker]
                    silent = (1.0 - share) * laws.silent[channel, report]
                    right = _mix(laws.right[channel, report], shares, total, fine)
                    wrong = _mix(laws.wrong[channel, report], shares, total, fine)
                    _tell(
                        share * right + silent,
                        share * wrong + silent,
                        laws.nodes,
                        told[worker, crowd, channel],
                    )
