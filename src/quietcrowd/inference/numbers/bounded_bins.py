"""Distribution of bounded reports given the bin of a truth.

An answer is the truth plus a worker's normal error, clipped to the range. A report is likely if the
answer is among those whose window contains it; these answers lie between two edges, of which one
may be beyond the range. So the distribution depends only on the distances from a bin to the edges.

The table has one part per kind of edges, at quarters of a bin. Two reports, the ends, have a
distribution for each bin. The unit of length is a bin, except in `ErrorDistributions`. Derivation:
``research/docs/theory/bounded-number-mechanisms.md``.
"""

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from quietcrowd.inference.numbers.report_bins import (
    BINS,
    LOG_FLOOR,
    ErrorDistributions,
    usual_sigmas,
)
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution

Floats: TypeAlias = npt.NDArray[np.float64]

LAST = BINS - 1
"""Bins from one end of the range to the other."""

PARTS = 4
"""Resolution of edges, in parts of a bin."""

LENGTH = 2 * BINS
"""Number of distances from an edge to a bin, for one part: from -191 to 192."""

SUMMED = 512
"""Most edges between answers in the sum for a mean."""

UPPER, LOWER, BOTH = 0, 1, 2
"""Which edges a report has within the range."""


@lru_cache(maxsize=16)
def bounded_distributions(distribution: BoundedDistribution) -> ErrorDistributions:
    """Return normal errors of several sizes under a bounded channel.

    The blocks of `logs` are the first end and the other end. If the channel has a window, each kind
    of edges at each part of a bin follows; see `bounded_columns`.
    """
    sigma = usual_sigmas()
    spread = sigma * LAST
    weights = [_weights_at(distribution, end, spread) for end in distribution.ends]
    if distribution.lift:
        apart = np.arange(LENGTH, dtype=np.float64)[:, np.newaxis] - LAST
        width = distribution.window / distribution.steps * LAST
        for kind in (UPPER, LOWER, BOTH):
            for part in range(PARTS):
                edge = part / PARTS - apart
                below = _mean_below(edge, spread)
                inside = {
                    UPPER: below,
                    LOWER: 1.0 - below,
                    BOTH: _mean_below(edge + width, spread) - below,
                }[kind]
                weights.append(distribution.base + distribution.lift * np.clip(inside, 0.0, 1.0))
    places = (
        0,
        distribution.steps // 2,
        distribution.steps // 2,
        distribution.steps // 2,
        distribution.steps // 2,
        distribution.steps,
    )
    noise = sum(map(distribution.variance_share, places)) / len(places)
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate(weights) / TOTAL)
    return ErrorDistributions(
        logs=np.maximum(logs, logs.max(axis=0) - LOG_FLOOR),
        sigma=sigma,
        variance=(sigma**2 + noise)[np.newaxis],
        share=np.full(len(sigma), 1.0 / len(sigma)),
    )


def bounded_columns(
    distribution: BoundedDistribution, reports: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the row of `ErrorDistributions.logs` for each report index, given the first bin."""
    ends = np.where(reports == distribution.ends[0], 0, BINS)
    if not distribution.lift:
        return ends
    kinds = np.where(
        reports < distribution.window, UPPER, np.where(reports >= distribution.steps, LOWER, BOTH)
    )
    edges = np.where(kinds == UPPER, reports + 0.5, reports - distribution.window + 0.5)
    whole, parts = np.divmod(
        np.rint(edges / distribution.steps * LAST * PARTS).astype(np.int64), PARTS
    )
    columns = 2 * BINS + (kinds * PARTS + parts) * LENGTH + LAST - whole
    return np.where(np.isin(reports, distribution.ends), ends, columns)


def _mean_below(edges: Floats, spread: Floats) -> Floats:
    """Return P(error < edge), averaged over the edges that round to the same part of a bin."""
    half = 0.5 / PARTS
    upper, lower = (_integral((edges + sign * half) / spread) * spread for sign in (1, -1))
    mean: Floats = (upper - lower) / (2.0 * half)
    return mean


def _integral(edges: Floats) -> Floats:
    """Return the integral of the standard normal distribution function up to each edge."""
    found: Floats = edges * special.ndtr(edges) + np.exp(-0.5 * edges**2) / math.sqrt(2 * math.pi)
    return found


def _weights_at(distribution: BoundedDistribution, report: int, spread: Floats) -> Floats:
    """Return the mean weight of a report given each bin, shape (bins, distributions)."""
    bins = np.arange(BINS, dtype=np.float64)[:, np.newaxis]
    first, last = max(report - distribution.window + 1, 0), min(report, distribution.steps)
    inside = np.zeros((BINS, len(spread)))
    if distribution.lift:
        edges = (first - 0.5, last + 0.5)
        low, high = ((edge / distribution.steps * LAST - bins) / spread for edge in edges)
        below = np.zeros_like(inside) if first == 0 else special.ndtr(low)
        inside = (1.0 if last == distribution.steps else special.ndtr(high)) - below
    answer = _mean_place(bins, spread, distribution.steps)
    apart = distribution.steps - answer if report == distribution.ends[0] else answer
    weights: Floats = (
        distribution.base
        + distribution.lift * inside
        + distribution.least
        + distribution.slope * apart
    )
    return weights


def _mean_place(bins: Floats, spread: Floats, steps: int) -> Floats:
    """Sum the probabilities that the answer exceeds each edge, on at most `SUMMED` edges."""
    pieces = min(steps, SUMMED)
    total = np.zeros((len(bins), len(spread)))
    for piece in range(pieces):
        total += special.ndtr((bins - (piece + 0.5) / pieces * LAST) / spread)
    return total * (steps / pieces)
