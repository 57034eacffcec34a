"""Rules that derive bandwidths from claims.

A learned bandwidth leaks claims, so a guarantee for a public bandwidth does not hold for it. Use
the rules to explore claims, not for releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.claim_arrays import (
    Floats,
    Offsets,
    checked_offsets,
    checked_rows,
    sums_per_task,
    task_of_rows,
)
from quietcrowd.validation import check_real

__all__ = ["RULES", "mad", "silverman"]

LEAST_PART = 1e-3
"""Smallest bandwidth, as a fraction of the public range."""


def silverman(offsets: npt.ArrayLike, values: npt.ArrayLike, *, value_range: float) -> Floats:
    """Return bandwidths by Silverman's rule, per task. They leak claims and void the guarantee.

    ``1.06 min(standard deviation, interquartile range / 1.34) n^(-1/5)`` of a task's n claims, and
    at least a thousandth of `value_range`, the public width of the range (Silverman, "Density
    estimation", 1986, section 3.4). Raises ParameterError if an array or the range is invalid.
    """
    begins, claims, least = _checked(offsets, values, value_range)
    counts = np.diff(begins)
    mean = sums_per_task(claims, begins) / np.maximum(counts, 1)
    squares = sums_per_task((claims - mean[task_of_rows(begins)]) ** 2, begins)
    deviation = np.sqrt(squares / np.maximum(counts - 1, 1))
    ranked = _ranked(claims, begins)
    middle_half = _quantiles(ranked, begins, 0.75) - _quantiles(ranked, begins, 0.25)
    spread = np.minimum(deviation, middle_half / 1.34)
    return np.asarray(np.maximum(1.06 * spread * np.maximum(counts, 1) ** -0.2, least))


def mad(offsets: npt.ArrayLike, values: npt.ArrayLike, *, value_range: float) -> Floats:
    """Return the median absolute deviation from the median, per task, as bandwidths.

    They leak claims and void the guarantee. For bounds and errors see `silverman`. Source: Wan et
    al., "From truth discovery to trustworthy opinion discovery", KDD 2016.
    """
    begins, claims, least = _checked(offsets, values, value_range)
    middle = _quantiles(_ranked(claims, begins), begins, 0.5)
    off = np.abs(claims - middle[task_of_rows(begins)])
    return np.maximum(_quantiles(_ranked(off, begins), begins, 0.5), least)


RULES: Mapping[str, Callable[..., Floats]] = MappingProxyType({"silverman": silverman, "mad": mad})


def _checked(
    offsets: npt.ArrayLike, values: npt.ArrayLike, value_range: float
) -> tuple[Offsets, Floats, float]:
    begins = checked_offsets(offsets)
    check_real("value_range", value_range, 0)
    if value_range == 0:
        raise ParameterError("value_range must be above 0; got 0")
    return begins, checked_rows("values", values, begins), LEAST_PART * value_range


def _ranked(numbers: Floats, offsets: Offsets) -> Floats:
    return numbers[np.lexsort((numbers, task_of_rows(offsets)))]


def _quantiles(ranked: Floats, offsets: Offsets, part: float) -> Floats:
    """Interpolate a quantile of each task's sorted numbers; 0 for empty tasks."""
    if not len(ranked):
        return np.zeros(len(offsets) - 1)
    counts = np.diff(offsets)
    place = part * np.maximum(counts - 1, 0)
    below = np.minimum(offsets[:-1] + place.astype(np.int64), len(ranked) - 1)
    above = np.minimum(below + 1, np.maximum(offsets[1:] - 1, 0))
    found = ranked[below] + (place % 1.0) * (ranked[above] - ranked[below])
    return np.where(counts > 0, found, 0.0)
