"""Simulated errors of one mechanism, smoothed by the curve that theory has for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["SmoothedCell", "smooth"]

Floats = npt.NDArray[np.float64]

DEGREE = 2
"""Of the curve over what theory expects."""

LEAST_CELLS = DEGREE + 4
"""With fewer cells there is nothing to smooth."""


@frozen(kw_only=True, eq=False)
class SmoothedCell:
    """Simulated errors of a cell on their scale, moved towards the curve of all cells.

    Attributes
    ----------
    draws : ndarray of float64, shape (draws,)
        Their mean is the smoothed error. Their deviation tells how sure it is: what a draw has in
        common in all cells is in it.
    misfit : float
        Variance by which the smoothed error may be off since the curve is not the true one.
    """

    draws: Floats
    misfit: float = 0.0


def smooth(draws: Floats, theory: Sequence[float | None]) -> list[SmoothedCell]:
    """Move simulated errors towards a curve of low order over what theory expects.

    Parameters
    ----------
    draws : ndarray of float64, shape (cells, draws)
        Errors on the scale of the interval: the cells of one mechanism, the same draws in each.
    theory : sequence of float
        What theory expects of each cell, on the same scale. With a None among them, or fewer than
        six cells, nothing is moved.

    Notes
    -----
    The curve is a parabola, by least squares, over the theory's error. Cells that lie farther from
    it than chance tells are moved less: with t^2 the variance of what the curve misses, estimated
    from the distances, and v that of a distance by chance, a distance is kept by ``t^2 /
    (t^2 + v)``. ``docs/theory/planning.md``.
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
    """Return the matrix of least squares of a curve over the theory's errors."""
    spread = float(np.ptp(theory))
    place = (theory - theory.min()) / spread if spread else np.zeros(len(theory))
    basis = np.vander(place, DEGREE + 1)
    hat: Floats = basis @ np.linalg.pinv(basis)
    return hat
