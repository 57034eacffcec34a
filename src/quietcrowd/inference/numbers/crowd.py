"""State and tally of `NoiseAware` for numbers."""

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import Extension, State, Tally
from quietcrowd.inference.numbers.model import SquaredErrors
from quietcrowd.inference.numbers.report_bins import BINS, NormalTruths
from quietcrowd.inference.numbers.trials import Answering, Trial
from quietcrowd.inference.numbers.truth_map import OMEGAS, STATISTICS, TruthMap
from quietcrowd.inference.partition import Summary

CELLS = 4096
"""Number of cells in which numbers are counted to find their range."""

TAIL_PART = 0.005
"""Fraction of the numbers at either end that the range may exclude."""

MOST_STRETCH = 4.0
"""It excludes them if all numbers extend over this many times its length."""

FEW_CELLS = 16
"""A range of fewer cells is counted again, in finer cells."""

MOST_LOOKS = 3

MANY, MANY_OF_PART = 32, 8
"""Number of reports from which a worker has a table of densities, and of those of a mechanism."""

NO_ROW = -(2**62)
"""Place of a worker who has none in the tables of several mechanisms."""

LEAST_LENGTH = 1e-9
"""Least length of a range relative to its numbers, so that floats distinguish bins."""

TINY = 1e-290
"""Least length of a range that floats can divide."""


@frozen(kw_only=True, eq=False)
class NumberState(State):
    """Distributions of the workers' errors, and of the truths.

    `low` to `high`, in the unit of the answers, is cut into bins. `beliefs`, at [worker,
    distribution], are the probabilities of the error distributions, and `crowd` those in the crowd.
    `distribution` is the distribution of the truths by bin, shrunk towards the normal `truths`, or
    None if that is uniform. `borne`, at [worker, part], is the least precision of a report that the
    reports of others confirm; 0 before it is computed. `truth_map` leads from the inferred numbers
    to the truths.
    `looks` counts passes that searched the range, -1 once it is found; `trial` has distributions of
    the truths to compare, None once one is chosen; `passes` counts those after that, -1 if the
    state is from an earlier estimate.
    """

    low: float
    high: float
    beliefs: npt.NDArray[np.float64]
    crowd: npt.NDArray[np.float64]
    truths: NormalTruths | None
    distribution: npt.NDArray[np.float64]
    answering: Answering | None
    borne: npt.NDArray[np.float64]
    truth_map: TruthMap
    looks: int = -1
    trial: Trial | None = None
    passes: int = 0

    @property
    def reviews(self) -> bool:
        """Whether the sweep computes `NumberTally.supported`: the fifth, ninth, 17th and so on."""
        passes = self.passes
        return self.looks < 0 and self.trial is None and passes >= 4 and passes & (passes - 1) == 0

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one has the distribution of the crowd."""
        beliefs = self.beliefs[positions]
        beliefs[positions < 0] = self.crowd
        answering = self.answering and self.answering.take(positions)
        borne = self.borne[positions]
        borne[positions < 0] = 0.0
        return evolve(self, beliefs=beliefs, answering=answering, borne=borne, passes=-1)

    def distance(self, workers: npt.NDArray[np.bool_]) -> float:
        """Return the sum of Kullback-Leibler divergences of workers from the crowd."""
        beliefs = self.beliefs[workers]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(beliefs > 0, beliefs * np.log(beliefs / self.crowd), 0.0)
        return integer_sums.exact_sum(terms.sum(axis=1), len(self.beliefs))


@frozen(kw_only=True, eq=False)
class NumberTally(Tally):
    """Statistics of a sweep.

    `residuals`, in units of `NumberModel.residual_unit`, are expected answers at each column of the
    distributions, of workers with many reports (see `tables_of_parts`); so are expected answers
    `answered`. In units of `NumberModel.likely_unit` are `evidence`, expected log densities at
    [worker, distribution] of the answers of others; `supported`, those of a worker's reports given
    all others, a single 0 in the tally of earlier tasks; `likely`, the log evidence of the reports;
    and `tried`, the same for candidates of the distribution of the truths. `truths` are expected
    per bin, in units of `NumberModel.truth_unit`, and so are `known`, the sums of
    `truth_map.compare`, empty unless shared errors are learned; `cells` counts numbers in each cell
    of a range. `errors` are 0 without estimates.
    """

    residuals: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    truths: npt.NDArray[np.int64]
    known: npt.NDArray[np.int64]
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
        shape: tuple[int, int],
        distributions: int = 0,
        *,
        fills_in: bool = False,
        supported: bool = False,
        tried: int = 0,
        cells: int = 0,
        learns_map: bool = False,
    ) -> Self:
        """Return an empty tally; `shape` is that of the residuals."""
        workers = summary.workers
        return cls(
            residuals=np.zeros(shape, np.int64),
            evidence=np.zeros((workers, distributions), np.int64),
            truths=np.zeros(BINS, np.int64),
            known=np.zeros((len(OMEGAS), STATISTICS) if learns_map else (0, 0), np.int64),
            answered=np.zeros(workers if fills_in else 0, np.int64),
            supported=np.zeros((workers, distributions) if supported else (0, 0), np.int64),
            likely=np.zeros(1, np.int64),
            tried=np.zeros(tried, np.int64),
            cells=np.zeros(cells, np.int64),
            errors=SquaredErrors(squared=np.zeros(workers, np.int64)),
        )

    @property
    def found(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Arrays to which a sweep over bins adds."""
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
            answered = extension.sums(answered, attrgetter("residual_unit"))
        return type(self)(
            residuals=extension.total(self._moved(extension), attrgetter("residual_unit")),
            evidence=extension.sums(self.evidence, attrgetter("likely_unit")),
            truths=extension.total(self.truths, attrgetter("truth_unit")),
            known=extension.total(self.known, attrgetter("truth_unit")),
            answered=answered,
            supported=np.zeros((1, 1), np.int64),
            likely=extension.total(self.likely, attrgetter("likely_unit")),
            tried=self.tried,
            cells=self.cells,
            errors=self.errors.extended(extension),
        )

    def _moved(self, extension: Extension) -> npt.NDArray[np.int64]:
        """Return `residuals` with a row for each worker that now has many reports."""
        new, old = extension.new.table_workers, extension.old.table_workers
        widths = [self.residuals.shape[1]] if len(new) == 1 else extension.new.table_widths
        columns = [slice(0, width) for width in widths]
        moved = np.zeros(cells_of_tables(new, columns), np.int64)
        for (found, _, now), (earlier, _, then) in zip(
            tables_of_parts(moved, columns, new),
            tables_of_parts(self.residuals, columns, old),
            strict=True,
        ):
            rows = np.full(extension.old.summary.workers + 1, -1)
            rows[then] = np.arange(len(then))
            before = rows[extension.positions[now]]
            found[before >= 0] = earlier[before[before >= 0]]
        return moved


def cells_of_tables(
    workers: Sequence[npt.NDArray[np.intp]], columns: Sequence[slice]
) -> tuple[int, int]:
    """Return the shape of the tables of all mechanisms: rows by columns, or one row of several."""
    shapes = [(len(own), one.stop - one.start) for own, one in zip(workers, columns, strict=True)]
    return shapes[0] if len(shapes) == 1 else (1, sum(map(math.prod, shapes)))


def tables_of_parts(
    table: npt.NDArray[Any],
    columns: Sequence[slice],
    workers: Sequence[npt.NDArray[np.intp]],
) -> Iterator[tuple[npt.NDArray[Any], slice, npt.NDArray[np.intp]]]:
    """Yield the table of each mechanism, a view, its columns and its workers."""
    cells, start = table.reshape(-1), 0
    for one, own in zip(columns, workers, strict=True):
        width = one.stop - one.start
        end = start + len(own) * width
        yield cells[start:end].reshape(len(own), width), one, own
        start = end


def find_range(
    cells: npt.NDArray[np.int64], low: float, high: float, looks: int
) -> tuple[float, float, bool]:
    """Return the range of most numbers, and whether it is precise enough.

    `cells` are counts in equal cells, the outer ones with what lies beyond.
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
