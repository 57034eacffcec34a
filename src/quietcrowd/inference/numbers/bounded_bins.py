"""The law of bounded reports given a bin of the truth, for the model of numbers on bins.

An answer is the truth with a worker's own normal error, kept within the range, and a report of it
is likely if the answer is one of those whose window it is in. These answers lie between two edges.
A report below the first full window has no lower edge within the range, for all answers that were
cut off at the low end are among them; one above the last but one has no upper edge; so the law
depends on the distances from a bin to the edges alone, as that of added noise does on one distance.
A table has a part for each kind of edges, at quarters of a bin; two reports, the ends, have a law
for each bin. All lengths are in bins, but those of `ErrorLaws`. Derivation:
``docs/theory/bounded-number-mechanisms.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from quietcrowd.inference.numbers.report_bins import BINS, ErrorLaws, usual_sigmas
from quietcrowd.mechanisms.channels.bounded_law import TOTAL, BoundedLaw

__all__ = ["bounded_columns", "bounded_laws"]

Floats: TypeAlias = npt.NDArray[np.float64]

LAST = BINS - 1
"""Bins from one end of the range to the other."""

PARTS = 4
"""Edges are rounded to so many parts of a bin."""

LENGTH = 2 * BINS
"""Distances from an edge to a bin, of one part: from -191 to 192."""

SUMMED = 512
"""Edges between answers that a mean is summed over."""

UPPER, LOWER, BOTH = 0, 1, 2
"""Which edges a report has within the range."""


@lru_cache(maxsize=16)
def bounded_laws(law: BoundedLaw) -> ErrorLaws:
    """Return normal errors of several sizes under a bounded law.

    The columns of its logs are those of the one end, of the other, and then, where there is a
    window, of each kind of edges at each part of a bin; see `bounded_columns`.
    """
    sigma = usual_sigmas()
    spread = sigma * LAST
    weights = [_weights_at(law, end, spread) for end in law.ends]
    if law.lift:
        apart = np.arange(LENGTH, dtype=np.float64)[:, np.newaxis] - LAST
        width = law.window / law.steps * LAST
        for kind in (UPPER, LOWER, BOTH):
            for part in range(PARTS):
                edge = part / PARTS - apart
                below = _mean_below(edge, spread)
                inside = {
                    UPPER: below,
                    LOWER: 1.0 - below,
                    BOTH: _mean_below(edge + width, spread) - below,
                }[kind]
                weights.append(law.base + law.lift * np.clip(inside, 0.0, 1.0))
    places = (0, law.steps // 2, law.steps // 2, law.steps // 2, law.steps // 2, law.steps)
    noise = sum(map(law.variance_share, places)) / len(places)
    return ErrorLaws(
        logs=np.log(np.concatenate(weights) / TOTAL),
        sigma=sigma,
        variance=sigma**2 + noise,
        share=np.full(len(sigma), 1.0 / len(sigma)),
    )


def bounded_columns(law: BoundedLaw, reports: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where the log probability of each report given the first bin stands.

    Parameters
    ----------
    law : BoundedLaw
        Of the reports.
    reports : ndarray of int64, shape (n,)
        Places among all reports.
    """
    ends = np.where(reports == law.ends[0], 0, BINS)
    if not law.lift:
        return ends
    kinds = np.where(reports < law.window, UPPER, np.where(reports >= law.steps, LOWER, BOTH))
    edges = np.where(kinds == UPPER, reports + 0.5, reports - law.window + 0.5)
    whole, parts = np.divmod(np.rint(edges / law.steps * LAST * PARTS).astype(np.int64), PARTS)
    columns = 2 * BINS + (kinds * PARTS + parts) * LENGTH + LAST - whole
    return np.where(np.isin(reports, law.ends), ends, columns)


def _mean_below(edges: Floats, spread: Floats) -> Floats:
    """Return P(error < edge), in the mean over edges that are rounded to the same part of a bin."""
    half = 0.5 / PARTS
    upper, lower = (_integral((edges + sign * half) / spread) * spread for sign in (1, -1))
    mean: Floats = (upper - lower) / (2.0 * half)
    return mean


def _integral(edges: Floats) -> Floats:
    """Return the integral of the standard normal distribution up to each edge."""
    found: Floats = edges * special.ndtr(edges) + np.exp(-0.5 * edges**2) / math.sqrt(2 * math.pi)
    return found


def _weights_at(law: BoundedLaw, report: int, spread: Floats) -> Floats:
    """Return the mean weight of a report given each bin, shape (bins, laws)."""
    bins = np.arange(BINS, dtype=np.float64)[:, np.newaxis]
    first, last = max(report - law.window + 1, 0), min(report, law.steps)
    inside = np.zeros((BINS, len(spread)))
    if law.lift:
        edges = (first - 0.5, last + 0.5)
        low, high = ((edge / law.steps * LAST - bins) / spread for edge in edges)
        below = np.zeros_like(inside) if first == 0 else special.ndtr(low)
        inside = (1.0 if last == law.steps else special.ndtr(high)) - below
    answer = _mean_place(bins, spread, law.steps)
    apart = law.steps - answer if report == law.ends[0] else answer
    weights: Floats = law.base + law.lift * inside + law.least + law.slope * apart
    return weights


def _mean_place(bins: Floats, spread: Floats, steps: int) -> Floats:
    """Return the mean place of the answers given each bin, shape (bins, laws).

    It is the sum of the chances that an answer lies above each edge between two places; of a fine
    grid those of `SUMMED` edges stand for all.
    """
    pieces = min(steps, SUMMED)
    total = np.zeros((len(bins), len(spread)))
    for piece in range(pieces):
        total += special.ndtr((bins - (piece + 0.5) / pieces * LAST) / spread)
    return total * (steps / pieces)
