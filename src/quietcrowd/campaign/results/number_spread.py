"""Variance of numeric reports within and across tasks, summed per worker.

All sums are integers, so they do not depend on the order or partition of the reports. Numbers are
first scaled to their range.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.results.report_rows import ReportRows, RowBlock
from quietcrowd.domains import NumericDomain, check_numeric
from quietcrowd.inference.integer_sums import unit_for

__all__ = ["NumberSpread", "SpreadSums"]

_Counts = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.float64]


class SpreadSums(NamedTuple):
    """Sums over a worker's numbers; each of shape (workers,) and float64.

    `reports` counts them, and `several` those on tasks with other reports. `taken` sums
    ``n / (n - 1)`` times the squared distance from the task's mean, for n numbers on a task. This
    is how much the squares within tasks shrink without the number. `summed` and `squared` sum the
    distances from the mean of all numbers, and their squares.
    """

    reports: _Numbers
    several: _Numbers
    taken: _Numbers
    summed: _Numbers
    squared: _Numbers


@frozen(kw_only=True, eq=False)
class NumberSpread:
    """Sums over all numeric reports, scaled by their range `extent`.

    `within` is the sum of squared distances from the task means, with `free` degrees of freedom.
    `summed` and `squared` are totals of `SpreadSums`.
    """

    extent: float
    free: int
    within: float
    summed: float
    squared: float
    sums: SpreadSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self | None:
        """Sum over all reports; None if no task has two or all numbers are equal."""
        domain = check_numeric(rows.domain, "agreement")
        counts = rows.per_task
        low, high = _range(rows, domain)
        free = int((counts - 1)[counts > 1].sum())
        if not free or not high > low:
            return None
        scale = _Scale(domain=domain, low=low, extent=high - low, unit=unit_for(2.0 * len(rows)))
        means = _Means.of(rows, scale)
        found = [_measured(block, scale, means) for block in rows.blocks()]
        counted = [rows.sorted_by_worker(part) for part in zip(*found, strict=True)]
        *own, within = counted
        units = (1.0, 1.0, scale.unit, scale.unit, scale.unit)
        return cls(
            extent=scale.extent,
            free=free,
            within=int(within.sum()) / scale.unit,
            summed=int(own[3].sum()) / scale.unit,
            squared=int(own[4].sum()) / scale.unit,
            sums=SpreadSums(*(part / unit for part, unit in zip(own, units, strict=True))),
        )


def _range(rows: ReportRows, domain: NumericDomain) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for block in rows.blocks():
        numbers = domain.numbers(block.values)
        low, high = min(low, numbers.min(initial=low)), max(high, numbers.max(initial=high))
    return float(low), float(high)


@frozen(kw_only=True)
class _Scale:
    """Scale of numbers to [0, 1], with the integer `unit` that represents 1 in sums."""

    domain: NumericDomain
    low: float
    extent: float
    unit: float

    def __call__(self, values: npt.NDArray[np.float64]) -> _Numbers:
        scaled: _Numbers = (self.domain.numbers(values) - self.low) / self.extent
        return scaled

    def fixed(self, numbers: _Numbers) -> _Counts:
        return np.rint(numbers * self.unit).astype(np.int64)


class _Means(NamedTuple):
    """Mean of all numbers, means of tasks, and the number of reports on each task."""

    whole: float
    of_task: _Numbers
    counts: _Counts

    @classmethod
    def of(cls, rows: ReportRows, scale: _Scale) -> Self:
        sums = np.zeros(rows.tasks, np.int64)
        for block in rows.blocks():
            np.add.at(sums, block.tasks, scale.fixed(scale(block.values)))
        counts = rows.per_task
        of_task = sums / scale.unit / np.maximum(counts, 1)
        return cls(int(sums.sum()) / scale.unit / len(rows), of_task, counts)


def _measured(block: RowBlock, scale: _Scale, means: _Means) -> tuple[_Counts, ...]:
    """Return the sums of a block's workers, with the squares within tasks last."""
    numbers, counts = scale(block.values), means.counts[block.tasks]
    several = counts > 1
    squares = (numbers - means.of_task[block.tasks]) ** 2 * several
    apart = numbers - means.whole

    def added(values: _Counts) -> _Counts:
        total = np.zeros(block.people, np.int64)
        np.add.at(total, block.workers, values)
        return total

    return (
        added(np.ones(len(numbers), np.int64)),
        added(several.astype(np.int64)),
        added(scale.fixed(squares * counts / np.maximum(counts - 1, 1))),
        added(scale.fixed(apart)),
        added(scale.fixed(apart**2)),
        added(scale.fixed(squares)),
    )
