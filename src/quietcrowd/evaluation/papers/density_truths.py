"""Which density is the true one, and how far densities are from it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr

from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import positions_by_text
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.density_errors import integrated_squared_errors
from quietcrowd.synthesis.kde import GAUSSIAN, KernelDensities
from quietcrowd.synthesis.weights import uniform_weights

__all__ = ["errors_from", "even_errors", "near_claims_density", "normal_density"]

Floats: TypeAlias = npt.NDArray[np.float64]


def normal_density(crowd: CrowdDensity, truths: Any, spread: float) -> KernelDensities:
    """Return normal densities around the known truths; tasks without one have no points.

    Parameters
    ----------
    crowd : CrowdDensity
        Whose tasks they are.
    truths : pyarrow.Table
        Columns ``task`` and ``label``.
    spread : float
        Standard deviation, in the unit of the claims.
    """
    middles = _truths_of(crowd, truths)
    known = ~np.isnan(middles)
    return KernelDensities(
        offsets=_offsets(known),
        points=middles[known],
        weights=np.ones(int(known.sum())),
        bandwidths=np.full(len(known), spread),
    )


def near_claims_density(crowd: CrowdDensity, truths: Any, near: float) -> KernelDensities:
    """Return densities of the claims near the known truths, with equal weights.

    Tasks without such claims, or without a known truth, have no points.

    Parameters
    ----------
    crowd : CrowdDensity
        The claims, and the bandwidths.
    truths : pyarrow.Table
        Columns ``task`` and ``label``.
    near : float
        How far from the truth a claim is at most, in the unit of the claims.
    """
    codes = crowd.claims.task_codes
    off = np.abs(crowd.values - _truths_of(crowd, truths)[codes])
    kept = off <= near  # NaN is not near
    offsets = _offsets(np.bincount(codes[kept], minlength=len(crowd.claims.tasks)))
    return KernelDensities(
        offsets=offsets,
        points=crowd.values[kept],
        weights=uniform_weights(offsets),
        bandwidths=crowd.bandwidths,
    )


def even_errors(truth: KernelDensities, public: Interval | Ordinal) -> Floats:
    """Return the integral of the squared difference from an even density over a range, per task.

    Parameters
    ----------
    truth : KernelDensities
        Of Gaussian kernels.
    public : Interval or Ordinal
        The range.

    Returns
    -------
    ndarray of float64, shape (tasks,)
        In one over the unit of the claims; NaN where a task has no points.

    Raises
    ------
    ParameterError
        Where the kernels are not Gaussian.

    Examples
    --------
    >>> one = KernelDensities(offsets=[0, 1], points=[5.0], weights=[1.0], bandwidths=[0.5])
    >>> even_errors(one, Interval(low=0, high=10)).round(4).tolist()
    [0.4642]
    """
    if truth.kernel != GAUSSIAN:
        raise ParameterError(f"the kernel must be Gaussian; got {truth.kernel.name!r}")
    errors = np.full(truth.tasks, np.nan)
    for task in np.flatnonzero(np.diff(truth.offsets)):
        rows = slice(truth.offsets[task], truth.offsets[task + 1])
        points, weights, width = truth.points[rows], truth.weights[rows], truth.bandwidths[task]
        square = weights @ GAUSSIAN.inner(points[:, np.newaxis] - points, width, width) @ weights
        inside = ndtr((public.high - points) / width) - ndtr((public.low - points) / width)
        errors[task] = square + (1.0 - 2.0 * float(weights @ inside)) / public.width
    return errors


def errors_from(truth: KernelDensities, found: KernelDensities, even: Floats) -> Floats:
    """Return the integrated squared error of each task whose true density is known.

    A task of which nothing is released counts with the error of an even density.

    Parameters
    ----------
    truth, found : KernelDensities
        Of the same tasks.
    even : ndarray of float64, shape (tasks,)
        From `even_errors`, of the same truth.

    Returns
    -------
    ndarray of float64, shape (known tasks,)
    """
    errors = integrated_squared_errors(truth, found, threads=1)
    filled = np.where(np.diff(found.offsets) > 0, errors, even)
    return filled[np.diff(truth.offsets) > 0]


def _offsets(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _truths_of(crowd: CrowdDensity, truths: Any) -> Floats:
    """Return the known truth of each task of a crowd; NaN where there is none."""
    table = pa.table(truths)
    places = positions_by_text(table["task"].combine_chunks(), crowd.claims.tasks)
    found = np.full(len(crowd.claims.tasks), np.nan)
    labels = np.asarray(table["label"].to_pylist(), np.float64)
    found[places[places >= 0]] = labels[places >= 0]
    return found
