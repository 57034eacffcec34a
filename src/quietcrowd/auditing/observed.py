"""What an adversary sees of workers who all have the same row of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import positions_by_text

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Reports

__all__ = ["Observed"]

Floats: TypeAlias = npt.NDArray[np.float64]


@frozen(kw_only=True, eq=False)
class Observed:
    """What the workers of an audit sent, a row each; NaN stands for what was not sent.

    Attributes
    ----------
    cells : ndarray of float, shape (workers, tasks)
        The first report of each worker on each task; no tasks where devices send sketches.
    bits : ndarray of float, shape (workers, tasks), or None
        The noisy participation bits beside them.
    sketches : ndarray of float, shape (workers, numbers), or None
        What devices send where that is not the reports themselves.
    counts : ndarray of float, shape (workers,)
        Reports of each worker in all: a repeated one counts, and one on a task not asked about.
    known : ndarray of float, shape (workers,), or None
        What the adversary knows of each worker besides, where a guarantee allows for that.
    """

    cells: Floats
    bits: Floats | None
    sketches: Floats | None
    counts: Floats
    known: Floats | None = None

    @classmethod
    def of(
        cls, reports: Reports, tasks: Sequence[Any], workers: int, *, first: int = 0
    ) -> Observed:
        """Return what `workers` workers, named `first`, `first` + 1, ..., reported on `tasks`.

        Raises
        ------
        AnswerError
            Where another worker reports.
        """
        table = reports.table
        who = _positions(table.workers, workers, first)
        if reports.sketches is not None:
            sketches = np.full((workers, reports.sketches.shape[1]), np.nan)
            sketches[who] = reports.sketches
            sent = np.bincount(who, minlength=workers).astype(np.float64)
            return cls(cells=np.empty((workers, 0)), bits=None, sketches=sketches, counts=sent)
        asked = positions_by_text(table.tasks, pa.array(list(tasks)))
        rows, columns = who[table.worker_codes], asked[table.task_codes]
        place = columns * workers + rows
        known = np.flatnonzero(columns >= 0)

        def spread(values: npt.NDArray[Any]) -> Floats:
            cells = np.full(len(tasks) * workers, np.nan)
            cells[place[known][::-1]] = values[known][::-1]  # of repeated ones the first stays
            return cells.reshape(len(tasks), workers).T

        codes = reports.participation_codes
        return cls(
            cells=spread(table.values),
            bits=None if codes is None else spread(codes),
            sketches=None,
            counts=np.bincount(rows, minlength=workers).astype(np.float64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Observed]) -> Observed:
        """Return what the workers of all parts sent, one part after the other."""

        def join(columns: list[Floats | None]) -> Floats | None:
            there = [column for column in columns if column is not None]
            return np.concatenate(there) if len(there) == len(columns) else None

        return cls(
            cells=np.concatenate([part.cells for part in parts]),
            bits=join([part.bits for part in parts]),
            sketches=join([part.sketches for part in parts]),
            counts=np.concatenate([part.counts for part in parts]),
            known=join([part.known for part in parts]),
        )

    @property
    def messages(self) -> list[bytes]:
        """All that each worker sent, as bytes: equal where it is equal."""
        parts = [part for part in (self.cells, self.bits, self.sketches) if part is not None]
        rows = np.concatenate([*parts, self.counts[:, np.newaxis]], axis=1) + 0.0  # -0 is 0
        return [row.tobytes() for row in rows]


def _positions(ids: pa.Array, workers: int, first: int) -> npt.NDArray[np.intp]:
    """Return which of the workers `first`, `first` + 1, ... each id names."""
    expected = pa.array(np.arange(first, first + workers, dtype=np.int32))
    if ids.equals(expected):
        return np.arange(workers)
    found = positions_by_text(ids, expected)
    strangers = np.flatnonzero(found < 0)
    if len(strangers):
        raise AnswerError(
            f"worker {ids[int(strangers[0])].as_py()!r} reports, but the {workers:,} workers of "
            f"the audit are {first} to {first + workers - 1}: a mechanism must keep the ids of the "
            "answers"
        )
    return found
