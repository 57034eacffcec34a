"""What the model of numbers on bins believes, and what a pass tells of workers and truths."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.answering import Answering
from quietcrowd.inference.numbers.model import SquaredErrors, unit_for
from quietcrowd.inference.numbers.report_bins import BINS, NormalTruths
from quietcrowd.inference.numbers.trials import Trial
from quietcrowd.inference.partition import Extension, Summary
from quietcrowd.inference.passes import State, Tally

__all__ = [
    "CELLS",
    "LEAST_LENGTH",
    "TINY",
    "NumberState",
    "NumberTally",
    "find_range",
    "likely_unit",
    "residual_unit",
    "table_rows",
    "truth_unit",
]

CELLS = 4096
"""Cells in which numbers are counted to find their range."""

TAIL_PART = 0.005
"""The range may leave out so many of the numbers at either end."""

MOST_STRETCH = 4.0
"""It does where all of them reach over this many times as much."""

FEW_CELLS = 16
"""A range of fewer cells is looked at more closely."""

MOST_LOOKS = 3

MANY = 32
"""Of a worker with so many reports a table is made, of others what each report says."""

LEAST_LENGTH = 1e-9
"""A range is no shorter than this part of its numbers: floats could not tell bins apart."""

TINY = 1e-290
"""Numbers closer than this are equal: their range could not be divided."""


@frozen(kw_only=True, eq=False)
class NumberState(State):
    """What is believed of the workers' errors and of how truths vary.

    Attributes
    ----------
    low, high : float
        The range that is cut into bins, in the unit of the answers.
    beliefs : ndarray of float64, shape (workers, laws)
        Probability of each law of errors, for each worker.
    crowd : ndarray of float64, shape (laws,)
        Probability of each, in the crowd.
    truths : NormalTruths or None
        What the law of the truths is drawn towards; None where that is even.
    law : ndarray of float64, shape (bins,)
        The law of the truths.
    answering : Answering or None
        How many of their reports are answers, where unanswered tasks are reported, too.
    borne : ndarray of float64, shape (workers,)
        Least precision of a report that the reports of others bear out; 0 before that was looked
        for.
    looks : int
        Passes that looked for the range; -1 once it is found, and a pass finds truths.
    trial : Trial or None
        Laws of the truths that the pass is to try; None once one is chosen.
    passes : int
        How many there were after that; -1 where the state was taken over from an earlier estimate.
    """

    low: float
    high: float
    beliefs: npt.NDArray[np.float64]
    crowd: npt.NDArray[np.float64]
    truths: NormalTruths | None
    law: npt.NDArray[np.float64]
    answering: Answering | None
    borne: npt.NDArray[np.float64]
    looks: int = -1
    trial: Trial | None = None
    passes: int = 0

    @property
    def reviews(self) -> bool:
        """Whether a pass finds what the last one is to know: the fifth, ninth, 17th and so on."""
        passes = self.passes
        return self.looks < 0 and self.trial is None and passes >= 4 and passes & (passes - 1) == 0

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; of a new one is believed what the crowd is like."""
        beliefs = self.beliefs[positions]
        beliefs[positions < 0] = self.crowd
        answering = self.answering and self.answering.take(positions)
        borne = np.where(positions < 0, 0.0, self.borne[positions])
        return evolve(self, beliefs=beliefs, answering=answering, borne=borne, passes=-1)

    def distance(self, workers: npt.NDArray[np.bool_]) -> float:
        """Return how far beliefs are from the crowd's law: Kullback's divergence, summed."""
        beliefs = self.beliefs[workers]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(beliefs > 0, beliefs * np.log(beliefs / self.crowd), 0.0)
        return integer_sums.exact_sum(terms.sum(axis=1), len(self.beliefs))


@frozen(kw_only=True, eq=False)
class NumberTally(Tally):
    """What a pass tells.

    Attributes
    ----------
    residuals : ndarray of int64, shape (rows, columns)
        Expected answers at each column of the laws, in units of `residual_unit`, of workers with
        many reports, as of `table_rows`.
    evidence : ndarray of int64, shape (workers, laws)
        Expected log density of the answers of others under each law, in units of `likely_unit`.
    truths : ndarray of int64, shape (bins,)
        Expected number of truths in each bin, in units of `truth_unit`.
    answered : ndarray of int64, shape (workers,) or (0,)
        Expected number of answers, in units of `residual_unit`.
    supported : ndarray of int64, shape (workers, laws), (0, 0) or (1, 1)
        Log density of a worker's reports under each law given all others, in units of
        `likely_unit`; a single 0 in the tally of earlier tasks, to which any can be added.
    likely : ndarray of int64, shape (1,)
        Log evidence of the reports, in units of `likely_unit`.
    tried : ndarray of int64, shape (candidates,) or (0,)
        The same with candidates for the law of the truths.
    cells : ndarray of int64, shape (cells,) or (0,)
        Numbers in each cell of a range.
    errors : SquaredErrors
        Squared distances of the reports from the truths; 0 where no truths are filled in.
    """

    residuals: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    truths: npt.NDArray[np.int64]
    answered: npt.NDArray[np.int64]
    supported: npt.NDArray[np.int64]
    likely: npt.NDArray[np.int64]
    tried: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    errors: SquaredErrors

    @classmethod
    def empty(
        cls,
        summary: Summary,
        columns: int = 0,
        laws: int = 0,
        *,
        fills_in: bool = False,
        supported: bool = False,
        tried: int = 0,
        cells: int = 0,
    ) -> Self:
        """Return a tally of nothing; whether and how many of what is optional."""
        workers = summary.workers
        return cls(
            residuals=np.zeros((int(table_rows(summary).max()) + 1, columns), np.int64),
            evidence=np.zeros((workers, laws), np.int64),
            truths=np.zeros(BINS, np.int64),
            answered=np.zeros(workers if fills_in else 0, np.int64),
            supported=np.zeros((workers, laws) if supported else (0, 0), np.int64),
            likely=np.zeros(1, np.int64),
            tried=np.zeros(tried, np.int64),
            cells=np.zeros(cells, np.int64),
            errors=SquaredErrors(squared=np.zeros(workers, np.int64)),
        )

    @property
    def found(self) -> tuple[npt.NDArray[np.int64], ...]:
        """What a pass that finds truths adds to."""
        return (
            self.residuals,
            self.truths,
            self.answered,
            self.evidence,
            self.supported,
            self.likely,
            self.tried,
            self.errors.squared,
        )

    @override
    def extended(self, extension: Extension) -> Self:
        answered = self.answered
        if len(answered):
            answered = extension.sums(answered, residual_unit)
        return type(self)(
            residuals=extension.total(self._moved(extension), residual_unit),
            evidence=extension.sums(self.evidence, likely_unit),
            truths=extension.total(self.truths, truth_unit),
            answered=answered,
            supported=np.zeros((1, 1), np.int64),
            likely=extension.total(self.likely, likely_unit),
            tried=self.tried,
            cells=self.cells,
            errors=self.errors.extended(extension),
        )

    def _moved(self, extension: Extension) -> npt.NDArray[np.int64]:
        """Return `residuals` with a row for each worker that has many reports by now."""
        new, old = table_rows(extension.new), table_rows(extension.old)
        workers = np.flatnonzero(new >= 0)
        before = extension.positions[workers]
        rows = np.where(before >= 0, old[np.maximum(before, 0)], -1)
        moved = np.zeros((len(workers), self.residuals.shape[1]), np.int64)
        moved[rows >= 0] = self.residuals[rows[rows >= 0]]
        return moved


def table_rows(summary: Summary) -> npt.NDArray[np.int64]:
    """Return which row of a table is each worker's; -1 for those with fewer than `MANY` reports."""
    many = summary.answers_per_worker >= MANY
    return np.where(many, np.cumsum(many) - 1, -1)


def residual_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums over a worker's reports."""
    return unit_for(summary.most_answers)


def truth_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums over tasks of probabilities."""
    return unit_for(summary.tasks)


def likely_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums of log evidences."""
    return unit_for(summary.answers + summary.tasks) / 1024.0


def find_range(
    cells: npt.NDArray[np.int64], low: float, high: float, looks: int
) -> tuple[float, float, bool]:
    """Return the range of most numbers, and whether it is known well enough.

    Parameters
    ----------
    cells : ndarray of int64, shape (cells,)
        Numbers in equal cells between two ends, the outer ones with what lies beyond.
    low, high : float
        The ends.
    looks : int
        How often the range was looked for before.
    """
    below = np.cumsum(cells)
    total = int(below[-1])
    first = int(np.searchsorted(below, TAIL_PART * total, side="right"))
    last = int(np.searchsorted(below, (1.0 - TAIL_PART) * total, side="left"))
    step = (high - low) / CELLS
    length = (last + 1 - first) * step
    if MOST_STRETCH * length >= high - low:
        return low, high, True
    lower = max(low + first * step - length / 2.0, low)
    upper = min(low + (last + 1) * step + length / 2.0, high)
    if upper - lower <= LEAST_LENGTH * max(abs(lower), abs(upper)):
        return low, high, True
    return lower, upper, last + 1 - first >= FEW_CELLS or looks + 1 >= MOST_LOOKS
