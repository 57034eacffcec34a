"""The inner loop of a model of numbers on bins: truths' posteriors, and what they tell of workers.

Log densities of a task's reports are added in whole numbers; what a report tells of its worker is
rounded once, and added in whole numbers. So neither order nor partition changes a bit.
"""

from __future__ import annotations

import numba
import numpy as np

from tests.reference.number_reports import (
    TABLE_ONE,
    WorkerLaws,
    credit,
    fill_row,
    mix,
    tell_laws,
)
from tests.reference.number_support import cap, support
from tests.reference.numeric import Codes, Counts, Floats, add_squared
from tests.reference.vector_math import exp_minus, to_integer

__all__ = ["LEAST_SHARE", "binned_kernel"]

LEAST_SHARE = 1e-14
"""Bins of less posterior probability tell nothing of workers."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add_up(
    start: np.int64,
    end: np.int64,
    codes: Codes,
    places: Counts,
    ratios: Counts,
    missing: Floats,
    laws: WorkerLaws,
    capped: int,
    factor: float,
    room: Floats,
    row: Counts,
    sums: Counts,
) -> None:
    """Fill in the sums of the log densities of a task's reports given each bin.

    That of the report `capped` counts `factor` times.
    """
    sums[:] = 0
    for report in range(start, end):
        fill_row(codes[report], places[report], ratios[report], laws, room, row)
        if len(missing):
            mix(missing[report], row)
        if report == capped and factor < 1.0:
            for b in range(len(row)):
                row[b] = to_integer(row[b] * factor)
        for b in range(len(row)):
            sums[b] += row[b]


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
    sums: Counts,
    candidates: Floats,
    known: bool,
    posterior: Floats,
    shares: Floats,
    unit: float,
    tried: Counts,
) -> None:
    """Add the log evidence of a task with each of several priors; a known truth is part of it."""
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
        if known:
            evidence = _known_evidence(sums, candidates[prior], posterior)
        tried[prior] += np.int64(np.rint(evidence * unit))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _known_evidence(sums: Counts, prior: Floats, posterior: Floats) -> float:
    """Return the log evidence of a task whose truth is known to lie in a bin, or between two."""
    evidence = 0.0
    for b in range(len(sums)):
        if posterior[b] > 0.0:
            evidence += posterior[b] * (sums[b] / TABLE_ONE + np.log(prior[b]))
    return evidence


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _answered(
    posterior: Floats, row: Counts, missing: float, unit: float, counts: Counts
) -> np.int64:
    """Fill in the probability of each bin together with that of an answer; return their sum."""
    total = np.int64(0)
    for b in range(len(posterior)):
        apart = row[b] / TABLE_ONE - missing
        small = exp_minus(abs(apart))
        part = (1.0 if apart > 0 else small) / (1.0 + small)
        counts[b] = to_integer(posterior[b] * part * unit)
        total += counts[b]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _reach(posterior: Floats, unit: float, counts: Counts) -> tuple[int, int]:
    """Fill in a truth's posterior in units; return the bins that it lies in."""
    first, last = len(posterior), 0
    for b in range(len(posterior)):
        counts[b] = 0
        if posterior[b] > LEAST_SHARE:
            first, last = min(first, b), b + 1
            counts[b] = to_integer(posterior[b] * unit)
    return first, last


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _count_truth(posterior: Floats, unit: float, truths: Counts) -> None:
    """Add a truth's posterior, in units, to the expected numbers of truths."""
    for b in range(len(posterior)):
        if posterior[b] > LEAST_SHARE:
            truths[b] += to_integer(posterior[b] * unit)


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
    sums: Counts, log_prior: Floats, row: Counts, known: bool, posterior: Floats, without: Floats
) -> float:
    """Fill in a posterior without one of the reports, up to a factor; return its sum."""
    if known:
        for b in range(len(without)):
            without[b] = posterior[b]
        return 1.0
    largest = -np.inf
    for b in range(len(sums)):
        without[b] = (sums[b] - row[b]) / TABLE_ONE + log_prior[b]
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
def _tell(
    worker: np.uint32,
    place: np.int64,
    ratio: np.int64,
    laws: WorkerLaws,
    counts: Counts,
    reach: tuple[int, int],
    residual_unit: float,
    likely_unit: float,
    room: Floats,
    residuals: Counts,
    evidence: Counts,
) -> None:
    """Add what a report tells of its worker's errors, where that is kept."""
    first = laws.rows[worker] * laws.by_law.shape[1]
    if first < 0:
        tell_laws(
            counts,
            reach,
            residual_unit,
            laws.by_column,
            place,
            ratio,
            likely_unit,
            room,
            evidence[worker],
        )
        return
    credit(counts, reach, first + place, residuals)
    if ratio >= 0:
        credit(counts, reach, first + ratio, residuals)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def binned_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    places: Counts,
    ratios: Counts,
    cut: Floats,
    missing: Floats,
    known_places: Floats,
    laws: WorkerLaws,
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
    evidence: Counts,
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
        As of `tests.reference.numeric.mean_kernel`.
    places : ndarray of int64
        Per report, in which column of `laws` the log density given the first bin stands.
    ratios : ndarray of int64
        Per report, the column of what is to be added to that; -1 where nothing is.
    cut : ndarray of float64
        Per report, what rounding to bins took from it, in bins.
    missing : ndarray of float64
        Per report, the log density where there is no answer, as `laws` have it where there is one;
        empty where all reports are of answers.
    known_places : ndarray of float64
        Known truths in bins; NaN where the truth is to be inferred.
    laws : WorkerLaws
        What is believed of the workers' errors.
    log_prior : ndarray of float64, shape (bins,)
        Of the truths.
    candidates : ndarray of float64, shape (priors, bins)
        Other priors, whose evidence is tallied.
    densities : ndarray of float64, shape (columns, laws) or (0, 0)
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
    residuals : ndarray of int64, shape (rows, columns)
        To which the expected answers at each column are added, of workers with a row.
    truth_counts : ndarray of int64, shape (bins,)
        To which the posteriors are added.
    answered : ndarray of int64, shape (workers,) or (0,)
        To which expected answers are added; not where it is empty.
    evidence : ndarray of int64, shape (workers, laws)
        To which the expected log density of answers under each law is added, of other workers, in
        units of `likely_unit`.
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
    bins, flat = len(log_prior), residuals.reshape(-1)
    sums, row, counts = np.empty(bins, np.int64), np.empty(bins, np.int64), np.empty(bins, np.int64)
    posterior, shares, without = np.empty(bins), np.empty(bins), np.empty(bins)
    room = np.empty(laws.by_column.shape[1])
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        known = not np.isnan(known_truths[task])
        capped, factor = -1, 1.0
        if len(borne):
            capped, factor = cap(worker_codes[start:end], weights, borne)
            capped += start
        _add_up(
            start,
            end,
            worker_codes,
            places,
            ratios,
            missing,
            laws,
            capped,
            factor,
            shares,
            row,
            sums,
        )
        found = _infer(sums, log_prior, known, known_places[task], posterior)
        reach = _reach(posterior, residual_unit, counts)
        if end > start:
            likely[0] += np.int64(np.rint(found * likely_unit))
            if len(candidates):
                _try_priors(sums, candidates, known, posterior, shares, likely_unit, tried)
            _count_truth(posterior, truth_unit, truth_counts)
        for report in range(start, end):
            worker, place, ratio = worker_codes[report], places[report], ratios[report]
            if len(missing) or len(supported):
                fill_row(worker, place, ratio, laws, shares, row)
            if len(missing):
                answered[worker] += _answered(
                    posterior, row, missing[report], residual_unit, counts
                )
                mix(missing[report], row)
            _tell(
                worker,
                place,
                ratio,
                laws,
                counts,
                reach,
                residual_unit,
                likely_unit,
                room,
                flat,
                evidence,
            )
            if len(supported) and end - start > 1:
                total = _leave_out(sums, log_prior, row, known, posterior, without)
                filled = np.exp(missing[report]) if len(missing) else 0.0
                support(
                    without,
                    total,
                    densities,
                    place,
                    ratio,
                    filled,
                    likely_unit,
                    room,
                    supported[worker],
                )
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
