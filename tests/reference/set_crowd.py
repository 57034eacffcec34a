"""What sets of labels tell of workers whose accuracies lie on a grid, in `NoiseAware`.

As `label_crowd`, but for two things: where a report lies among the nodes does not depend on which
labels it holds, so that one law serves all truths; and for who always gives one label it counts how
many of its sets hold that label.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.label_crowd import (
    LANES,
    VECTOR,
    Crowd,
    CrowdSums,
    add_row,
    add_rows,
    count_kinds,
    expect_accuracies,
    normalise,
    read_records,
    weigh_accuracies,
    write_rows,
)
from tests.reference.label_sets import SHARE_ONE
from tests.reference.vector_math import log, to_integer

__all__ = ["weigh_set_workers"]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _log_chances(
    crowd: Crowd,
    steady: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    chances: npt.NDArray[np.float64],
) -> None:
    """Fill in the logarithms of the evidence for each community, and for constant answers."""
    communities, labels, lanes = evidence.shape[1:]
    for community in range(communities):
        row = chances[0, community]
        row[:] = np.log(crowd.communities[community])
        add_row(row, offsets[0], 1.0)
        for label in range(labels):
            for lane in range(lanes):
                row[lane] += log(evidence[0, community, label, lane])
    for label in range(labels):
        row = chances[0, communities + label]
        row[:] = np.log(crowd.constants[label])
        add_row(row, steady[label], 1.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _constant_evidence(
    first: int,
    used: int,
    held: npt.NDArray[np.int64],
    answers: npt.NDArray[np.int64],
    bases: npt.NDArray[np.int64],
    unit: float,
    constant_logs: npt.NDArray[np.float64],
    steady: npt.NDArray[np.float64],
) -> None:
    """Fill in how likely a block's sets are from who always gives one label, as logarithms.

    Less what the sets' likelihoods of wrong answers are, which all other chances leave out.
    """
    steady[:] = 0.0
    with_label, without = constant_logs
    for lane in range(used):
        worker = first + lane
        for label in range(len(steady)):
            there = held[worker, label]
            rest = answers[worker] - there
            steady[label, lane] = there * with_label + rest * without - bases[worker] / unit


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _expect(
    logs: npt.NDArray[np.float64],
    accuracies: npt.NDArray[np.float64],
    likely: npt.NDArray[np.float64],
    odds: npt.NDArray[np.float64],
    skills: npt.NDArray[np.float64],
) -> None:
    """Fill in the expected logarithms at the nodes, and the expected accuracies."""
    labels, places, nodes = logs.shape[1:]
    total = np.empty(odds.shape[2])
    for label in range(labels):
        rows = likely[0, label]
        for node in range(nodes):
            odds[label, node] = 0.0
            add_rows(odds[label, node], rows, logs[0, label, :, node])
        skills[label] = 0.0
        total[:] = 0.0
        add_rows(skills[label], rows, accuracies)
        for place in range(places):
            add_row(total, rows[place], 1.0)
        for lane in range(len(total)):
            skills[label, lane] /= max(total[lane], 1e-300)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_set_workers(
    counts: npt.NDArray[np.int64],
    held: npt.NDArray[np.int64],
    answers: npt.NDArray[np.int64],
    bases: npt.NDArray[np.int64],
    count_unit: float,
    crowd: Crowd,
    logs: npt.NDArray[np.float64],
    grid: npt.NDArray[np.float64],
    constant_logs: npt.NDArray[np.float64],
    one: float,
    worker_unit: float,
    evidence_unit: float,
    log_odds: npt.NDArray[np.int32],
    skills: npt.NDArray[np.int32],
    constants: npt.NDArray[np.int32],
    constancy: npt.NDArray[np.float64],
    sums: CrowdSums,
) -> int:
    """Fill in what sets tell of their workers, and add up what they tell of the crowd.

    Parameters
    ----------
    counts : ndarray of int64, shape (workers, nodes, labels)
        Expected reports by node and truth.
    held, answers, bases : ndarray of int64
        How many sets hold each label, shape (workers, labels); how many sets there are; and the
        expected logarithms of their likelihoods from wrong answers, shape (workers,).
    count_unit : float
        What 1 is stored as in ``counts`` and ``bases``.
    crowd : Crowd
        What is believed of communities, constant answers and accuracies.
    logs : ndarray, shape (1, labels, places, nodes)
        Logarithms of likelihoods, relative to a wrong answer's, by accuracy.
    grid : ndarray, shape (places,)
        The accuracies.
    constant_logs : ndarray, shape (2,)
        Those of a set with the label, and without, from who always gives it.
    one, worker_unit, evidence_unit : float
        As of `label_crowd.weigh_workers`.
    log_odds, skills, constants, constancy : ndarray
        To be filled; see `SetWorkers`.
    sums : CrowdSums
        Expected numbers are added to it, but for reports.

    Returns
    -------
    int
        The sum of the logarithms of the workers' evidence, in units.
    """
    labels, places, nodes = logs.shape[1:]
    communities = len(crowd.communities)
    lanes = min(LANES, (len(counts) + VECTOR - 1) // VECTOR * VECTOR)
    members = np.arange(len(counts))
    records = np.empty((labels, nodes, lanes))
    likely = np.empty((1, labels, places, lanes))
    evidence = np.empty((1, communities, labels, lanes))
    offsets, best = np.empty((1, lanes)), np.empty(lanes)
    chances = np.empty((1, communities + labels, lanes))
    odds, expected = np.empty((labels, nodes, lanes)), np.empty((labels, lanes))
    steady = np.empty((labels, lanes))
    climbed = np.int64(0)
    for first in range(0, len(counts), max(lanes, 1)):
        used = min(lanes, len(counts) - first)
        read_records(members, first, counts.reshape(-1), 1.0 / count_unit, records)
        weigh_accuracies(records, logs, crowd.accuracies, likely, evidence, offsets)
        _constant_evidence(first, used, held, answers, bases, count_unit, constant_logs, steady)
        _log_chances(crowd, steady, evidence, offsets, chances)
        normalise(chances, used, best)
        expect_accuracies(crowd, likely, evidence, chances, worker_unit, sums)
        _expect(logs, grid, likely, odds, expected)
        count_kinds(chances, worker_unit, sums)
        write_rows(members[first : first + used], odds, one, log_odds.reshape(-1))
        for lane in range(used):
            worker = first + lane
            climbed += to_integer((best[lane] + bases[worker] / count_unit) * evidence_unit)
            total = np.int64(0)
            for label in range(labels):
                skills[worker, label] = to_integer(expected[label, lane] * SHARE_ONE)
                steadily = chances[0, communities + label, lane]
                constants[worker, label] = to_integer(steadily * SHARE_ONE)
                total += constants[worker, label]
            constancy[worker] = total / SHARE_ONE
    return int(climbed)
