"""How sure a ratio of two means over a crowd is: the jackknife over its workers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["FEWEST", "ratio_with_error"]

FEWEST = 5
"""With fewer workers nothing is said of how sure a figure is."""

_SURE = 10.0
"""Fewer standard errors from 0, a denominator that came out large would make a ratio look sure."""


def ratio_with_error(
    numerator: float,
    denominator: float,
    numerators: npt.NDArray[np.float64],
    denominators: npt.NDArray[np.float64],
) -> tuple[float, float] | None:
    """Return a ratio and its standard error, or None where the reports do not determine it.

    Parameters
    ----------
    numerator, denominator : float
        Of all workers.
    numerators, denominators : ndarray, shape (workers,)
        The same without one of the workers; NaN where nothing is left.

    Notes
    -----
    The jackknife of n workers: ``(n - 1) / n`` times the sum of squares about the mean of the n
    ratios that leave one worker out. (Efron and Stein, Annals of Statistics 1981: no less than the
    variance, in the mean.) It knows nothing of the noise, so it holds where a worker draws noise of
    its own, too.
    """
    if len(denominators) < FEWEST or not (denominators > 0).all():
        return None
    if not denominator > _SURE * _error(denominators):
        return None
    return numerator / denominator, _error(numerators / denominators)


def _error(left_out: npt.NDArray[np.float64]) -> float:
    return math.sqrt((len(left_out) - 1) * float(left_out.var()))
