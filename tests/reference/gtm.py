"""The inner loop of GTM: posteriors of standardised truths, and expected squared errors."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.numeric import (
    LEAST_SPREAD,
    Codes,
    Counts,
    Floats,
    add_squared,
    deviation_of,
    longest_of,
    median_of,
    rank_values,
)

__all__ = ["EVIDENCE_ONE", "FARTHEST", "gtm_kernel"]

FARTHEST = 64.0
"""Standardised answers are cut at this; a known truth alone can be so far off."""

ROBUST_SCALE = 1.4826
"""Standard deviations in a median absolute deviation, of a Gaussian."""

EVIDENCE_ONE = 2.0**24
"""What 1.0 is stored as in sums of the evidence."""


@numba.njit(nogil=True, cache=True)
def _standardise(
    values: Floats,
    known: float,
    cut: float,
    ranked: Floats,
    places: Counts,
    kept: npt.NDArray[np.bool_],
) -> Any:
    """Mark the answers of a task that are no outliers; return their mean and their spread.

    A known truth counts for the spread, so that no error is much more than one. `ranked` and
    `places` have room for the answers.
    """
    rank_values(values, ranked, places)
    median = median_of(ranked)
    farthest = cut * ROBUST_SCALE * deviation_of(ranked)
    unit = 2.0**61 / (len(values) + 2)
    count, total, squared = 0, np.int64(0), np.int64(0)
    for place in range(len(values)):
        kept[place] = farthest == 0.0 or abs(values[place] - median) <= farthest
        if kept[place]:
            count += 1
            total += np.int64(np.rint(values[place] * unit))
    mean = total / unit / max(count, 1)
    largest = 0.0 if np.isnan(known) else abs(known - mean)
    for place in range(len(values)):
        if kept[place]:
            largest = max(largest, abs(values[place] - mean))
    if largest == 0.0:
        return mean, 0.0
    for place in range(len(values)):
        if kept[place]:
            squared += np.int64(np.rint(((values[place] - mean) / largest) ** 2 * unit))
    if not np.isnan(known):
        count += 1
        squared += np.int64(np.rint(((known - mean) / largest) ** 2 * unit))
    return mean, np.sqrt(squared / unit / max(count, 1)) * largest


@numba.njit(nogil=True, cache=True)
def gtm_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    weights: Floats,
    precision_unit: float,
    prior_mean: float,
    prior_precision: float,
    cut: float,
    weight_unit: float,
    square_unit: float,
    error_unit: float,
    squared: Counts,
    kept: Counts,
    evidence: Counts,
    errors: Counts,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Find each task's posterior and tally the expected squared errors.

    The precision of a worker is ``precision_unit`` times its weight; the rest is as of the kernels
    in `tests.reference.numeric`.
    """
    longest = longest_of(offsets)
    inliers, ranked = np.empty(longest, np.bool_), np.empty(longest)
    places = np.empty(longest, np.int64)
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        known = not np.isnan(known_truths[task])
        count = end - start
        centre, spread = _standardise(
            values[start:end], known_truths[task], cut, ranked[:count], places[:count], inliers
        )
        scale = spread if spread > LEAST_SPREAD else 1.0
        total, weighted = np.int64(0), np.int64(0)
        for row in range(start, end):
            if inliers[row - start]:
                weight = weights[worker_codes[row]] * weight_unit
                total += np.int64(np.rint(weight))
                weighted += np.int64(np.rint(weight * (values[row] - centre) / scale))
        precision = prior_precision + precision_unit * total / weight_unit
        pulled = prior_precision * prior_mean + precision_unit * weighted / weight_unit
        mean = float(pulled / precision)
        variance = float(1.0 / precision)
        if known:
            mean = min(max((known_truths[task] - centre) / scale, -FARTHEST), FARTHEST)
            variance = 0.0
        else:
            surprise = ((mean - prior_mean) ** 2 + variance) * prior_precision
            evidence[0] += np.int64(
                np.rint((np.log(variance * prior_precision) + 1.0 - surprise) / 2 * EVIDENCE_ONE)
            )
        for row in range(start, end):
            if inliers[row - start]:
                error = (values[row] - centre) / scale - mean
                error = min(max(error, -2.0 * FARTHEST), 2.0 * FARTHEST)
                squared[worker_codes[row]] += np.int64(
                    np.rint((error * error + variance) * square_unit)
                )
                kept[worker_codes[row]] += 1
        truth = known_truths[task] if known else centre + scale * mean
        missed = add_squared(start, end, worker_codes, values, truth, error_unit, errors)
        if len(truths):
            truths[task] = truth
            spreads[task] = np.sqrt(missed / error_unit / max(end - start, 1))
            standard_errors[task] = scale * np.sqrt(variance)
