"""The most likely truth of a task: Newton steps on reports with normal errors and Laplace noise.

Loops over a task's reports run on vector registers, and sum in whole numbers, so that no order of
additions matters; see `quietcrowd.inference.kernels.vector_math`.
"""

from __future__ import annotations

import numba
import numpy as np

from quietcrowd.inference.kernels.normal_laplace import bend
from quietcrowd.inference.kernels.numeric import Floats
from quietcrowd.inference.kernels.vector_math import to_integer

__all__ = ["climb"]

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
def climb(
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
