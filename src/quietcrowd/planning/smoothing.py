"""Smoothing of the simulated errors of one mechanism by a curve over the theoretical error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["SmoothedCell", "smooth"]

Floats = npt.NDArray[np.float64]

DEGREE = 2

LEAST_CELLS = DEGREE + 4
"""Fewer cells are not smoothed."""


@frozen(kw_only=True, eq=False)
class SmoothedCell:
    """Simulated errors of a cell on their scale, moved towards the curve of all cells.

    The mean of `draws`, shape (draws,), is the smoothed error. Their standard deviation includes
    what a draw has in common in all cells, and `misfit` is the variance due to the curve.
    """

    draws: Floats
    misfit: float = 0.0


def smooth(draws: Floats, theory: Sequence[float | None]) -> list[SmoothedCell]:
    """Move simulated errors towards a parabola over the theoretical errors, by least squares.

    `draws` has shape (cells, draws), with the same draws in each cell, and is on the scale of the
    interval like `theory`. With a None in `theory`, or fewer than six cells, nothing is moved.
    Cells farther from the curve than chance explains are moved less (``docs/theory/planning.md``).
    """
    cells, count = draws.shape
    known = [one for one in theory if one is not None]
    if cells < LEAST_CELLS or len(known) < cells:
        return [SmoothedCell(draws=row) for row in draws]
    hat = _hat(np.array(known))
    apart = draws - hat @ draws
    by_chance = apart.var(axis=1, ddof=1) / count
    freedom = cells - round(float(np.trace(hat)))
    missed = max(float((apart.mean(axis=1) ** 2 - by_chance).sum()) / freedom, 0.0)
    both = missed + by_chance
    kept = np.divide(missed, both, out=np.ones(cells), where=both > 0)
    moved = draws - (1 - kept)[:, np.newaxis] * apart
    return [
        SmoothedCell(draws=row, misfit=float((1 - share) ** 2 * missed))
        for row, share in zip(moved, kept, strict=True)
    ]


def _hat(theory: Floats) -> Floats:
    """Return the least-squares projection on polynomials of the theoretical errors."""
    spread = float(np.ptp(theory))
    place = (theory - theory.min()) / spread if spread else np.zeros(len(theory))
    basis = np.vander(place, DEGREE + 1)
    hat: Floats = basis @ np.linalg.pinv(basis)
    return hat
