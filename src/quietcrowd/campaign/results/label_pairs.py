"""Pairs of reports on one task, counted per worker.

A report contains labels: an answer one, NULL none, a set several. All sums are integers, so they do
not depend on the order or partition of the reports.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.results.report_rows import ReportRows, RowBlock
from quietcrowd.domains import Domain
from quietcrowd.report_domains import LabelSets, OrNull, sets_of

__all__ = ["SHARE_ONE", "LabelPairs", "PairSums"]

_Counts = npt.NDArray[np.int64]

SHARE_ONE = 2**36
"""Integer for a fraction of 1; the sums of all reports fit into 64 bits."""


class PairSums(NamedTuple):
    """Sums over the pairs of a worker's report and another on its task; each of shape (workers,).

    `equal` counts equal pairs, weighted for sets by the number of common labels. `others` counts
    all pairs, and `mates` the labels in the other reports. `given_equal` counts common labels,
    without NULL; `given_others` and `given_mates` weight each pair by the labels in the worker's
    report. `compared` counts reports with another on their task. Over these, `shares` and `squares`
    sum the fraction of equal others (for sets, of common labels) and its square, in units of
    ``1 / SHARE_ONE``.
    """

    equal: _Counts
    others: _Counts
    mates: _Counts
    given_equal: _Counts
    given_others: _Counts
    given_mates: _Counts
    compared: _Counts
    shares: _Counts
    squares: _Counts


@frozen(kw_only=True, eq=False)
class LabelPairs:
    """Pair counts of reports that are labels or sets.

    `held` is the number of labels in a report that is not NULL.
    """

    held: int
    sums: PairSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self:
        """Count the pairs in two passes, one for the counts of labels and one to compare."""
        domain: Any = rows.domain
        labels = domain.domain.size if isinstance(domain, LabelSets) else domain.size
        counts = np.zeros((rows.tasks, labels), np.int64)
        for block in rows.blocks():
            first = block.tasks.astype(np.int64) * labels
            for codes in _labels_of(block.values, domain):
                counts += np.bincount(first + codes, minlength=counts.size).reshape(counts.shape)
        parts = [_compared(block, counts, domain) for block in rows.blocks()]
        return cls(
            held=_held_by_each(domain),
            sums=PairSums(*map(rows.sorted_by_worker, zip(*parts, strict=True))),
        )


def _held_by_each(domain: Domain) -> int:
    return domain.members if isinstance(domain, LabelSets) else 1


def _labels_of(values: npt.NDArray[Any], domain: Domain) -> npt.NDArray[Any]:
    """Return the codes of the labels in each report, NULL included; shape (labels, reports)."""
    if isinstance(domain, LabelSets):
        return sets_of(values, domain.domain.size, domain.members).T
    return values[np.newaxis]


def _compared(block: RowBlock, counts: _Counts, domain: Domain) -> PairSums:
    tasks, held = block.tasks, _held_by_each(domain)
    equal = np.full(len(tasks), -held, np.int64)
    for codes in _labels_of(block.values, domain):
        equal += counts[tasks, codes]
    others = counts.sum(axis=1)[tasks] // held - 1
    given, mates = np.full(len(tasks), held, np.int64), others * held
    if isinstance(domain, OrNull):
        given = (block.values != domain.null_code).astype(np.int64)
        mates = others - given + 1 - counts[tasks, domain.null_code]
    several = others > 0
    share = equal / np.maximum(others * held, 1)

    def added(numbers: _Counts) -> _Counts:
        total = np.zeros(block.people, np.int64)
        np.add.at(total, block.workers, numbers)
        return total

    return PairSums(
        equal=added(equal),
        others=added(others),
        mates=added(mates),
        given_equal=added(np.where(given > 0, equal, 0)),
        given_others=added(given * others),
        given_mates=added(given * mates),
        compared=added(several.astype(np.int64)),
        shares=added(_fixed(share * several)),
        squares=added(_fixed(share**2 * several)),
    )


def _fixed(shares: npt.NDArray[np.float64]) -> _Counts:
    return np.rint(shares * SHARE_ONE).astype(np.int64)
