"""A pass of the model of numbers on bins: where reports lie, and what a kernel is told of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd._core import blend_laws, infer_by_bins
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.inference.numbers.bounded_bins import bounded_columns, bounded_laws
from quietcrowd.inference.numbers.clipped import MOST_SCALE, cells_of
from quietcrowd.inference.numbers.crowd import (
    CELLS,
    NumberState,
    NumberTally,
    likely_unit,
    residual_unit,
    table_rows,
    truth_unit,
)
from quietcrowd.inference.numbers.model import error_unit, unit_for
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    CENTRE,
    DISTANCES,
    ErrorLaws,
    answer_laws,
    filling_law,
    law_shares,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import NumericEstimates
from quietcrowd.mechanisms.channels.base import laplace_shift
from quietcrowd.mechanisms.channels.bounded_law import BoundedLaw

__all__ = [
    "LEVELS",
    "WorkerLaws",
    "count_cells",
    "error_laws",
    "fills_in",
    "noise_scale",
    "pass_over",
    "report_precisions",
]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the quantiles of a truth's posterior."""

AT_END = 1e-9
"""An answer so many bins from an end of its domain is at the end."""


class WorkerLaws(NamedTuple):
    """Estimates of the workers' errors, as compiled code takes them.

    Attributes
    ----------
    beliefs : ndarray of float64, shape (workers, laws)
        Probability of each law of a worker's errors.
    by_law : ndarray of float64, shape (laws, columns)
        Log densities of the laws.
    by_column : ndarray of float64, shape (columns, laws)
        The same.
    rows : ndarray of int64, shape (workers,)
        Each worker's row of the table, and of a tally; -1 for one with few reports.
    table : ndarray of int32, shape (rows, columns)
        Mean log density at each column, in units of 2^-22.
    """

    beliefs: npt.NDArray[np.float64]
    by_law: npt.NDArray[np.float64]
    by_column: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]
    table: npt.NDArray[np.int32]


def fills_in(summary: Summary) -> bool:
    """Return whether unanswered tasks are reported, too."""
    return summary.channel is not None and summary.channel.fillings is not None


def noise_scale(summary: Summary, state: NumberState) -> float:
    """Return the scale of Laplace noise in widths of the range; 0 without it."""
    shift = laplace_shift(summary.channel)
    return 0.0 if shift is None else shift.scale / (state.high - state.low)


def _bounded_law(summary: Summary) -> BoundedLaw | None:
    return None if summary.channel is None else summary.channel.bounded_law


def _margin(summary: Summary, state: NumberState) -> float:
    """Return how far within the range plain answers are cut off; NaN where they are not.

    They are where the range is that of their domain; between levels by half of a step.
    """
    domain: Any = summary.domain
    if summary.channel is not None or not isinstance(domain, Interval | Ordinal):
        return math.nan
    if (state.low, state.high) != (domain.low, domain.high):
        return math.nan
    if isinstance(domain, Interval) or domain.size < 2:
        return 0.0
    return domain.width / (domain.size - 1) / 2.0 / (state.high - state.low)


def error_laws(summary: Summary, state: NumberState) -> ErrorLaws:
    """Return the laws that a worker's reports may follow."""
    bounded = _bounded_law(summary)
    if bounded is not None:
        return bounded_laws(bounded)
    return answer_laws(noise_scale(summary, state), _margin(summary, state))


def report_precisions(summary: Summary, state: NumberState) -> npt.NDArray[np.float64]:
    """Return the expected precision of each worker's reports, in widths of the range."""
    precisions: npt.NDArray[np.float64] = np.sum(
        state.beliefs / error_laws(summary, state).variance, axis=1
    )
    return precisions


class _Places(NamedTuple):
    """Where reports lie.

    Attributes
    ----------
    bins : ndarray of int64
        The bin, from one width below the range to one above.
    columns : ndarray of int64
        Where the log density given the first bin stands in a table.
    ratios : ndarray of int64
        Where what the ends of the range add to it stands; -1 where they add nothing.
    cut : ndarray of float64
        What rounding to bins took.
    """

    bins: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    ratios: npt.NDArray[np.int64]
    cut: npt.NDArray[np.float64]


def _place(placed: npt.NDArray[np.float64], summary: Summary, state: NumberState) -> _Places:
    """Return where reports lie that are given in bins."""
    bounded = _bounded_law(summary)
    if bounded is not None:
        return _place_bounded(placed, bounded)
    scale, last = noise_scale(summary, state), BINS - 1.0
    cells = np.full(len(placed), -1, np.int64)
    if 0 < scale <= MOST_SCALE:
        cells = cells_of(placed / last, scale, 1.0 / last)
        placed = np.clip(placed, 0.0, last)
    elif not math.isnan(_margin(summary, state)):
        cells = np.where(placed >= last - AT_END, 1, np.where(placed <= AT_END, 0, -1))
    bins = np.clip(np.rint(placed), -BINS, 2 * BINS - 1)
    whole = bins.astype(np.int64)
    columns, at_end = DISTANCES + cells * BINS, (cells == 0) | (cells == 1)
    return _Places(
        bins=whole,
        columns=np.where(at_end, columns, CENTRE - whole),
        ratios=np.where(cells > 1, columns, -1),
        cut=np.where(at_end, 0.0, np.clip(placed - bins, -0.5, 0.5)),
    )


def _place_bounded(placed: npt.NDArray[np.float64], law: BoundedLaw) -> _Places:
    """Return where bounded reports lie that are given in bins."""
    low, numbers = law.grid.low, law.numbers
    own = (low - numbers.origin + placed * (law.grid.width / (BINS - 1.0))) / numbers.step
    columns = bounded_columns(law, np.rint(own).astype(np.int64))
    nothing = np.zeros(len(placed))
    whole = np.zeros(len(placed), np.int64)
    return _Places(bins=whole, columns=columns, ratios=whole - 1, cut=nothing)


def count_cells(partition: Partition, summary: Summary, state: NumberState) -> NumberTally:
    """Count the numbers in each cell of the range."""
    rows = partition.values[int(partition.offsets[0]) : int(partition.offsets[-1])]
    numbers = rows * summary.extent + summary.middle
    cells = np.clip((numbers - state.low) / (state.high - state.low) * CELLS, 0, CELLS - 1)
    tally = NumberTally.empty(summary, cells=CELLS)
    return evolve(tally, cells=np.bincount(cells.astype(np.int64), minlength=CELLS))


def _missing(
    partition: Partition,
    summary: Summary,
    state: NumberState,
    places: npt.NDArray[np.int64],
    rows: slice,
) -> npt.NDArray[np.float64]:
    """Return each report's log density where there is no answer, with the odds of that.

    Empty where all reports are of answers.
    """
    channel = summary.channel
    if channel is None or channel.fillings is None:
        return np.zeros(0)
    fillings = (channel.fillings - state.low) / (state.high - state.low)
    of_places = filling_law(fillings, noise_scale(summary, state))
    assert state.answering is not None
    logs = state.answering.logs
    odds = logs[:, 1] - logs[:, 0]
    missing: npt.NDArray[np.float64] = of_places[places + BINS] + odds[partition.worker_codes[rows]]
    bits = channel.participation
    if bits is not None and partition.participation is not None:
        bit = partition.participation[rows]
        missing += (np.abs(bit - 1.0) - np.abs(bit)) / bits.scale
    return missing


def _worker_laws(summary: Summary, state: NumberState, laws: ErrorLaws) -> WorkerLaws:
    """Return what is believed of the workers' errors, and tables of those with many reports."""
    rows, by_law = table_rows(summary), np.ascontiguousarray(laws.logs.T)
    table = np.empty((int(rows.max()) + 1, by_law.shape[1]), np.int32)
    beliefs = np.ascontiguousarray(state.beliefs)
    blend_laws(beliefs[rows >= 0], by_law, table)
    return WorkerLaws(beliefs, by_law, np.ascontiguousarray(laws.logs), rows, table)


def _empty_tally(summary: Summary, state: NumberState, laws: ErrorLaws) -> NumberTally:
    return NumberTally.empty(
        summary,
        *laws.logs.shape,
        fills_in=fills_in(summary),
        supported=state.reviews,
        tried=len(state.trial.candidates) if state.trial else 0,
    )


def pass_over(
    partition: Partition,
    summary: Summary,
    state: NumberState,
    room: NumericEstimates | None,
    quantiles: npt.NDArray[np.float64],
) -> NumberTally:
    """Find the posteriors of the truths, and what they tell.

    Parameters
    ----------
    partition, summary, state
        As of `NoiseAwareNumbers.sweep`.
    room : NumericEstimates, optional
        To be filled. Where that or quantiles are to be filled, no report has more of a task's
        weight than others bear out.
    quantiles : ndarray of float64, shape (tasks, levels) or (0, 0)
        To be filled.
    """
    laws = error_laws(summary, state)
    rows = slice(int(partition.offsets[0]), int(partition.offsets[-1]))
    values, codes = partition.values[rows], partition.worker_codes[rows].view(np.uint32)
    to_bins = (BINS - 1) * summary.extent / (state.high - state.low)
    start = (state.low - summary.middle) / summary.extent
    places = _place((values - start) * to_bins, summary, state)
    tally = _empty_tally(summary, state, laws)
    precisions = report_precisions(summary, state)
    last = room is not None or len(quantiles) > 0
    worker_laws = _worker_laws(summary, state, laws)
    infer_by_bins(
        (partition.offsets - rows.start, codes, values, partition.known_truths),
        (
            places.columns,
            places.ratios,
            places.cut,
            _missing(partition, summary, state, places.bins, rows),
            (partition.known_truths - start) * to_bins,
        ),
        (
            np.log(state.law),
            law_shares(state.trial.candidates) if state.trial else np.zeros((0, BINS)),
        ),
        worker_laws,
        np.exp(worker_laws.by_column) if len(tally.supported) else np.zeros((0, 0)),
        precisions / precisions.max(),
        state.borne / precisions.max() if last else np.zeros(0),
        np.array(LEVELS),
        np.array([start, start + (BINS - 1) / to_bins]),
        (
            residual_unit(summary),
            truth_unit(summary),
            likely_unit(summary),
            unit_for(summary.longest_task),
            error_unit(summary),
        ),
        tally.found,
        quantiles,
        (room or NumericEstimates.empty(0)).arrays,
    )
    return tally
