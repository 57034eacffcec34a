"""The inner loop of MOON: truths from reports with normal errors and Laplace noise.

Loops over a task's reports run on vector registers, and sum in whole numbers, so that no order of
additions matters; see `tests.reference.vector_math`.
"""

from __future__ import annotations

import numba
import numpy as np

from tests.reference.normal_laplace import bend, moments
from tests.reference.numeric import Codes, Counts, Floats, add_squared, longest_of
from tests.reference.vector_math import to_integer

__all__ = ["LARGEST_SCORE", "mixture_kernel"]

MOST_STEPS = 40
PLAIN = 0.5
"""One over the variance of the noise. The curvature at no error is about one over the variance of a
report where the worker's own errors outweigh the noise, and more than this where they do not."""

LEAST_CURVATURE = 0.05
"""A report's curvature counts as at least this part of the one at no error, or of `PLAIN`."""

LARGEST_CURVATURE = 2.0**20
"""And as at most this many times the largest such number on the task."""

ROUGH_STEPS = 2
"""Steps with rough scores before those with the law's own, which cost about ten times as much."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _rough_start(
    count: int,
    reports: Floats,
    peaks: Floats,
    weights: Floats,
    largest: float,
    unit: float,
) -> float:
    """Return nearly the truth: a mean, then steps with scores that are straight and cut at 1.

    The mean is weighted by about one over the reports' variances. The law's score has the slope
    ``peaks`` at 0, and is never beyond 1.
    """
    farthest = 1.0
    for place in range(count):
        farthest = max(farthest, abs(reports[place]))
    share, inverse = unit / LARGEST_CURVATURE / largest, 1.0 / farthest
    total, weighted = np.int64(0), np.int64(0)
    for place in range(count):
        weight = weights[place] * min(peaks[place], PLAIN) * (unit / largest)
        total += to_integer(weight)
        weighted += to_integer(weight * (reports[place] * inverse))
    truth = float(weighted / total * farthest) if total > 0 else 0.0
    for _ in range(ROUGH_STEPS):
        slope, curvature = np.int64(0), np.int64(0)
        for place in range(count):
            score = (reports[place] - truth) * peaks[place]
            slope += to_integer(weights[place] * min(max(score, -1.0), 1.0) * unit)
            curved = (
                peaks[place] if abs(score) < 1.0 else LEAST_CURVATURE * min(peaks[place], PLAIN)
            )
            curvature += to_integer(weights[place] * min(curved * share, unit))
        if curvature <= 0:
            break
        truth += (slope / unit) / (curvature / share)
    return truth


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _slope(
    truth: float,
    count: int,
    reports: Floats,
    sigmas: Floats,
    inverses: Floats,
    peaks: Floats,
    weights: Floats,
    largest: float,
    unit: float,
) -> tuple[float, float]:
    """Return the slope and the curvature of a task's weighted log likelihood, in units of b."""
    slope, curvature = np.int64(0), np.int64(0)
    share = unit / LARGEST_CURVATURE / largest
    for place in range(count):
        t, curved = bend(reports[place] - truth, sigmas[place], inverses[place])
        slope += to_integer(weights[place] * t * unit)
        curved = min(max(curved, LEAST_CURVATURE * min(peaks[place], PLAIN)) * share, unit)
        curvature += to_integer(weights[place] * curved)
    return float(slope / unit), float(curvature / share)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _climb(
    count: int,
    reports: Floats,
    sigmas: Floats,
    inverses: Floats,
    peaks: Floats,
    weights: Floats,
    prior_mean: float,
    prior_precision: float,
    low: float,
    high: float,
    rest: float,
    unit: float,
) -> tuple[float, float]:
    """Return the truth of the largest log posterior between two bounds, in units of b.

    The likelihood is log-concave: Newton steps, cut at 1, are kept between the points that are
    known to be too low and too high, until a step is less than `rest` standard errors. The second
    number is the curvature there, or a step before.
    """
    largest = 0.0
    for place in range(count):
        largest = max(largest, min(peaks[place], PLAIN))
    truth = _rough_start(count, reports, peaks, weights, largest, unit)
    truth = min(max(truth, low), high)
    too_low, too_high = -np.inf, np.inf
    curvature = 0.0
    for _ in range(MOST_STEPS):
        slope, curvature = _slope(
            truth, count, reports, sigmas, inverses, peaks, weights, largest, unit
        )
        slope += prior_precision * (prior_mean - truth)
        curvature += prior_precision
        if slope > 0:
            too_low = truth
        else:
            too_high = truth
        new = min(max(truth + min(max(slope / curvature, -1.0), 1.0), low), high)
        if not too_low < new < too_high:
            between = too_low > -np.inf and too_high < np.inf
            new = (too_low + too_high) / 2.0 if between else truth
        moved = abs(new - truth)
        truth = new
        if moved * moved * curvature <= rest * rest:
            break
    return truth, curvature


LARGEST_SCORE = 16.0
"""A report's score of ln(variance) is cut at this."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _weigh(
    truth: float,
    count: int,
    reports: Floats,
    sigmas: Floats,
    inverses: Floats,
    scale: float,
    square_unit: float,
    evidence_unit: float,
    own: Counts,
    information: Counts,
) -> np.int64:
    """Fill in what a task's reports tell of their workers; return their log densities' sum."""
    square_scale = scale * scale * square_unit
    likely = np.int64(0)
    for place in range(count):
        inverse = inverses[place]
        _, _, _, second, log_density = moments(reports[place] - truth, sigmas[place], inverse)
        likely += to_integer(log_density * evidence_unit)
        own[place] = to_integer(min(second * square_scale, 4.0 * square_unit))
        score = min((second * inverse * inverse - 1.0) * 0.5, LARGEST_SCORE)
        information[place] = to_integer(score * score * square_unit)
    return likely


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _credit(worker_codes: Codes, own: Counts, information: Counts, sums: Counts) -> None:
    """Add what a task's reports tell to their workers.

    Apart from `_weigh`, so that the memory of many workers is waited for once.
    """
    for place in range(len(worker_codes)):
        worker = worker_codes[place]
        sums[worker, 0] += own[place]
        sums[worker, 1] += information[place]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mixture_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    sigmas: Floats,
    weights: Floats,
    scale: float,
    prior_mean: float,
    prior_precision: float,
    low: float,
    high: float,
    rest: float,
    weight_unit: float,
    error_unit: float,
    square_unit: float,
    evidence_unit: float,
    truth_unit: float,
    squared: Counts,
    sums: Counts,
    evidence: Counts,
    truth_sums: Counts,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Find each task's most likely truth, and tally what the reports tell of their workers.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths, truths, standard_errors, spreads
        As of `tests.reference.numeric.mean_kernel`.
    sigmas : ndarray of float64
        Per worker, the standard deviation of its own errors, in units of the scale b.
    weights : ndarray of float64
        Per worker, above 0 and at most 1: what its log likelihood counts.
    scale : float
        b, scaled as the values are; above 0.
    prior_mean, prior_precision : float
        Of the truths, scaled as the values are; a precision of 0 is no prior.
    low, high : float
        Bounds of the truths, scaled alike.
    rest : float
        A truth is found when it moves by less than this many standard errors.
    weight_unit, error_unit, square_unit, evidence_unit, truth_unit : float
        What 1.0 is stored as: in sums over a task, in `squared`, in `sums`, in sums of log
        likelihoods, and in `truth_sums`. All but the second and the last are such that no term is
        stored as more than `tests.reference.vector_math.LARGEST_UNIT`.
    squared : ndarray of int64, shape (workers,) or (0,)
        To which the squared errors of each worker's reports are added; not where it is empty, which
        it may be where no truths are to be filled in.
    sums : ndarray of int64, shape (workers, 2)
        To which are added: the expected squares of each worker's own errors, and the squares of the
        scores of ln(sigma^2).
    evidence : ndarray of int64, shape (1,)
        To which the log densities are added, of errors in units of b, and, where there is a prior,
        minus half the logarithms of the truths' precisions.
    truth_sums : ndarray of int64, shape (3,)
        To which are added: the truths, and their squares with their posterior variances, scaled;
        and their number. Tasks without reports or a known truth do not count.
    """
    longest = longest_of(offsets)
    reports, task_sigmas, inverses = np.empty(longest), np.empty(longest), np.empty(longest)
    peaks, task_weights = np.empty(longest), np.empty(longest)
    own, information = np.empty(longest, np.int64), np.empty(longest, np.int64)
    law = np.empty((len(sigmas), 4))
    for worker in range(len(sigmas)):
        law[worker, 0] = sigmas[worker]
        law[worker, 1] = 1.0 / sigmas[worker]
        law[worker, 2] = bend(0.0, sigmas[worker], law[worker, 1])[1]
        law[worker, 3] = weights[worker]
    per_scale, missed = 1.0 / scale, np.int64(0)
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        for row in range(start, end):
            place, worker = row - start, worker_codes[row]
            reports[place] = values[row] * per_scale
            task_sigmas[place] = law[worker, 0]
            inverses[place] = law[worker, 1]
            peaks[place] = law[worker, 2]
            task_weights[place] = law[worker, 3]
        known = not np.isnan(known_truths[task])
        if known:
            truth, curvature = known_truths[task] * per_scale, np.inf
        elif end == start:
            truth, curvature = min(max(0.0, low * per_scale), high * per_scale), 0.0
        else:
            truth, curvature = _climb(
                end - start,
                reports,
                task_sigmas,
                inverses,
                peaks,
                task_weights,
                prior_mean * per_scale,
                prior_precision * scale * scale,
                low * per_scale,
                high * per_scale,
                rest,
                weight_unit,
            )
        if curvature > 0:
            middle, spread = truth * scale, min(scale * scale / curvature, 1.0)
            truth_sums[0] += np.int64(np.rint(middle * truth_unit))
            truth_sums[1] += np.int64(np.rint((middle * middle + spread) * truth_unit))
            truth_sums[2] += 1
            if prior_precision > 0 and not known:
                evidence[0] -= np.int64(np.rint(np.log(curvature) / 2.0 * evidence_unit))
        evidence[0] += _weigh(
            truth,
            end - start,
            reports,
            task_sigmas,
            inverses,
            scale,
            square_unit,
            evidence_unit,
            own,
            information,
        )
        _credit(worker_codes[start:end], own, information, sums)
        found = known_truths[task] if known else truth * scale
        if len(squared):
            missed = add_squared(start, end, worker_codes, values, found, error_unit, squared)
        if len(truths):
            truths[task] = found
            spreads[task] = np.sqrt(missed / error_unit / max(end - start, 1))
            widest = (high - low) / np.sqrt(12.0)  # of what is even between the bounds
            error = min(scale / np.sqrt(curvature), widest) if curvature > 0 else np.nan
            standard_errors[task] = error
