"""Validation of arrays of claims, sorted by task.

``offsets``, shape (tasks + 1,), delimit the rows of each task. Functions return the array in its
internal dtype, or raise ParameterError with array, position and value.
"""

import math
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference.loop import threads_of

Floats: TypeAlias = npt.NDArray[np.float64]
Offsets: TypeAlias = npt.NDArray[np.int64]

LEAST_BANDWIDTH = float(np.finfo(np.float64).tiny)
"""The density at the center of a narrower kernel overflows."""

OFF_ONE = 1e-9
"""Tolerance for rounding of shares that sum to 1."""


def checked_offsets(offsets: npt.ArrayLike) -> Offsets:
    """Return offsets: integers from 0 that do not decrease."""
    given = np.asarray(offsets)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given) or given[0] != 0:
        raise ParameterError("synthesis.offsets-invalid", offsets=offsets)
    whole = given.astype(np.int64)
    if (np.diff(whole) < 0).any():
        task = int(np.argmax(np.diff(whole) < 0))
        raise ParameterError(
            "synthesis.offsets-decrease", task=task, whole=whole[task], end=whole[task + 1]
        )
    return whole


def checked_rows(
    name: str, numbers: npt.ArrayLike, offsets: Offsets, *, low: float | None = None
) -> Floats:
    """Return one finite number per row, at least `low` if given."""
    given = _numbers(name, numbers, int(offsets[-1]), "row")
    rule = "finite" if low is None else f"finite and at least {low:g}"
    fine = np.isfinite(given) if low is None else np.isfinite(given) & (given >= low)
    if not fine.all():
        row = int(np.argmin(fine))
        task = int(np.searchsorted(offsets, row, side="right")) - 1
        raise ParameterError(
            "synthesis.point-breaks-rule",
            name=name,
            rule=rule,
            row=row,
            task=task,
            value=given[row].item(),
        )
    return given


def checked_bandwidths(bandwidths: npt.ArrayLike, offsets: Offsets) -> Floats:
    """Return one bandwidth per task, finite and above 0."""
    given = _numbers("bandwidths", bandwidths, len(offsets) - 1, "task")
    fine = np.isfinite(given) & (given >= LEAST_BANDWIDTH)
    if not fine.all():
        task = int(np.argmin(fine))
        raise ParameterError(
            "synthesis.bandwidth-of-task-invalid", task=task, value=given[task].item()
        )
    return given


def checked_codes(
    worker_codes: npt.ArrayLike, offsets: Offsets, workers: int
) -> npt.NDArray[np.uint32]:
    """Return one worker per row, 0 to `workers` - 1."""
    given = np.asarray(worker_codes)
    if given.shape != (offsets[-1],) or (given.size and given.dtype.kind not in "iu"):
        raise ParameterError(
            "synthesis.worker-codes-shape", offset=offsets[-1], shape=given.shape, dtype=given.dtype
        )
    fine = (given >= 0) & (given < workers)
    if not fine.all():
        row = int(np.argmin(fine))
        raise ParameterError(
            "synthesis.worker-code-out-of-range",
            workers=workers - 1,
            cells=workers,
            row=row,
            value=given[row].item(),
        )
    return np.ascontiguousarray(given, dtype=np.uint32)


def checked_shares(name: str, shares: npt.ArrayLike, offsets: Offsets) -> Floats:
    """Return one share per row, at least 0, with sum 1 in each nonempty task."""
    given = checked_rows(name, shares, offsets, low=0.0)
    sums = sums_per_task(given, offsets)
    wrong = (np.abs(sums - 1.0) > OFF_ONE) & (np.diff(offsets) > 0)
    if wrong.any():
        task = int(np.argmax(wrong))
        total = sums[task].item()
        raise ParameterError("synthesis.weights-of-task-sum", name=name, task=task, total=total)
    return given


def checked_widths(bandwidth: npt.ArrayLike) -> Floats:
    """Return bandwidths as float64, finite and above 0."""
    widths = np.asarray(bandwidth, np.float64)
    fine = np.isfinite(widths) & (widths > 0)
    if not fine.all():
        wrong = widths.flat[int(np.argmin(fine))].item()
        raise ParameterError("synthesis.bandwidth-not-positive", value=wrong)
    return widths


def task_of_rows(offsets: Offsets) -> npt.NDArray[np.int64]:
    """Return the task of each row."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def sums_per_task(numbers: Floats, offsets: Offsets) -> Floats:
    """Return the sum of each task's numbers."""
    tasks = len(offsets) - 1
    return np.bincount(task_of_rows(offsets), weights=numbers, minlength=tasks).astype(np.float64)


def shares_of(numbers: Floats, offsets: Offsets) -> Floats:
    """Divide nonnegative numbers by their sum in each task; shares are equal if all are 0."""
    tasks = task_of_rows(offsets)
    sums = sums_per_task(numbers, offsets)
    none = sums == 0
    equal = np.where(none, 1.0, 0.0)[tasks]
    whole = np.where(none, np.diff(offsets), sums)
    shares: Floats = (numbers + equal) / whole[tasks]
    return shares


def _numbers(name: str, numbers: npt.ArrayLike, count: int, of: str) -> Floats:
    given: npt.NDArray[Any] = np.asarray(numbers)
    if given.shape != (count,) or (given.size and given.dtype.kind not in "iuf"):
        raise ParameterError(
            "synthesis.array-shape",
            name=name,
            count=count,
            owner=of,
            shape=given.shape,
            dtype=given.dtype,
        )
    return np.ascontiguousarray(given, dtype=np.float64)


SMALLEST_RUN = 200_000
"""Fewest pairs of claims that justify a thread."""


def task_runs(offsets: Offsets, n_jobs: int | None) -> list[tuple[int, int]]:
    """Divide tasks into runs (first, last + 1) with about equal numbers of pairs of claims.

    There is at least one run and at most `n_jobs`; None allows as many threads as the pairs
    justify.
    """
    pairs = np.concatenate([[0.0], np.cumsum(np.diff(offsets).astype(np.float64) ** 2)])
    threads = threads_of(n_jobs, int(pairs[-1] / SMALLEST_RUN))
    targets = pairs[-1] * np.arange(1, threads) / threads
    cuts = np.unique([0, *np.searchsorted(pairs, targets), len(offsets) - 1])
    return [(int(first), int(last)) for first, last in pairwise(cuts)] or [(0, 0)]


def public_range(claims: Answers) -> Ordinal | Interval:
    """Return the domain of numeric claims."""
    if not isinstance(claims, Answers):
        raise ParameterError("synthesis.claims-not-answers", type_name=type(claims).__name__)
    if not isinstance(claims.domain, Ordinal | Interval):
        raise AnswerError("synthesis.claims-not-numbers", domain=claims.domain.example())
    if not 0 < claims.domain.width < math.inf:
        raise AnswerError("synthesis.claims-range-invalid", domain=claims.domain.example())
    return claims.domain
