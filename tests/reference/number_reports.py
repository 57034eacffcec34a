"""Log densities of a report of a number given each bin of the truth, and what they tell of workers.

A report has a place: where the log density given the first bin stands among the columns of the
laws of errors; those given the next bins follow. What the ends of the range add to it stands at
another place. Workers with many reports have a table of the mean over their laws at all columns,
and a tally of expected answers there. What others' reports say is worked out report by report; log
densities are the same to the bit.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.numeric import Counts, Floats
from tests.reference.vector_math import add_vector, exp_minus, log, to_integer

__all__ = [
    "TABLE_ONE",
    "Table",
    "WorkerLaws",
    "blend_kernel",
    "credit",
    "fill_row",
    "mix",
    "tell_laws",
    "weigh_kernel",
]

Table: TypeAlias = npt.NDArray[np.int32]

TABLE_ONE = 2.0**22
"""What 1.0 is stored as in tables of log densities, which lie within 500 of 0."""

BLOCK = 32
"""Bins are added so many at a time; their number is a multiple of it."""


class WorkerLaws(NamedTuple):
    """What is believed of the workers' errors.

    Attributes
    ----------
    beliefs : ndarray of float64, shape (workers, laws)
        Probability of each law of a worker's errors.
    by_law : ndarray of float64, shape (laws, columns)
        Log densities of the laws.
    by_column : ndarray of float64, shape (columns, laws)
        The same.
    rows : ndarray of int64, shape (workers,)
        Which row of the table, and of a tally, is the worker's; -1 for one with few reports.
    table : ndarray of int32, shape (rows columns,)
        As of `blend_kernel`.
    """

    beliefs: Floats
    by_law: Floats
    by_column: Floats
    rows: Counts
    table: Table


@numba.njit(nogil=True, cache=True, error_model="numpy")
def blend_kernel(beliefs: Floats, laws: Floats, table: Table) -> None:
    """Fill in each worker's mean log density at every column, in units of `TABLE_ONE`.

    Parameters
    ----------
    beliefs : ndarray of float64, shape (workers, laws)
        Probability of each law of a worker's errors.
    laws : ndarray of float64, shape (laws, columns)
        Log densities.
    table : ndarray of int32, shape (workers, columns)
        To be filled.
    """
    row = np.empty(laws.shape[1])
    for worker in range(len(beliefs)):
        row[:] = 0.0
        for law in range(len(laws)):
            belief = beliefs[worker, law] * TABLE_ONE
            for column in range(len(row)):
                row[column] += belief * laws[law, column]
        for column in range(len(row)):
            table[worker, column] = np.int32(to_integer(row[column]))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _blend_part(beliefs: Floats, laws: Floats, place: np.int64, room: Floats, row: Counts) -> None:
    """Add the mean log density of a report given each bin, as `blend_kernel` would have it."""
    room[:] = 0.0
    for law in range(len(laws)):
        belief = beliefs[law] * TABLE_ONE
        for b in range(len(row)):
            room[b] += belief * laws[law, place + b]
    for b in range(len(row)):
        row[b] += to_integer(room[b])


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _gather(row: Counts, table: Table, start: np.int64) -> None:
    """Add a report's log densities given each bin, which begin at a place of the table."""
    for b in range(0, len(row), BLOCK):
        add_vector(row, np.uint64(b), table, np.uint64(start + b), BLOCK)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def fill_row(
    worker: np.uint32,
    place: np.int64,
    ratio: np.int64,
    laws: WorkerLaws,
    room: Floats,
    row: Counts,
) -> None:
    """Fill in a report's log density given each bin, in units of `TABLE_ONE`.

    Parameters
    ----------
    worker : int
        Who sent the report.
    place, ratio : int
        Column of the first bin; that of what is to be added, -1 where nothing is.
    laws : WorkerLaws
        What is believed of the worker's errors.
    room : ndarray of float64, shape (bins,)
        Room.
    row : ndarray of int64, shape (bins,)
        To be filled.
    """
    row[:] = 0
    first = laws.rows[worker] * laws.by_law.shape[1]
    if first >= 0:
        _gather(row, laws.table, first + place)
        if ratio >= 0:
            _gather(row, laws.table, first + ratio)
        return
    _blend_part(laws.beliefs[worker], laws.by_law, place, room, row)
    if ratio >= 0:
        _blend_part(laws.beliefs[worker], laws.by_law, ratio, room, row)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mix(missing: float, row: Counts) -> None:
    """Make log densities of an answer those of a report that may stand for no answer.

    `missing` is the log density of that, with its odds.
    """
    for b in range(len(row)):
        apart = row[b] / TABLE_ONE - missing
        density = max(apart, 0.0) + missing + log(1.0 + exp_minus(abs(apart)))
        row[b] = to_integer(density * TABLE_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def weigh_kernel(residuals: Counts, unit: float, laws: Floats, evidence: Floats) -> None:
    """Fill in the expected log density of each worker's answers under each law.

    Parameters
    ----------
    residuals : ndarray of int64, shape (workers, columns)
        Expected answers at each column, in units.
    unit : float
        What 1.0 is stored as.
    laws : ndarray of float64, shape (columns, laws)
        Log densities.
    evidence : ndarray of float64, shape (workers, laws)
        To be filled.
    """
    evidence[:] = 0.0
    for worker in range(len(residuals)):
        for column in range(len(laws)):
            if residuals[worker, column] != 0:
                count = residuals[worker, column] / unit
                for law in range(laws.shape[1]):
                    evidence[worker, law] += count * laws[column, law]


@numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")
def credit(counts: Counts, reach: tuple[int, int], start: np.int64, residuals: Counts) -> None:
    """Add a truth's posterior, in units, to the columns of a report, from bin to bin."""
    for b in range(reach[0] // BLOCK * BLOCK, reach[1], BLOCK):
        add_vector(residuals, np.uint64(start + b), counts, np.uint64(b), BLOCK)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def tell_laws(
    counts: Counts,
    reach: tuple[int, int],
    unit: float,
    densities: Floats,
    place: np.int64,
    ratio: np.int64,
    likely_unit: float,
    room: Floats,
    evidence: Counts,
) -> None:
    """Add the expected log density of a report under each law.

    Parameters
    ----------
    counts : ndarray of int64, shape (bins,)
        Probability of each bin together with that of an answer, in units.
    reach : tuple of int
        From which bin to which that is not 0.
    unit, likely_unit : float
        What 1.0 is stored as in `counts` and in `evidence`.
    densities : ndarray of float64, shape (columns, laws)
        Log densities.
    place, ratio : int
        As of `fill_row`.
    room : ndarray of float64, shape (laws,)
        Room.
    evidence : ndarray of int64, shape (laws,)
        To which is added.
    """
    room[:] = 0.0
    for b in range(reach[0], reach[1]):
        share = counts[b] / unit
        for law in range(len(room)):
            room[law] += share * densities[place + b, law]
        if ratio >= 0:
            for law in range(len(room)):
                room[law] += share * densities[ratio + b, law]
    for law in range(len(room)):
        evidence[law] += np.int64(np.rint(room[law] * likely_unit))
