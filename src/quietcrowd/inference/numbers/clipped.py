"""Laws of reports near the ends of the range, where the answers behind them are cut off.

An answer is the truth with a worker's own error, kept within the range. So the law of a report
depends on more than its distance from the truth. All reports beyond an end tell the same of an
answer, so that they have a law of their own; within the range, the law of the distance counts, and
for each of a few cells of reports by how much the ends make it more. All lengths are in widths of
the range.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

__all__ = [
    "MOST_SCALE",
    "beyond_logs",
    "cell_ratios",
    "cells_of",
    "clipped_plain_logs",
    "end_cells",
]

Floats: TypeAlias = npt.NDArray[np.float64]

CELLS = 4
"""Cells of reports at either end, within the range."""

PER_SCALE = 1.0
"""A cell is this part of the scale of the noise."""

MOST_SCALE = 1.0
"""With a larger scale of the noise all reports count as if nothing was cut off.

Their laws would be nearer to the truth, but the estimates were not: `noise-aware-numbers.md`.
"""

POINTS = 6
"""Of a report at which its density is looked up in a cell: the law's mean over the cell."""


def end_cells(scale: float, step: float) -> tuple[float, int]:
    """Return how wide cells are, and how many there are at either end, within the range.

    They may meet in the middle; none is narrower than a bin's `step`.
    """
    width = max(scale / PER_SCALE, step)
    if 2 * CELLS * width < 1.0:
        return width, CELLS
    half = math.ceil(0.5 / width)
    return 0.5 / half, half


def cells_of(reports: Floats, scale: float, step: float) -> npt.NDArray[np.int64]:
    """Return the cell of each report; -1 where its law is that of its distance from the truth.

    Cell 0 is that of reports below the range, 1 of those above. The next ones go up from the lower
    end, and as many go down from the upper one.
    """
    width, count = end_cells(scale, step)
    upper = reports > 0.5
    apart = np.where(upper, 1.0 - reports, reports)
    cells = np.maximum(np.floor(apart / width), -1.0).astype(np.int64)
    return np.where(cells < 0, upper, np.where(cells < count, 2 + cells + upper * count, -1))


def beyond_logs(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return log densities at an end of reports beyond it, shape (2 bins, laws).

    With ``K(x)`` what noise makes more likely at an end by cutting errors off there, of a truth
    at a distance of x from it, the density of a report y is that of normal error and noise together
    plus ``exp(-|y - end| / b) K(x) / 2b`` for either end. Beyond an end it falls by
    ``exp(-|y - end| / b)``, whatever the truth.

    Parameters
    ----------
    sigma : ndarray of float64, shape (laws,)
        Standard deviations of a worker's own errors.
    scale : float
        Of the noise, b.
    bins : int
        Of the truths.
    """
    law, more = _at(0.0, sigma, scale, bins)
    logs = law + np.log1p(more)
    return np.concatenate([logs, logs[::-1]])


def cell_ratios(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return by how much the ends raise a report's log density, shape (2 cells bins, laws).

    The mean over a cell of reports of the ratio to the density of the distance; parameters as of
    `beyond_logs`.
    """
    width, count = end_cells(scale, 1.0 / (bins - 1))
    points, shares = np.polynomial.legendre.leggauss(POINTS)
    lower = []
    for cell in range(count):
        inside = (cell + (points + 1.0) / 2.0) * width
        more = sum(s * _at(y, sigma, scale, bins)[1] for s, y in zip(shares, inside, strict=True))
        lower.append(np.log1p(more / 2.0))
    return np.concatenate([*lower, *(logs[::-1] for logs in lower)])


def _at(report: float, sigma: Floats, scale: float, bins: int) -> tuple[Floats, Floats]:
    """Return a report's log density by its distance, and what the ends add, as a part of it."""
    truths = np.linspace(0.0, 1.0, bins)[:, np.newaxis]
    below = _cut_off(truths, sigma, scale)
    logs = NormalLaplace(sigma, scale).log_density(report - truths)
    extra = math.exp(-report / scale) * below + math.exp((report - 1.0) / scale) * below[::-1]
    return logs, extra / (2.0 * scale) * np.exp(-logs)


def _cut_off(truths: Floats, sigma: Floats, scale: float) -> Floats:
    """Return K(x): P(answer < 0) less the mean of exp(answer / b) over such answers."""
    far = truths / sigma
    root = math.sqrt(0.5)
    tails = special.erfcx(far * root) - special.erfcx((far + sigma / scale) * root)
    cut: Floats = 0.5 * np.exp(-0.5 * far**2) * tails
    return np.maximum(cut, 0.0)


def clipped_plain_logs(width: Floats, tail: float, margin: float, bins: int) -> Floats:
    """Return log probabilities of answers at the ends, shape (2 bins, laws).

    Parameters
    ----------
    width : ndarray of float64, shape (laws / 2,)
        Of normal laws, and of as many Student's laws after them.
    tail : float
        Degrees of freedom of the latter.
    margin : float
        Errors that end so far within the range are cut off, too: half of a step between levels.
    bins : int
        Of the truths.
    """
    apart = (margin - np.linspace(0.0, 1.0, bins)[:, np.newaxis]) / width
    student = special.stdtr(tail, apart)
    with np.errstate(divide="ignore"):
        logs = np.hstack([special.log_ndtr(apart), np.log(student)])
    return np.concatenate([logs, logs[::-1]])
