"""Pairs of labels on one task, counted for each worker: what it is judged by how far these agree.

All sums are of whole numbers, so that no order and no split of the reports changes a bit.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.results.report_rows import ReportRows, RowBlock
from quietcrowd.report_domains import OrNull

__all__ = ["SHARE_ONE", "LabelPairs", "PairSums"]

_Counts = npt.NDArray[np.int64]

SHARE_ONE = 2**36
"""What a share of 1 is stored as: reports of all workers fit."""


class PairSums(NamedTuple):
    """What a worker's reports add up to; each of shape (workers,).

    Attributes
    ----------
    equal, others : ndarray of int64
        Pairs of one of these reports and another one on its task: equal ones, and all.
    mates : ndarray of int64
        Those of which the other one is an answer, and not NULL.
    given_equal, given_others, given_mates : ndarray of int64
        The same of reports that are answers themselves.
    compared : ndarray of int64
        Reports with another one on their task.
    shares, squares : ndarray of int64
        Sums over these of the share of the others that are equal, and of its square; in units of 1
        / `SHARE_ONE`.
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
    """What is counted of reports that are labels.

    Attributes
    ----------
    null : int or None
        The code of a report that says that there is no answer.
    sums : PairSums
        Of each worker.
    """

    null: int | None
    sums: PairSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self:
        """Return those of all reports: a look that counts labels, and one that compares."""
        domain = rows.domain
        null = domain.null_code if isinstance(domain, OrNull) else None
        labels: int = domain.size  # type: ignore[attr-defined]
        counts = np.zeros((rows.tasks, labels), np.int64)
        for block in rows.blocks():
            cells = block.tasks.astype(np.int64) * labels + block.values
            counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        parts = [_compared(block, counts, null) for block in rows.blocks()]
        return cls(null=null, sums=PairSums(*map(rows.sorted_by_worker, zip(*parts, strict=True))))


def _compared(block: RowBlock, counts: _Counts, null: int | None) -> PairSums:
    """Return what the reports of the workers of a block add up to."""
    tasks, values = block.tasks, block.values
    equal = counts[tasks, values] - 1
    others = counts.sum(axis=1)[tasks] - 1
    given = np.ones(len(tasks), np.int64) if null is None else (values != null).astype(np.int64)
    mates = others - given + 1 - (0 if null is None else counts[tasks, null])
    several = others > 0
    share = equal / np.maximum(others, 1)

    def added(numbers: _Counts) -> _Counts:
        total = np.zeros(block.people, np.int64)
        np.add.at(total, block.workers, numbers)
        return total

    return PairSums(
        equal=added(equal),
        others=added(others),
        mates=added(mates),
        given_equal=added(given * equal),
        given_others=added(given * others),
        given_mates=added(given * mates),
        compared=added(several.astype(np.int64)),
        shares=added(_fixed(share * several)),
        squares=added(_fixed(share**2 * several)),
    )


def _fixed(shares: npt.NDArray[np.float64]) -> _Counts:
    return np.rint(shares * SHARE_ONE).astype(np.int64)
