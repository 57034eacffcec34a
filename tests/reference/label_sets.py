"""The inner loop of `NoiseAware` for sets of labels: posteriors of the tasks from reports.

Given the truth a set is, up to one factor for all truths, as likely as ``b (1 + w (exp(v) - 1))``
from a worker who is right with probability w: ``b`` is its likelihood if the answer was wrong, and
``v`` the log-ratio of the two. So a report says of its worker only where its v lies for each truth:
it counts for the two nodes beside it, in proportion. ``docs/theory/subset-selection.md``.

All that is added over reports or labels is rounded to whole numbers first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.noisy_labels import LabelRoom, compare, correct
from tests.reference.posteriors import (
    believe,
    leave_out,
    no_beliefs,
    scale_votes,
    settle,
    to_units,
)
from tests.reference.vector_math import log, to_integer
from tests.reference.voting import rows_of

__all__ = [
    "SHARE_ONE",
    "SetCounts",
    "SetSigns",
    "SetWorkers",
    "expected_votes",
    "infer_sets",
    "read_set",
]

SHARE_ONE = 2.0**30
"""What a probability of 1 is stored as in what is believed of workers."""

_VOTE_ONE = 2.0**32
"""What log-odds of 1 are stored as in sums."""

_MOST_TASKS, _MOST_CELLS = 64, 2**18
"""At most so many tasks, and about so many reports times labels, are done at once."""


class SetSigns(NamedTuple):
    """How a set speaks for its answer.

    Attributes
    ----------
    binomials : ndarray of int64, shape (members, labels)
        As of `quietcrowd.set_ranks`.
    gain : float
        How much likelier a set is given an answer that it holds than given another one, less 1.
    epsilon : float
        The logarithm of 1 more than that.
    mistakes : ndarray of int64, shape (labels, labels)
        How probable each answer is that is not the truth, at [answer, truth], in `SHARE_ONE`.
    nodes : int
        How many nodes there are, evenly from ``-epsilon`` to ``epsilon``.
    """

    binomials: npt.NDArray[np.int64]
    gain: float
    epsilon: float
    mistakes: npt.NDArray[np.int64]
    nodes: int


class SetWorkers(NamedTuple):
    """What is believed of the workers.

    Attributes
    ----------
    log_odds : ndarray of int32, shape (workers, nodes, labels)
        Expected ``ln(1 + w (exp(v) - 1))`` at each node, in units of `nats`; 0 for who always gives
        one label.
    nats : float
        See above.
    skills : ndarray of int32, shape (workers, labels)
        Expected w at each truth of a worker who does not always give one label.
    constants : ndarray of int32, shape (workers, labels)
        Probability that it always gives this label; both in units of 1 / `SHARE_ONE`.
    constant_base, constant_gain : float
        Likelihood of a set from who always gives one label: the first, and the second more where
        the set holds that label.
    """

    log_odds: npt.NDArray[np.int32]
    nats: float
    skills: npt.NDArray[np.int32]
    constants: npt.NDArray[np.int32]
    constant_base: float
    constant_gain: float


class SetCounts(NamedTuple):
    """What a pass adds up, in whole units; see `SetTally`.

    Attributes
    ----------
    counts : ndarray of int64, shape (workers, nodes, labels)
        Expected reports by truth and node.
    bases : ndarray of int64, shape (workers,)
        Expected ``ln b``.
    held : ndarray of int64, shape (workers, labels)
        How many sets hold each label.
    mistaken : ndarray of int64, shape (labels, labels)
        At [answer, truth]: expected ``P(wrong) / b`` of sets that hold the answer; on the diagonal,
        of all sets. Filled where it is asked for.
    classes : ndarray of int64, shape (labels,)
        Expected tasks of each label.
    calibration : ndarray of int64
        As of `LabelCounts`.
    agreed : ndarray of int64, shape (workers,)
        How many sets hold the estimate, in `integer_sums.shares`.
    """

    counts: npt.NDArray[np.int64]
    bases: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    mistaken: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    calibration: npt.NDArray[np.int64]
    agreed: npt.NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def read_set(
    rank: np.int64, binomials: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]
) -> None:
    """Fill in the codes of the labels of a set, given its number; as `set_ranks.sets_of`."""
    left, code = rank, binomials.shape[1] - 1
    for place in range(len(binomials) - 1, -1, -1):
        while binomials[place, code] > left:
            code -= 1
        codes[place] = code
        left -= binomials[place, code]
        code -= 1


@numba.njit(nogil=True, cache=True)
def _block_of(offsets: npt.NDArray[np.int64], labels: int) -> tuple[int, int]:
    """Return how many tasks are done at once, and how many reports those have at most."""
    longest, most = 1, 1
    for task in range(len(offsets) - 1):
        longest = max(longest, offsets[task + 1] - offsets[task])
    block = max(1, min(_MOST_TASKS, _MOST_CELLS // (longest * labels)))
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        most = max(most, offsets[last] - offsets[first])
    return block, most


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _read(
    values: npt.NDArray[np.int64],
    signs: SetSigns,
    codes: npt.NDArray[np.int64],
    held: npt.NDArray[np.bool_],
    bases: npt.NDArray[np.float64],
    logs: npt.NDArray[np.float64],
    places: npt.NDArray[np.float64],
) -> None:
    """Fill in what each set of a block says, given each truth.

    Parameters
    ----------
    values : ndarray of int64, shape (rows,)
        Numbers of sets.
    signs : SetSigns
        How sets speak.
    codes : ndarray of int64, shape (rows, members)
        The labels of each set.
    held : ndarray of bool, shape (rows, labels)
        Whether it holds each label.
    bases, logs, places : ndarray of float64, shape (rows, labels)
        b, ln b, and where v lies among the nodes.
    """
    labels = len(signs.mistakes)
    per_step = (signs.nodes - 1) / (2.0 * signs.epsilon)
    sums, last = np.empty(labels, np.int64), float(signs.nodes - 1)
    for row in range(len(values)):
        read_set(values[row], signs.binomials, codes[row])
        sums[:] = 0
        held[row] = False
        for place in range(codes.shape[1]):
            code = codes[row, place]
            held[row, code] = True
            for label in range(labels):
                sums[label] += signs.mistakes[code, label]
        for label in range(labels):
            base = 1.0 + signs.gain * (sums[label] / SHARE_ONE)
            bases[row, label] = base
            logs[row, label] = log(base)
        for label in range(labels):
            right = 2.0 * signs.epsilon if held[row, label] else signs.epsilon
            places[row, label] = min(max((right - logs[row, label]) * per_step, 0.0), last)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _gather(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    places: npt.NDArray[np.float64],
    workers: SetWorkers,
    constancy: npt.NDArray[np.float64],
    priors: npt.NDArray[np.float64],
    sums: npt.NDArray[np.int64],
    votes: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-odds of labels while the crowd is learnt, shape (labels, block)."""
    last = workers.log_odds.shape[1] - 2
    without = log(workers.constant_base)
    more = log(workers.constant_base + workers.constant_gain) - without
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        sums[:] = 0
        for row in range(start, end):
            worker = worker_codes[row]
            honest = 1.0 - constancy[worker]
            own = np.int64(0)
            for place in range(codes.shape[1]):
                own += workers.constants[worker, codes[row, place]]
            steady = constancy[worker] * without + own / SHARE_ONE * more
            for label in range(len(sums)):
                node = min(int(places[row, label]), last)
                low = float(workers.log_odds[worker, node, label])
                step = workers.log_odds[worker, node + 1, label] - low
                told = (low + (places[row, label] - node) * step) * workers.nats
                sums[label] += to_integer((told + honest * logs[row, label] + steady) * _VOTE_ONE)
        for label in range(len(sums)):
            votes[label, task] = sums[label] / _VOTE_ONE + priors[label]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def expected_votes(
    worker: np.uint32,
    codes: npt.NDArray[np.int64],
    held: npt.NDArray[np.bool_],
    bases: npt.NDArray[np.float64],
    ratio: float,
    workers: SetWorkers,
    votes: npt.NDArray[np.int64],
) -> None:
    """Fill in the logarithms of the expected likelihoods of a set, in units of 1 / 2^32."""
    constant, own = np.int64(0), np.int64(0)
    for label in range(len(votes)):
        constant += workers.constants[worker, label]
    for place in range(len(codes)):
        own += workers.constants[worker, codes[place]]
    honest = 1.0 - constant / SHARE_ONE
    steady = constant * workers.constant_base + own * workers.constant_gain
    for label in range(len(votes)):
        skill = workers.skills[worker, label] / SHARE_ONE
        right = ratio if held[label] else 1.0
        likely = bases[label] + skill * (right - bases[label])
        votes[label] = to_integer(log(honest * likely + steady / SHARE_ONE) * _VOTE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _gather_expected(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.int64],
    held: npt.NDArray[np.bool_],
    bases: npt.NDArray[np.float64],
    ratio: float,
    workers: SetWorkers,
    priors: npt.NDArray[np.float64],
    room: npt.NDArray[np.int64],
    votes: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-odds of each task's labels that a last pass takes, shape (labels, block)."""
    own, sums = room
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        sums[:] = 0
        for row in range(start, end):
            expected_votes(
                worker_codes[row], codes[row], held[row], bases[row], ratio, workers, own
            )
            for label in range(len(sums)):
                sums[label] += own[label]
        for label in range(len(sums)):
            votes[label, task] = sums[label] / _VOTE_ONE + priors[label]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _scatter(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    places: npt.NDArray[np.float64],
    credit: npt.NDArray[np.int64],
    sums: SetCounts,
) -> None:
    """Add the probabilities of each task's labels to the records of those who reported."""
    last, labels = sums.counts.shape[1] - 2, len(credit)
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        for row in range(start, end):
            worker = worker_codes[row]
            for place in range(codes.shape[1]):
                sums.held[worker, codes[row, place]] += 1
            told = np.int64(0)
            for label in range(labels):
                share = credit[label, task]
                node = min(int(places[row, label]), last)
                above = to_integer(share * (places[row, label] - node))
                sums.counts[worker, node, label] += share - above
                sums.counts[worker, node + 1, label] += above
                told += to_integer(share * logs[row, label])
            sums.bases[worker] += told


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _count_mistakes(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.int64],
    bases: npt.NDArray[np.float64],
    places: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    workers: SetWorkers,
    constancy: npt.NDArray[np.float64],
    step: float,
    unit: float,
    mistaken: npt.NDArray[np.int64],
) -> None:
    """Add how probable it is that answers were wrong, over b; see `SetCounts`.

    The slope of ``ln(1 + w (exp(v) - 1))`` is how probable it is that the answer was right.
    """
    last, labels = workers.log_odds.shape[1] - 2, len(shares)
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        for row in range(start, end):
            worker = worker_codes[row]
            honest = 1.0 - constancy[worker]
            for label in range(labels):
                node = min(int(places[row, label]), last)
                low = float(workers.log_odds[worker, node, label])
                right = (workers.log_odds[worker, node + 1, label] - low) * workers.nats / step
                wrong = max(honest - right, 0.0) * shares[label, task] / bases[row, label]
                added = to_integer(wrong * unit)
                mistaken[label, label] += added
                for place in range(codes.shape[1]):
                    if codes[row, place] != label:
                        mistaken[codes[row, place], label] += added


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _agree(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    held: npt.NDArray[np.bool_],
    truths: npt.NDArray[Any],
    one: np.int64,
    agreed: npt.NDArray[np.int64],
) -> None:
    """Credit the workers whose sets hold the estimate."""
    for task in range(len(offsets) - 1):
        start, end = rows_of(offsets, task)
        for row in range(start, end):
            if held[row, truths[task]]:
                agreed[worker_codes[row]] += one


@numba.njit(nogil=True, cache=True, error_model="numpy")
def infer_sets(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[np.int64],
    draws: npt.NDArray[np.uint64],
    known_truths: npt.NDArray[np.int32],
    signs: SetSigns,
    workers: SetWorkers,
    constancy: npt.NDArray[np.float64],
    priors: npt.NDArray[np.float64],
    asked: bool,
    last: bool,
    sharpness: float,
    temperatures: npt.NDArray[np.float64],
    unit: float,
    mistake_unit: float,
    told_unit: float,
    even: npt.NDArray[np.int64],
    seed: np.uint64,
    nothing: npt.NDArray[np.int64],
    sums: SetCounts,
    room: LabelRoom,
) -> int:
    """Find posteriors of tasks from sets, and return the sum of their entropies in units.

    Parameters
    ----------
    offsets, worker_codes, values, draws, known_truths
        Of a `Partition`; worker codes as unsigned numbers.
    signs, workers
        How sets speak, and what is believed of who sent them.
    constancy : ndarray of float64, shape (workers,)
        Probability that a worker always gives one label.
    priors : ndarray of float64, shape (labels,)
        Logarithms of the frequencies of truths.
    asked : bool
        Whether mistakes are asked for.
    last, sharpness, temperatures, unit, told_unit, even, seed, room
        As of `noisy_labels.noisy_label_kernel`.
    mistake_unit : float
        What 1 is stored as in ``sums.mistaken``.
    nothing : ndarray of int64, as long as values
        Codes of no label, in place of reports.
    sums : SetCounts
        To be added to.
    """
    labels, ratio = len(priors), signs.gain + 1.0
    block, rows = _block_of(offsets, labels)
    codes, held = (
        np.empty((rows, len(signs.binomials)), np.int64),
        np.empty((rows, labels), np.bool_),
    )
    bases, logs = np.empty((rows, labels)), np.empty((rows, labels))
    places = np.empty((rows, labels))
    credit, added = np.empty((labels, block), np.int64), np.empty((2, labels), np.int64)
    final, twice = np.zeros((labels, block)), np.zeros((labels, block))
    damped = np.empty((labels, block))
    beliefs = no_beliefs(labels, block)
    step = 2.0 * signs.epsilon / (signs.nodes - 1)
    entropy = np.int64(0)
    for first in range(0, len(offsets) - 1, block):
        end = min(first + block, len(offsets) - 1)
        start, stop, count = offsets[first], offsets[end], end - first
        own, known = offsets[first : end + 1] - start, known_truths[first:end]
        who = worker_codes[start:stop]
        _read(values[start:stop], signs, codes, held, bases, logs, places)
        _gather(own, who, codes, logs, places, workers, constancy, priors, added[0], beliefs.votes)
        if last or known.max() >= 0:
            _gather_expected(own, who, codes, held, bases, ratio, workers, priors, added, final)
            for label in range(labels):
                for place in range(count):
                    twice[label, place] = 2.0 * (final[label, place] - beliefs.votes[label, place])
        if last:
            correct(beliefs, final, twice, damped, known)
        else:
            believe(beliefs, known)
        leave_out(beliefs, own, known)
        entropy += to_units(beliefs, count, unit, credit, sums.classes)
        _scatter(own, who, codes, logs, places, credit, sums)
        if asked:
            _count_mistakes(
                own,
                who,
                codes,
                bases,
                places,
                beliefs.shares,
                workers,
                constancy,
                step,
                mistake_unit,
                sums.mistaken,
            )
        if known.max() >= 0:
            compare(own, final, twice, known, temperatures, told_unit, sums.calibration)
        if last:
            scale_votes(beliefs, sharpness, count)
            believe(beliefs, known)
            settle(
                beliefs,
                own,
                who,
                nothing[start:stop],
                known,
                draws[first:end],
                seed,
                even,
                added[0],
                sums.agreed,
                room.truths[first:end],
                room.confidence[first:end],
                room.tied[first:end],
            )
            _agree(own, who, held, room.truths[first:end], even[1], sums.agreed)
            if len(room.posterior):
                for place in range(count):
                    for label in range(room.posterior.shape[1]):
                        room.posterior[first + place, label] = beliefs.shares[label, place]
    return int(entropy)
