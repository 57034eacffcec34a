"""Distributions of reports near the ends of the range, where answers are clipped.

An answer is the truth plus a worker's own error, clipped to the range. So the distribution of a
report depends on more than its distance from the truth. Reports beyond an end are equivalent, and
have one distribution. Within the range, a few cells of reports near each end have a factor on the
distribution by distance. The unit of length is the width of the range.
"""

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

Floats: TypeAlias = npt.NDArray[np.float64]

CELLS = 4
"""Most cells at each end, within the range."""

PER_SCALE = 1.0
"""Cells per scale of the noise."""

MOST_SCALE = 1.0
"""Largest scale of the noise at which the model includes clipping.

Beyond it, the model with clipping is more accurate, but the estimates were not:
``docs/theory/noise-aware-numbers.md``.
"""

POINTS = 6
"""Quadrature points for the mean density over a cell."""


def end_cells(scale: float, step: float) -> tuple[float, int]:
    """Return the width of the cells, at least a bin's `step`, and their number at each end."""
    width = max(scale / PER_SCALE, step)
    if 2 * CELLS * width < 1.0:
        return width, CELLS
    half = math.ceil(0.5 / width)
    return 0.5 / half, half


def cells_of(reports: Floats, scale: float, step: float) -> npt.NDArray[np.int64]:
    """Return the cell of each report; -1 if only its distance from the truth matters.

    Cell 0 contains reports below the range, and cell 1 those above. The next cells go up from the
    lower end, and as many go down from the upper end.
    """
    width, count = end_cells(scale, step)
    upper = reports > 0.5
    apart = np.where(upper, 1.0 - reports, reports)
    cells = np.maximum(np.floor(apart / width), -1.0).astype(np.int64)
    return np.where(cells < 0, upper, np.where(cells < count, 2 + cells + upper * count, -1))


def beyond_logs(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return log densities at an end, for reports beyond it, shape (2 bins, distributions).

    Let ``K(x)`` be what clipping adds to the likelihood at an end, for a truth at distance x. A
    report y has the density of normal error plus noise, plus ``exp(-|y - end| / b) K(x) / 2b`` for
    each end, with the scale b of the noise. Beyond an end, it decays as ``exp(-|y - end| / b)``,
    whatever the truth. `sigma` has shape (distributions,).
    """
    law, more = _at(0.0, sigma, scale, bins)
    logs = law + np.log1p(more)
    return np.concatenate([logs, logs[::-1]])


def cell_ratios(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return the log of the mean ratio in a cell to the density by distance, by cell and bin."""
    width, count = end_cells(scale, 1.0 / (bins - 1))
    points, shares = np.polynomial.legendre.leggauss(POINTS)
    lower = []
    for cell in range(count):
        inside = (cell + (points + 1.0) / 2.0) * width
        more = sum(s * _at(y, sigma, scale, bins)[1] for s, y in zip(shares, inside, strict=True))
        lower.append(np.log1p(more / 2.0))
    return np.concatenate([*lower, *(logs[::-1] for logs in lower)])


def _at(report: float, sigma: Floats, scale: float, bins: int) -> tuple[Floats, Floats]:
    """Return a report's log density by its distance, and the ends' contribution relative to it."""
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
    """Return log probabilities of non-private answers at the ends, shape (2 bins, distributions).

    The distributions are normal, then as many of Student's with `tail` degrees of freedom, of
    scales `width`. Answers within `margin`, half of a step, of an end also count as clipped.
    """
    apart = (margin - np.linspace(0.0, 1.0, bins)[:, np.newaxis]) / width
    student = special.stdtr(tail, apart)
    with np.errstate(divide="ignore"):
        logs = np.hstack([special.log_ndtr(apart), np.log(student)])
    return np.concatenate([logs, logs[::-1]])
