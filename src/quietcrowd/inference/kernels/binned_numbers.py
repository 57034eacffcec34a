"""The inner loop of a model of numbers on bins: truths' posteriors, and what they tell of workers.

A report has a place: the bin that it lies in, on a lattice that goes on beyond the range of the
truths. The row of a worker's table that begins at ``centre - place`` holds the log density of the
report given each bin of the truth, as the law is symmetric. Log densities of a task are added in
whole numbers; a report's share in a worker's tally is rounded once, and added in whole numbers.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.number_support import cap, support
from quietcrowd.inference.kernels.numeric import Codes, Counts, Floats, add_squared
from quietcrowd.inference.kernels.vector_math import add_vector, exp_minus, log, to_integer

__all__ = ["LEAST_SHARE", "TABLE_ONE", "Table", "binned_kernel", "blend_kernel", "weigh_kernel"]

Table: TypeAlias = npt.NDArray[np.int32]

TABLE_ONE = 2.0**22
"""What 1.0 is stored as in tables of log densities, which lie within 500 of 0."""

BLOCK = 32
"""Bins are added so many at a time; their number is a multiple of it."""

LEAST_SHARE = 1e-14
"""Bins of less posterior probability tell nothing of workers."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def blend_kernel(beliefs: Floats, laws: Floats, table: Table) -> None:
    """Fill in each worker's mean log density at every distance, in units of `TABLE_ONE`.

    Parameters
    ----------
    beliefs : ndarray of float64, shape (workers, laws)
        Probability of each law of a worker's errors.
    laws : ndarray of float64, shape (distances, laws)
        Log densities.
    table : ndarray of int32, shape (workers, distances)
        To be filled.
    """
    turned = laws.T.copy()
    row = np.empty(len(laws))
    for worker in range(len(beliefs)):
        row[:] = 0.0
        for law in range(len(turned)):
            belief = beliefs[worker, law] * TABLE_ONE
            for distance in range(len(row)):
                row[distance] += belief * turned[law, distance]
        for distance in range(len(row)):
            table[worker, distance] = np.int32(to_integer(row[distance]))


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather(sums: Counts, table: Table, start: np.int64) -> None:
    """Add a report's log densities given each bin, which begin at a place of the table."""
    for b in range(0, len(sums), BLOCK):
        add_vector(sums, np.uint64(b), table, np.uint64(start + b), BLOCK)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _mixed(density: float, missing: float) -> float:
    """Return the log density of a report that may stand for no answer.

    `missing` is the log density of that, `density` that of an answer, both with their odds.
    """
    apart = density - missing
    return float(max(apart, 0.0) + missing + log(1.0 + exp_minus(abs(apart))))


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather_mixed(sums: Counts, row: Table, place: np.int64, missing: float, factor: float) -> None:
    """Add the log density of a report that may stand for no answer, times a factor."""
    for b in range(len(sums)):
        density = _mixed(row[place + b] / TABLE_ONE, missing)
        sums[b] += to_integer(density * factor * TABLE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather_part(sums: Counts, row: Table, place: np.int64, factor: float) -> None:
    """Add a report's log densities times a factor."""
    for b in range(len(sums)):
        sums[b] += to_integer(row[place + b] * factor)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add_up(
    start: np.int64,
    end: np.int64,
    codes: Codes,
    places: Counts,
    missing: Floats,
    table: Table,
    distances: int,
    capped: int,
    factor: float,
    sums: Counts,
) -> None:
    """Fill in the sums of the log densities of a task's reports given each bin.

    That of the report `capped` counts `factor` times.
    """
    sums[:] = 0
    for row in range(start, end):
        begins = np.int64(codes[row]) * distances + places[row]
        if len(missing):
            _gather_mixed(sums, table, begins, missing[row], factor if row == capped else 1.0)
        elif row == capped:
            _gather_part(sums, table, begins, factor)
        else:
            _gather(sums, table, begins)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _normalise(sums: Counts, log_prior: Floats, posterior: Floats) -> float:
    """Turn log densities of a task's reports into a posterior; return its log evidence."""
    largest = -np.inf
    for b in range(len(sums)):
        posterior[b] = sums[b] / TABLE_ONE + log_prior[b]
        largest = max(largest, posterior[b])
    for b in range(len(sums)):
        posterior[b] = exp_minus(largest - posterior[b])
    total = 0.0
    for b in range(len(sums)):
        total += posterior[b]
    share = 1.0 / total
    for b in range(len(sums)):
        posterior[b] *= share
    return float(largest + np.log(total))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _pin(known: float, sums: Counts, log_prior: Floats, posterior: Floats) -> float:
    """Fill in the posterior of a known truth, in bins; return its part of the evidence."""
    last = len(sums) - 1
    known = min(max(known, 0.0), float(last))
    lower = min(int(known), last - 1)
    posterior[:] = 0.0
    posterior[lower], posterior[lower + 1] = lower + 1 - known, known - lower
    evidence = 0.0
    for b in range(lower, lower + 2):
        evidence += posterior[b] * (sums[b] / TABLE_ONE + log_prior[b])
    return evidence


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _try_priors(
    sums: Counts, candidates: Floats, shares: Floats, unit: float, tried: Counts
) -> None:
    """Add the log evidence of a task with each of several priors."""
    largest = sums[0]
    for b in range(len(sums)):
        largest = max(largest, sums[b])
    for b in range(len(sums)):
        shares[b] = exp_minus((largest - sums[b]) / TABLE_ONE)
    for prior in range(len(candidates)):
        total = 0.0
        for b in range(len(sums)):
            total += shares[b] * candidates[prior, b]
        evidence = np.log(max(total, 1e-300)) + largest / TABLE_ONE
        tried[prior] += np.int64(np.rint(evidence * unit))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_kernel(residuals: Counts, unit: float, laws: Floats, evidence: Floats) -> None:
    """Fill in the expected log density of each worker's answers under each law.

    Parameters
    ----------
    residuals : ndarray of int64, shape (workers, distances)
        Expected answers at each distance from the truth, in units.
    unit : float
        What 1.0 is stored as.
    laws : ndarray of float64, shape (distances, laws)
        Log densities.
    evidence : ndarray of float64, shape (workers, laws)
        To be filled.
    """
    evidence[:] = 0.0
    for worker in range(len(residuals)):
        for distance in range(len(laws)):
            if residuals[worker, distance] != 0:
                count = residuals[worker, distance] / unit
                for law in range(laws.shape[1]):
                    evidence[worker, law] += count * laws[distance, law]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _credit(counts: Counts, first: int, last: int, start: np.int64, residuals: Counts) -> None:
    """Add a truth's posterior, in units, to the distances from a report."""
    for b in range(first // BLOCK * BLOCK, last, BLOCK):
        add_vector(residuals, np.uint64(start + b), counts, np.uint64(b), BLOCK)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _answered(
    posterior: Floats, row: Table, place: np.int64, missing: float, unit: float, counts: Counts
) -> np.int64:
    """Fill in the probability of each bin together with that of an answer; return their sum."""
    total = np.int64(0)
    for b in range(len(posterior)):
        apart = row[place + b] / TABLE_ONE - missing
        small = exp_minus(abs(apart))
        part = (1.0 if apart > 0 else small) / (1.0 + small)
        counts[b] = to_integer(posterior[b] * part * unit)
        total += counts[b]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _reach(
    posterior: Floats, truth_unit: float, truth_counts: Counts, unit: float, counts: Counts
) -> tuple[int, int]:
    """Count a truth; fill in its posterior in units; return the bins that it lies in."""
    first, last = len(posterior), 0
    for b in range(len(posterior)):
        counts[b] = 0
        if posterior[b] > LEAST_SHARE:
            first, last = min(first, b), b + 1
            truth_counts[b] += to_integer(posterior[b] * truth_unit)
            counts[b] = to_integer(posterior[b] * unit)
    return first, last


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _quantile(posterior: Floats, level: float) -> float:
    """Return a quantile in bins, the probability of a bin being spread evenly over it."""
    below = 0.0
    for b in range(len(posterior)):
        if below + posterior[b] >= level:
            return float(b - 0.5 + (level - below) / posterior[b])
        below += posterior[b]
    return len(posterior) - 0.5


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _place(posterior: Floats, level: float, moved: float, ends: Floats) -> float:
    """Return a quantile as values are scaled, within the range."""
    step = (ends[1] - ends[0]) / (len(posterior) - 1)
    place = ends[0] + step * (_quantile(posterior, level) + moved)
    return float(min(max(place, ends[0]), ends[1]))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_quantiles(
    posterior: Floats, levels: Floats, moved: float, ends: Floats, known: float, quantiles: Floats
) -> None:
    """Fill in a truth's quantiles: all the same where it is known."""
    for i in range(len(levels)):
        quantiles[i] = known if not np.isnan(known) else _place(posterior, levels[i], moved, ends)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _deviation(posterior: Floats) -> float:
    """Return the standard deviation of the posterior, in bins."""
    mean = square = 0.0
    for b in range(len(posterior)):
        mean += posterior[b] * b
    for b in range(len(posterior)):
        square += posterior[b] * (b - mean) ** 2
    return float(np.sqrt(square + 1.0 / 12.0))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _rounded_off(
    start: np.int64, end: np.int64, codes: Codes, cut: Floats, weights: Floats, unit: float
) -> float:
    """Return the weighted mean of what the bins took from a task's reports, in bins."""
    total, weight = np.int64(0), np.int64(0)
    for row in range(start, end):
        share = weights[codes[row]] * unit
        weight += to_integer(share)
        total += to_integer(share * cut[row])
    return float(total / weight) if weight > 0 else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _leave_out(
    sums: Counts,
    log_prior: Floats,
    row: Table,
    place: np.int64,
    missing: float,
    known: bool,
    posterior: Floats,
    without: Floats,
) -> float:
    """Fill in a posterior without one of the reports, up to a factor; return its sum."""
    if known:
        without[:] = posterior
        return 1.0
    largest = -np.inf
    for b in range(len(sums)):
        mine = row[place + b] / TABLE_ONE
        if missing > -np.inf:
            mine = _mixed(mine, missing)
        without[b] = sums[b] / TABLE_ONE + log_prior[b] - mine
        largest = max(largest, without[b])
    total = 0.0
    for b in range(len(sums)):
        without[b] = exp_minus(largest - without[b])
        total += without[b]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _infer(
    sums: Counts, log_prior: Floats, known: bool, known_place: float, posterior: Floats
) -> float:
    """Turn the sums of a task into the posterior of its truth; return its log evidence."""
    if known:
        return _pin(known_place, sums, log_prior, posterior)
    return _normalise(sums, log_prior, posterior)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def binned_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    places: Counts,
    cut: Floats,
    missing: Floats,
    known_places: Floats,
    table: Table,
    log_prior: Floats,
    candidates: Floats,
    densities: Floats,
    weights: Floats,
    borne: Floats,
    levels: Floats,
    ends: Floats,
    residual_unit: float,
    truth_unit: float,
    likely_unit: float,
    task_unit: float,
    error_unit: float,
    residuals: Counts,
    truth_counts: Counts,
    answered: Counts,
    supported: Counts,
    likely: Counts,
    tried: Counts,
    squared: Counts,
    quantiles: Floats,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Find the posterior of each task's truth, and tally what it tells.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths, truths, standard_errors, spreads
        As of `quietcrowd.inference.kernels.numeric.mean_kernel`.
    places : ndarray of int64
        Per report, where in `table` the log density given the first bin stands.
    cut : ndarray of float64
        Per report, what rounding to bins took from it, in bins.
    missing : ndarray of float64
        Per report, the log density where there is no answer, as `table` has it where there is one;
        empty where all reports are of answers.
    known_places : ndarray of float64
        Known truths in bins; NaN where the truth is to be inferred.
    table : ndarray of int32, shape (workers, distances)
        As of `blend_kernel`.
    log_prior : ndarray of float64, shape (bins,)
        Of the truths.
    candidates : ndarray of float64, shape (priors, bins)
        Other priors, whose evidence is tallied.
    densities : ndarray of float64, shape (distances, laws) or (0, 0)
        Of reports under each law of errors; for `supported`.
    weights : ndarray of float64
        Per worker, above 0 and at most 1: what its reports count.
    borne : ndarray of float64, shape (workers,) or (0,)
        What they may count in any case, as of `number_support.cap`; empty where nothing is capped.
    levels : ndarray of float64
        Of the quantiles to be filled in.
    ends : ndarray of float64, shape (2,)
        First and last bin, scaled as the values are.
    residual_unit, truth_unit, likely_unit, task_unit, error_unit : float
        What 1.0 is stored as: in `residuals` and `answered`, in `truth_counts`, in `likely` and
        `tried`, in sums over a task, and in `squared`.
    residuals : ndarray of int64, shape (workers, distances)
        To which the expected answers at each distance from the truth are added.
    truth_counts : ndarray of int64, shape (bins,)
        To which the posteriors are added.
    answered : ndarray of int64, shape (workers,) or (0,)
        To which expected answers are added; not where it is empty.
    supported : ndarray of int64, shape (workers, laws) or (0, 0)
        To which the log density of reports under each law is added, given all other reports of the
        task, in units of `likely_unit`; not where it is empty.
    likely : ndarray of int64, shape (1,)
        To which log evidences are added.
    tried : ndarray of int64, shape (priors,)
        To which log evidences with the candidates are added.
    squared : ndarray of int64, shape (workers,)
        To which squared errors are added, where truths are to be filled in.
    quantiles : ndarray of float64, shape (tasks, levels)
        To be filled, scaled.
    """
    bins, distances = len(log_prior), table.shape[1]
    flat, flat_residuals = table.reshape(-1), residuals.reshape(-1)
    sums, counts = np.empty(bins, np.int64), np.empty(bins, np.int64)
    posterior, shares = np.empty(bins), np.empty(bins)
    without, room = np.empty(bins), np.empty(densities.shape[1])
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        known = not np.isnan(known_truths[task])
        capped, factor = -1, 1.0
        if len(borne):
            capped, factor = cap(worker_codes[start:end], weights, borne)
            capped += start
        _add_up(start, end, worker_codes, places, missing, flat, distances, capped, factor, sums)
        found = _infer(sums, log_prior, known, known_places[task], posterior)
        if end > start:
            likely[0] += np.int64(np.rint(found * likely_unit))
            if len(candidates) and not known:
                _try_priors(sums, candidates, shares, likely_unit, tried)
            first, last = _reach(posterior, truth_unit, truth_counts, residual_unit, counts)
        for row in range(start, end):
            worker, place = worker_codes[row], places[row]
            begins = np.int64(worker) * distances + place
            if len(missing):
                answered[worker] += _answered(
                    posterior, flat, begins, missing[row], residual_unit, counts
                )
            _credit(counts, first, last, begins, flat_residuals)
            if len(supported) and end - start > 1:
                filled = missing[row] if len(missing) else -np.inf
                total = _leave_out(sums, log_prior, flat, begins, filled, known, posterior, without)
                told, filled = supported[worker], np.exp(filled)
                support(without, total, densities, place, filled, likely_unit, room, told)
        moved = 0.0
        if not known and len(truths) + len(quantiles):
            moved = _rounded_off(start, end, worker_codes, cut, weights, task_unit)
        if len(quantiles):
            _fill_quantiles(posterior, levels, moved, ends, known_truths[task], quantiles[task])
        if len(truths):
            truth = known_truths[task] if known else _place(posterior, 0.5, moved, ends)
            truths[task] = truth
            error = _deviation(posterior) * (ends[1] - ends[0]) / (bins - 1)
            standard_errors[task] = 0.0 if known else error
            missed = add_squared(start, end, worker_codes, values, truth, error_unit, squared)
            spreads[task] = np.sqrt(missed / error_unit / max(end - start, 1))
