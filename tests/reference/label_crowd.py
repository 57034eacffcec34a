"""What reports tell of workers whose accuracies lie on a grid: the inner loop of `NoiseAware`.

Some workers are done side by side, so that vector registers hold several. What is added over
workers is rounded to whole numbers first.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.vector_math import exp_minus, log, to_integer

__all__ = [
    "LANES",
    "VECTOR",
    "Crowd",
    "CrowdSums",
    "add_row",
    "add_rows",
    "bound_votes",
    "count_kinds",
    "expect_accuracies",
    "normalise",
    "read_records",
    "weigh_accuracies",
    "weigh_workers",
    "write_rows",
]

LANES = 64
"""So many workers are done side by side, or fewer where there are fewer: enough that it matters
little that a compiled loop first looks whether two arrays overlap."""

VECTOR = 8
"""The number of workers done side by side is a multiple of this, as vector registers hold."""


class Crowd(NamedTuple):
    """What is believed of all workers, as arrays of float64.

    Channels are those that one worker may have; places are those of accuracies on a grid.

    Attributes
    ----------
    laws : ndarray, shape (channels, labels, places, reports)
        Probability of each report of a worker of an accuracy, given the truth.
    constant_laws : ndarray, shape (channels, labels, reports)
        Probability of each report of a worker who always gives one label.
    channels : ndarray, shape (channels,)
        Probability of each channel.
    communities : ndarray, shape (communities,)
        Probability of each community.
    constants : ndarray, shape (labels,)
        Probability that a worker always gives this label.
    accuracies : ndarray, shape (communities, labels, places)
        Probability of each accuracy at a label, in a community.
    """

    laws: npt.NDArray[np.float64]
    constant_laws: npt.NDArray[np.float64]
    channels: npt.NDArray[np.float64]
    communities: npt.NDArray[np.float64]
    constants: npt.NDArray[np.float64]
    accuracies: npt.NDArray[np.float64]


class CrowdSums(NamedTuple):
    """What is added up over workers, in whole units.

    Attributes
    ----------
    communities, constants, accuracies : ndarray of int64
        Expected numbers of workers, of the shapes of `Crowd`.
    reports : ndarray of int64, shape (channels, labels, places, reports)
        Expected reports; filled only where they are asked for.
    """

    communities: npt.NDArray[np.int64]
    constants: npt.NDArray[np.int64]
    accuracies: npt.NDArray[np.int64]
    reports: npt.NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def add_row(total: npt.NDArray[np.float64], row: npt.NDArray[np.float64], weight: float) -> None:
    """Add a row times a weight to another."""
    for lane in range(len(total)):
        total[lane] += row[lane] * weight


@numba.njit(nogil=True, cache=True, error_model="numpy")
def add_rows(
    total: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
) -> None:
    """Add some rows, each times its weight, to another, in their order; four are read at a time."""
    whole = len(rows) - len(rows) % 4
    for first in range(0, whole, 4):
        one, two, three, four = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        for lane in range(len(total)):
            total[lane] = (
                total[lane]
                + one[lane] * weights[first]
                + two[lane] * weights[first + 1]
                + three[lane] * weights[first + 2]
                + four[lane] * weights[first + 3]
            )
    for at in range(whole, len(rows)):
        add_row(total, rows[at], weights[at])


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _raise_to(best: npt.NDArray[np.float64], row: npt.NDArray[np.float64]) -> None:
    """Raise each entry to that of a row, if that is greater."""
    for lane in range(len(best)):
        best[lane] = row[lane] if row[lane] > best[lane] else best[lane]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _exponentiate(row: npt.NDArray[np.float64], best: npt.NDArray[np.float64]) -> None:
    """Replace logarithms by what they stand for, divided by the greatest."""
    for lane in range(len(best)):
        row[lane] = exp_minus(best[lane] - row[lane])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _take_logarithms(numbers: npt.NDArray[np.float64]) -> None:
    """Replace numbers by their logarithms."""
    for place in range(len(numbers)):
        numbers[place] = log(numbers[place])


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _sum_of(row: npt.NDArray[np.float64], other: npt.NDArray[np.float64], unit: float) -> np.int64:
    """Return the sum of the products of two rows, each rounded to whole units."""
    total = np.int64(0)
    for lane in range(len(row)):
        total += to_integer(row[lane] * other[lane] * unit)
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def read_records(
    members: npt.NDArray[np.int64],
    first: int,
    counts: npt.NDArray[np.int64],
    inverse: float,
    records: npt.NDArray[np.float64],
) -> None:
    """Fill in the records of a block of workers; those behind the last are empty."""
    labels, reports, lanes = records.shape
    records[:] = 0.0
    for lane in range(min(lanes, len(members) - first)):
        start = members[first + lane] * labels * reports
        for report in range(reports):
            for label in range(labels):
                records[label, report, lane] = counts[start + report * labels + label] * inverse


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_accuracies(
    records: npt.NDArray[np.float64],
    logs: npt.NDArray[np.float64],
    accuracies: npt.NDArray[np.float64],
    likely: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
) -> None:
    """Fill in likelihoods of accuracies, up to a factor, and each community's evidence."""
    channels, labels, places, _ = logs.shape
    best = np.empty(records.shape[2])
    likely[:] = 0.0
    offsets[:] = 0.0
    evidence[:] = 0.0
    for channel in range(channels):
        for label in range(labels):
            best[:] = -np.inf
            rows = likely[channel, label]
            for place in range(places):
                add_rows(rows[place], records[label], logs[channel, label, place])
                _raise_to(best, rows[place])
            add_row(offsets[channel], best, 1.0)
            for place in range(places):
                _exponentiate(rows[place], best)
            for community in range(len(accuracies)):
                add_rows(evidence[channel, community, label], rows, accuracies[community, label])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _log_chances(
    records: npt.NDArray[np.float64],
    crowd: Crowd,
    constant_logs: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.float64],
    chances: npt.NDArray[np.float64],
) -> None:
    """Fill in the logarithms of the evidence for each community, and for constant answers."""
    channels, labels, reports = constant_logs.shape
    communities, lanes = len(crowd.communities), records.shape[2]
    given = np.zeros((reports, lanes))
    for label in range(labels):
        for report in range(reports):
            add_row(given[report], records[label, report], 1.0)
    for channel in range(channels):
        for community in range(communities):
            row = chances[channel, community]
            row[:] = np.log(crowd.channels[channel] * crowd.communities[community])
            add_row(row, offsets[channel], 1.0)
            for label in range(labels):
                for lane in range(lanes):
                    row[lane] += log(evidence[channel, community, label, lane])
        for label in range(labels):
            row = chances[channel, communities + label]
            row[:] = np.log(crowd.channels[channel] * crowd.constants[label])
            add_rows(row, given, constant_logs[channel, label])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def normalise(chances: npt.NDArray[np.float64], used: int, best: npt.NDArray[np.float64]) -> None:
    """Turn logarithms into probabilities, and fill in the logarithms of their sums.

    Behind the workers that are used all become 0.
    """
    lanes = len(best)
    total = np.zeros(lanes)
    best[:] = -np.inf
    for channel in range(len(chances)):
        for kind in range(chances.shape[1]):
            _raise_to(best, chances[channel, kind])
    for channel in range(len(chances)):
        for kind in range(chances.shape[1]):
            _exponentiate(chances[channel, kind], best)
            add_row(total, chances[channel, kind], 1.0)
    for lane in range(lanes):
        best[lane] += log(total[lane])
        total[lane] = 1.0 / total[lane] if lane < used else 0.0
    for channel in range(len(chances)):
        for kind in range(chances.shape[1]):
            for lane in range(lanes):
                chances[channel, kind, lane] *= total[lane]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def expect_accuracies(
    crowd: Crowd,
    likely: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
    chances: npt.NDArray[np.float64],
    unit: float,
    sums: CrowdSums,
) -> None:
    """Turn likelihoods of accuracies into probabilities, and add them up."""
    communities, labels, places = crowd.accuracies.shape
    lanes = chances.shape[2]
    factors, part = np.empty((communities, lanes)), np.empty(lanes)
    for channel in range(len(likely)):
        for label in range(labels):
            for community in range(communities):
                for lane in range(lanes):
                    factors[community, lane] = (
                        chances[channel, community, lane]
                        / evidence[channel, community, label, lane]
                    )
            for place in range(places):
                row = likely[channel, label, place]
                part[:] = 0.0
                add_rows(part, factors, crowd.accuracies[:, label, place])
                for community in range(communities):
                    weight = crowd.accuracies[community, label, place]
                    sums.accuracies[community, label, place] += _sum_of(
                        factors[community], row, weight * unit
                    )
                for lane in range(lanes):
                    row[lane] *= part[lane]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _expect_laws(
    crowd: Crowd,
    logs: npt.NDArray[np.float64],
    constant_logs: npt.NDArray[np.float64],
    likely: npt.NDArray[np.float64],
    chances: npt.NDArray[np.float64],
    odds: npt.NDArray[np.float64],
    means: npt.NDArray[np.float64],
) -> None:
    """Fill in the expected logarithms, and the expected values, of the laws of reports."""
    channels, labels, _, reports = logs.shape
    communities, lanes = len(crowd.communities), odds.shape[2]
    constant_odds = np.zeros((reports, lanes))
    constant_means = np.zeros((reports, lanes))
    for channel in range(channels):
        constants = chances[channel, communities:]
        for report in range(reports):
            add_rows(constant_odds[report], constants, constant_logs[channel, :, report])
            add_rows(constant_means[report], constants, crowd.constant_laws[channel, :, report])
    for label in range(labels):
        for report in range(reports):
            for lane in range(lanes):
                odds[label, report, lane] = constant_odds[report, lane]
                means[label, report, lane] = constant_means[report, lane]
        for channel in range(channels):
            rows = likely[channel, label]
            for report in range(reports):
                add_rows(odds[label, report], rows, logs[channel, label, :, report])
                add_rows(means[label, report], rows, crowd.laws[channel, label, :, report])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def count_kinds(chances: npt.NDArray[np.float64], unit: float, sums: CrowdSums) -> None:
    """Add expected workers of each community, and of each constant answer."""
    communities, ones = len(sums.communities), np.ones(chances.shape[2])
    for channel in range(len(chances)):
        for community in range(communities):
            sums.communities[community] += _sum_of(chances[channel, community], ones, unit)
        for label in range(len(sums.constants)):
            sums.constants[label] += _sum_of(chances[channel, communities + label], ones, unit)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _count_reports(
    records: npt.NDArray[np.float64],
    likely: npt.NDArray[np.float64],
    unit: float,
    expected: npt.NDArray[np.int64],
) -> None:
    """Add expected reports of each truth and accuracy."""
    channels, labels, places, reports = expected.shape
    for channel in range(channels):
        for label in range(labels):
            for place in range(places):
                for report in range(reports):
                    expected[channel, label, place, report] += _sum_of(
                        likely[channel, label, place], records[label, report], unit
                    )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def write_rows(
    workers: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    one: float,
    written: npt.NDArray[np.int32],
) -> None:
    """Write the logarithms of a block of workers, rounded, to where they are kept."""
    labels, reports, _ = logs.shape
    for lane in range(len(workers)):
        start = workers[lane] * labels * reports
        for report in range(reports):
            for label in range(labels):
                written[start + report * labels + label] = to_integer(
                    logs[label, report, lane] * one
                )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_workers(
    members: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    count_unit: float,
    crowd: Crowd,
    logs: npt.NDArray[np.float64],
    constant_logs: npt.NDArray[np.float64],
    one: float,
    worker_unit: float,
    report_unit: float,
    evidence_unit: float,
    asked: bool,
    log_odds: npt.NDArray[np.int32],
    votes: npt.NDArray[np.int32],
    constancy: npt.NDArray[np.float64],
    sums: CrowdSums,
) -> int:
    """Fill in what workers' reports tell of them, and add up what it tells of the crowd.

    Parameters
    ----------
    members : ndarray of int64
        Which workers.
    counts : ndarray of int64
        Expected reports, from place ``(worker reports + report) labels`` on one per truth.
    count_unit : float
        What one report is stored as.
    crowd : Crowd
        What is believed.
    logs, constant_logs : ndarray
        Logarithms of its laws.
    one : float
        What a log-probability of 1 is stored as in what is filled.
    worker_unit, report_unit, evidence_unit : float
        What 1 is stored as in sums.
    asked : bool
        Whether expected reports are asked for.
    log_odds, votes : ndarray of int32, as long as ``counts``
        To be filled: the expected logarithm, and the logarithm of the expected value, of the
        probability of each report.
    constancy : ndarray of float64
        Per worker, to be filled: the probability that it always gives one label.
    sums : CrowdSums
        Expected numbers are added to it.

    Returns
    -------
    int
        The sum of the logarithms of the workers' evidence, in units.
    """
    channels, labels, places, reports = logs.shape
    communities = len(crowd.communities)
    lanes = min(LANES, (len(members) + VECTOR - 1) // VECTOR * VECTOR)
    records = np.empty((labels, reports, lanes))
    likely = np.empty((channels, labels, places, lanes))
    evidence = np.empty((channels, communities, labels, lanes))
    offsets, best = np.empty((channels, lanes)), np.empty(lanes)
    chances = np.empty((channels, communities + labels, lanes))
    odds = np.empty((labels, reports, lanes))
    means = np.empty((labels, reports, lanes))
    climbed = np.int64(0)
    for first in range(0, len(members), max(lanes, 1)):
        used = min(lanes, len(members) - first)
        read_records(members, first, counts, 1.0 / count_unit, records)
        weigh_accuracies(records, logs, crowd.accuracies, likely, evidence, offsets)
        _log_chances(records, crowd, constant_logs, evidence, offsets, chances)
        normalise(chances, used, best)
        expect_accuracies(crowd, likely, evidence, chances, worker_unit, sums)
        _expect_laws(crowd, logs, constant_logs, likely, chances, odds, means)
        count_kinds(chances, worker_unit, sums)
        if asked:
            _count_reports(records, likely, report_unit, sums.reports)
        write_rows(members[first : first + used], odds, one, log_odds)
        _take_logarithms(means.reshape(-1))
        write_rows(members[first : first + used], means, one, votes)
        for lane in range(used):
            climbed += to_integer(best[lane] * evidence_unit)
            worker = members[first + lane]
            constancy[worker] = chances[:, communities:, lane].sum()
    return int(climbed)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def bound_votes(votes: npt.NDArray[np.int32], most: npt.NDArray[np.float64]) -> None:
    """Scale votes that say more, from label to label, than a report may tell.

    Parameters
    ----------
    votes : ndarray of int32, shape (workers, reports, labels)
        To be changed.
    most : ndarray of float64, shape (workers,)
        What the votes of one report of each worker may lie apart at most.
    """
    for worker in range(len(votes)):
        for report in range(votes.shape[1]):
            row = votes[worker, report]
            low, high = row[0], row[0]
            for label in range(1, len(row)):
                low, high = min(low, row[label]), max(high, row[label])
            apart = np.float64(high) - np.float64(low)
            if apart > most[worker]:
                factor = most[worker] / apart
                for label in range(len(row)):
                    row[label] = low + np.int32(np.floor((row[label] - low) * factor))
