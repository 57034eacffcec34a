"""Pairs of reports on one task, counted for each worker: what it is judged by how far these agree.

A report holds labels: one if it is an answer, none if it is NULL, several if it is a set.

All sums are of whole numbers, so that no order and no split of the reports changes a bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.results.report_rows import ReportRows, RowBlock
from quietcrowd.domains import Domain
from quietcrowd.report_domains import LabelSets, OrNull
from quietcrowd.set_ranks import sets_of

__all__ = ["SHARE_ONE", "LabelPairs", "PairSums"]

_Counts = npt.NDArray[np.int64]

SHARE_ONE = 2**36
"""What a share of 1 is stored as: reports of all workers fit."""


class PairSums(NamedTuple):
    """What a worker's reports add up to; each of shape (workers,).

    Attributes
    ----------
    equal, others : ndarray of int64
        Pairs of one of these reports and another one on its task: equal ones, and all. A pair of
        sets counts among the equal ones as often as it has labels in common.
    mates : ndarray of int64
        How many labels the other ones hold.
    given_equal, given_others, given_mates : ndarray of int64
        The labels that both hold; and the last two, each pair as often as the own report holds
        labels.
    compared : ndarray of int64
        Reports with another one on their task.
    shares, squares : ndarray of int64
        Sums over these of the share of the others that are equal, and of its square; in units of 1
        / `SHARE_ONE`. Of sets, of the share of their labels.
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
    held : int
        How many labels a report holds that is not NULL.
    sums : PairSums
        Of each worker.
    """

    held: int
    sums: PairSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self:
        """Return those of all reports: a look that counts labels, and one that compares."""
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
    """Return the codes of the labels that reports hold, NULL's too; shape (labels, reports)."""
    if isinstance(domain, LabelSets):
        return sets_of(values, domain.domain.size, domain.members).T
    return values[np.newaxis]


def _compared(block: RowBlock, counts: _Counts, domain: Domain) -> PairSums:
    """Return what the reports of the workers of a block add up to."""
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
