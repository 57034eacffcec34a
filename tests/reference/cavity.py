"""What each report tells of its worker's accuracy, given what the other reports tell of the truth.

The posterior of a task's truth without a worker's own report is the cavity. Given the cavity, a
report is as likely as ``w c + (1 - w) b`` where the worker is right with probability w: ``c`` is
its probability if the answer was right, ``b`` if it was wrong. That is ``b (1 + w (exp(v) - 1))``
with ``v = ln(c / b)``, so that all reports of a worker are told by how often v came to lie where: a
histogram, beside the sum of ``ln b``. A v between two nodes counts for both, in proportion.
Derivation: ``docs/theory/workers-quality.md``.

Everything is added in whole numbers: no order of rows, tasks or labels changes a bit. A block of
tasks is done at once, in loops over its rows that run on vector registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.vector_math import exp_minus, log, to_integer, to_whole
from tests.reference.voting import rows_of

__all__ = [
    "REPORT_ONE",
    "SPREAD",
    "CavityVotes",
    "ReportLaws",
    "coin_cavities",
    "lookup_of",
    "make_known_certain",
    "table_cavities",
    "tell",
]

REPORT_ONE = 2.0**30
"""What a report, and a log-probability of 1, is stored as."""

SPREAD = 3.0
"""Nodes lie at ``SPREAD sinh(t)`` for even steps of t: as good as evenly within this of 0."""

_VOTE_ONE = 2.0**24
"""What log-odds of 1 are stored as: there is room for 10^10 votes of 12."""

_MOST_TASKS, _MOST_CELLS = 64, 2**18
"""About so many tasks, and so many reports times labels, are done at once."""

_LOOKUP = 256
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
        Log-odds of a report against any other label; or log-likelihoods at [crowd, truth, report].
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
        P(report | truth) at [channel, truth, report] if the answer is right, and if it is wrong;
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
def lookup_of(nodes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the last node at or below the start of each of many even steps."""
    span, places = nodes[-1], np.zeros(_LOOKUP + 1, np.int64)
    for step in range(_LOOKUP + 1):
        v = span * (2.0 * step / _LOOKUP - 1.0)
        while places[step] < len(nodes) - 2 and nodes[places[step] + 1] <= v:
            places[step] += 1
        if step < _LOOKUP:
            places[step + 1] = places[step]
    return places


@numba.njit(nogil=True, cache=True, error_model="numpy")
def tell(
    right: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64],
    nodes: npt.NDArray[np.float64],
    lookup: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    crowd: int,
    channel: int,
    first_worker: int,
    histograms: npt.NDArray[np.int64],
) -> None:
    """Add reports to the histograms of their workers, whose last place is the sum of logarithms.

    The probabilities are changed.
    """
    last = len(nodes) - 1
    span = nodes[last]
    per_step = _LOOKUP / (2.0 * span)
    for row in range(len(worker_codes)):
        low = log(wrong[row] if wrong[row] > _LEAST else _LEAST)
        v = log(right[row] if right[row] > _LEAST else _LEAST) - low
        wrong[row] = low + (v - span if v > span else 0.0)
        v = span if v > span else v
        right[row] = v if v > -span else -span
    for row in range(len(worker_codes)):
        v, worker = right[row], np.uint64(worker_codes[row]) - np.uint64(first_worker)
        if worker >= np.uint64(len(histograms)):  # also one before the first
            continue
        place = lookup[int((v + span) * per_step)]
        while place < last - 1 and nodes[place + 1] <= v:
            place += 1
        above = (v - nodes[place]) / (nodes[place + 1] - nodes[place])
        part = to_integer(min(max(above, 0.0), 1.0) * REPORT_ONE)
        histograms[worker, crowd, channel, place] += np.int64(REPORT_ONE) - part
        histograms[worker, crowd, channel, place + 1] += part
        histograms[worker, crowd, channel, last + 1] += to_integer(wrong[row] * REPORT_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _fine(labels: int) -> float:
    """Return what 1.0 is stored as where shares of so many labels add up without rounding."""
    return _FINE if labels <= _FINER_LABELS else _FINE / 2.0**12


@numba.njit(nogil=True, cache=True)
def _block_of(offsets: npt.NDArray[np.int64], labels: int) -> tuple[int, int]:
    """Return how many tasks are done at once, and how many reports those have at most."""
    longest, most = 1, 0
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    block = max(1, min(_MOST_TASKS, _MOST_CELLS // (longest * labels)))
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        most = max(most, offsets[last] - offsets[first])
    return block, most


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_coins(
    own: npt.NDArray[Any],
    nats: float,
    most: float,
    trust: npt.NDArray[np.float64],
    crowd: float,
    worker_codes: npt.NDArray[np.uint32],
    filled: npt.NDArray[np.int64],
) -> None:
    """Fill in what each report adds to its label, in units."""
    for row in range(len(worker_codes)):
        worker = worker_codes[row]
        odds, part = own[worker] * nats, trust[worker]
        odds = min(max(odds, -most), most)
        filled[row] = to_integer((part * odds + (1.0 - part) * crowd) * _VOTE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_coin_cavities(
    offsets: npt.NDArray[np.int64],
    values: npt.NDArray[Any],
    known: npt.NDArray[np.int32],
    filled: npt.NDArray[np.int64],
    log_priors: npt.NDArray[np.float64],
    room: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    true: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
) -> None:
    """Fill in how probable it is, without each report, that its label is true.

    Parameters
    ----------
    offsets, values, known
        Of a block of tasks, rows counted from the first.
    filled : ndarray of int64, shape (rows,)
        What each report adds to its label.
    log_priors : ndarray of float64, shape (labels,)
        Log-frequency of each label.
    room : ndarray of float64, shape (2, labels)
        Room, as is `sums` of shape (labels,).
    true, rest : ndarray of float64, shape (rows,)
        To be filled; the second is room.
    """
    odds, shares = room
    fine = _fine(len(sums))
    for task in range(len(known)):
        start, end = rows_of(offsets, task)
        sums[:] = 0
        for row in range(start, end):
            sums[values[row]] += filled[row]
        best, total = -np.inf, 0.0
        for label in range(len(sums)):
            odds[label] = sums[label] / _VOTE_ONE + log_priors[label]
            best = max(best, odds[label])
        for label in range(len(sums)):
            shares[label] = to_whole(exp_minus(best - odds[label]) * fine)
            total += shares[label]
        for row in range(start, end):
            label = values[row]
            true[row] = best - odds[label] + filled[row] / _VOTE_ONE
            rest[row] = total - shares[label]
    for row in range(offsets[len(known)]):
        below = exp_minus(abs(true[row]))
        without = (below if true[row] > 0.0 else 1.0 / below) * fine
        true[row] = without / (rest[row] + without)
    for task in range(len(known)):
        if known[task] >= 0:
            start, end = rows_of(offsets, task)
            for row in range(start, end):
                true[row] = 1.0 if values[row] == known[task] else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def coin_cavities(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known_truths: npt.NDArray[np.int32],
    votes: CavityVotes,
    laws: ReportLaws,
    first_worker: int,
    histograms: npt.NDArray[np.int64],
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
    first_worker : int
        Whose histograms come first.
    histograms : ndarray of int64, shape (some workers, crowds, channels, places + 1)
        To be added to: those of that worker and the next ones. Others are told nothing of.
    """
    own, nats, most, trust, crowds, log_priors = votes
    rates, _, silence, answering, nodes = laws
    labels, lookup = len(log_priors), lookup_of(nodes)
    block, rows = _block_of(offsets, labels)
    sums, room, filled = np.empty(labels, np.int64), np.empty((2, labels)), np.empty(rows, np.int64)
    true, right, wrong = np.empty(rows), np.empty(rows), np.empty(rows)
    others = 1.0 / max(labels - 1, 1)
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        start, end = offsets[first], offsets[last]
        codes, given = worker_codes[start:end], values[start:end]
        count, known = end - start, known_truths[first:last]
        places = offsets[first : last + 1] - start
        for crowd in range(len(crowds)):
            _fill_coins(own, nats, most, trust, crowds[crowd], codes, filled)
            _fill_coin_cavities(places, given, known, filled, log_priors, room, sums, true, right)
            for channel in range(len(rates)):
                keep, other = rates[channel, 0], rates[channel, 1]
                for row in range(count):
                    spread = (1.0 - true[row]) * others
                    right[row] = other + true[row] * (keep - other)
                    wrong[row] = other + spread * (keep - other)
                for row in range(count):
                    share = answering[codes[row]]
                    silent = (1.0 - share) * silence[channel, given[row]]
                    right[row] = share * right[row] + silent
                    wrong[row] = share * wrong[row] + silent
                tell(right, wrong, nodes, lookup, codes, crowd, channel, first_worker, histograms)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_own_votes(
    own: npt.NDArray[Any],
    nats: float,
    most: float,
    trust: npt.NDArray[np.float64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    votes: npt.NDArray[np.float64],
) -> None:
    """Fill in what the worker's own record adds to each label by each report, times its trust."""
    labels = len(votes)
    if len(own) == len(trust):
        for label in range(labels):
            for row in range(len(values)):
                votes[label, row] = 0.0
        for row in range(len(values)):
            worker = worker_codes[row]
            odds = min(max(own[worker] * nats, -most), most)
            votes[values[row], row] = odds * trust[worker]
        return
    for row in range(len(values)):
        worker = worker_codes[row]
        place = (np.uint64(worker) * np.uint64(labels) + np.uint64(values[row])) * np.uint64(labels)
        highest = own[place]
        for label in range(labels):
            highest = max(highest, own[place + np.uint64(label)])
        for label in range(labels):
            below = (own[place + np.uint64(label)] - np.float64(highest)) * nats
            votes[label, row] = max(below, -most) * trust[worker]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_table_cavities(
    offsets: npt.NDArray[np.int64],
    filled: npt.NDArray[np.int64],
    log_priors: npt.NDArray[np.float64],
    best: npt.NDArray[np.float64],
    total: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
) -> None:
    """Fill in how probable each label is without each report.

    Parameters
    ----------
    offsets : ndarray of int64
        Of a block of tasks, rows counted from the first.
    filled : ndarray of int64, shape (labels, rows)
        What each report adds to each label.
    log_priors : ndarray of float64, shape (labels,)
        Log-frequency of each label.
    best, total : ndarray of float64, shape (rows,)
        Room.
    shares : ndarray of float64, shape (labels, rows)
        To be filled.
    """
    tasks, fine = len(offsets) - 1, _fine(len(shares))
    count = offsets[tasks]
    best[:] = -np.inf
    total[:] = 0.0
    for label in range(len(shares)):
        for task in range(tasks):
            start, end = rows_of(offsets, task)
            votes = np.int64(0)
            for row in range(start, end):
                votes += filled[label, row]
            for row in range(start, end):
                shares[label, row] = votes - filled[label, row]
        for row in range(count):
            shares[label, row] = shares[label, row] / _VOTE_ONE + log_priors[label]
            best[row] = shares[label, row] if shares[label, row] > best[row] else best[row]
    for label in range(len(shares)):
        for row in range(count):
            shares[label, row] = to_whole(exp_minus(best[row] - shares[label, row]) * fine)
            total[row] += shares[label, row]
    for label in range(len(shares)):
        for row in range(count):
            shares[label, row] /= total[row]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def make_known_certain(
    offsets: npt.NDArray[np.int64],
    known: npt.NDArray[np.int32],
    shares: npt.NDArray[np.float64],
) -> None:
    """Make the known labels of a block of tasks as probable as can be, without any report."""
    for task in range(len(known)):
        if known[task] >= 0:
            start, end = rows_of(offsets, task)
            for label in range(len(shares)):
                for row in range(start, end):
                    shares[label, row] = 1.0 if label == known[task] else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _mix(
    law: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    values: npt.NDArray[Any],
    mixed: npt.NDArray[np.float64],
) -> None:
    """Fill in the probability of each report, mixed over truths; `law` is at [truth, report]."""
    fine = _fine(len(shares))
    for row in range(len(values)):
        mixed[row] = 0.0
    for label in range(len(shares)):
        for row in range(len(values)):
            mixed[row] += to_whole(shares[label, row] * law[label, values[row]] * fine)
    for row in range(len(values)):
        mixed[row] /= fine


@numba.njit(nogil=True, cache=True, error_model="numpy")
def table_cavities(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    known_truths: npt.NDArray[np.int32],
    votes: CavityVotes,
    laws: ReportLaws,
    first_worker: int,
    histograms: npt.NDArray[np.int64],
) -> None:
    """Tell what reports say of workers, by tables; parameters as of `coin_cavities`."""
    own, nats, most, trust, crowds, log_priors = votes
    rights, wrongs, silence, answering, nodes = laws
    labels, lookup = len(log_priors), lookup_of(nodes)
    block, rows = _block_of(offsets, labels)
    mine, shares = np.empty((2, labels, rows))
    filled, right, wrong = np.empty((labels, rows), np.int64), np.empty(rows), np.empty(rows)
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        start, end = offsets[first], offsets[last]
        codes, given = worker_codes[start:end], values[start:end]
        count, known = end - start, known_truths[first:last]
        places = offsets[first : last + 1] - start
        _fill_own_votes(own, nats, most, trust, codes, given, mine)
        for crowd in range(len(crowds)):
            for label in range(labels):
                for row in range(count):
                    rest = (1.0 - trust[codes[row]]) * crowds[crowd, label, given[row]]
                    filled[label, row] = to_integer((mine[label, row] + rest) * _VOTE_ONE)
            _fill_table_cavities(places, filled, log_priors, right, wrong, shares)
            make_known_certain(places, known, shares)
            for channel in range(len(rights)):
                _mix(rights[channel], shares, given, right)
                _mix(wrongs[channel], shares, given, wrong)
                for row in range(count):
                    share = answering[codes[row]]
                    silent = (1.0 - share) * silence[channel, given[row]]
                    right[row] = share * right[row] + silent
                    wrong[row] = share * wrong[row] + silent
                tell(right, wrong, nodes, lookup, codes, crowd, channel, first_worker, histograms)
