"""Rows of one partition, sorted by task and worker and written as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import plain_type
from quietcrowd.answers import DroppedRows
from quietcrowd.domains import NumericDomain
from quietcrowd.formats.report_files import listed_ids
from quietcrowd.frames import dictionary_codes, positions_by_text
from quietcrowd.inference.partition import hash_ids
from quietcrowd.report_domains import OrNull
from quietcrowd.row_order import Duplicates, first_or_last, offsets_of, sort_rows
from quietcrowd.scale.partition_files import PartitionRecord, write_partition
from quietcrowd.scale.reading import SKIPPED
from quietcrowd.scale.sources import Source
from quietcrowd.scale.spill import Spill
from quietcrowd.scale.store import partition_name

__all__ = ["AnsweredTwiceError", "SortedPartition", "Sorter"]


class AnsweredTwiceError(Exception):
    """A worker answered a task twice; where it stands is not known here.

    Parameters
    ----------
    task : pyarrow.Scalar
        Id.
    worker : int
        Code among all workers.
    """

    def __init__(self, task: pa.Scalar, worker: int) -> None:
        super().__init__(task, worker)
        self.task, self.worker = task, worker


@frozen(kw_only=True, eq=False)
class SortedPartition:
    """What a partition adds to what is known of all.

    Attributes
    ----------
    record : PartitionRecord
        Of its files.
    reports_per_worker : ndarray of int64, shape (workers,)
        How many rows each worker has, NULL reports included.
    answers_per_worker : ndarray of int64, shape (workers,)
        The same without NULL reports.
    longest_task : int
        Most answers that a task has.
    ends : tuple of float
        The smallest and the largest number; none where there are no numbers.
    dropped : DroppedRows
        Repeated rows and NULL reports.
    """

    record: PartitionRecord
    reports_per_worker: npt.NDArray[np.int64]
    answers_per_worker: npt.NDArray[np.int64]
    longest_task: int
    ends: tuple[float, ...]
    dropped: DroppedRows


@frozen(kw_only=True, eq=False)
class Sorter:
    """Makes partitions of rows that were put aside.

    Attributes
    ----------
    folder : Path
        Of the store.
    source : Source
        Where the rows came from.
    spill : Spill
        Where they are.
    worker_codes : ndarray of int32
        The code of each worker in the store, by that in the rows.
    workers : int
        How many there are.
    silent : mapping of int to list
        By partition, ids of tasks that no row names.
    duplicates : {"error", "first", "last"}
        See `Answers.from_frame`.
    """

    folder: Path
    source: Source
    spill: Spill
    worker_codes: npt.NDArray[np.int32]
    workers: int
    silent: Mapping[int, Sequence[Any]]
    duplicates: Duplicates

    def __call__(self, index: int) -> SortedPartition:
        """Sort and write a partition.

        Raises
        ------
        AnsweredTwiceError
            Where a worker answered a task twice, and that is not allowed.
        pyarrow.ArrowException
            Where ids of tasks are not of one type.
        """
        table = self.spill.take(index)
        task_codes, tasks = self._tasks(table["task"], self.silent.get(index, ()))
        codes = table["worker_code"].to_numpy()
        columns = {name: table[name].to_numpy() for name in table.column_names[2:]}
        if (codes == SKIPPED).any():
            kept = codes != SKIPPED
            task_codes, codes = task_codes[kept], codes[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        order, task_codes, codes = sort_rows(
            task_codes, self.worker_codes[codes], len(tasks), self.workers
        )
        keep = first_or_last(task_codes, codes, self.duplicates)
        repeated = int(len(keep) - keep.sum())
        if repeated and self.duplicates == "error":
            second = int(np.argmin(keep))
            raise AnsweredTwiceError(tasks[int(task_codes[second])], int(codes[second]))
        if repeated:
            order, task_codes, codes = order[keep], task_codes[keep], codes[keep]
        columns = {name: values[order] for name, values in columns.items()}
        return self._write(index, tasks, task_codes, codes, columns, repeated)

    def _tasks(
        self, column: pa.ChunkedArray, silent: Sequence[Any]
    ) -> tuple[npt.NDArray[np.int32], pa.Array]:
        """Return each row's place among the ids of the tasks, and these."""
        codes, found = dictionary_codes(column)
        ids = pc.cast(found, plain_type(found.type))
        if self.source.mechanism is None:
            return codes, ids
        listed = pc.cast(listed_ids(ids, silent), ids.type)
        return positions_by_text(ids, listed).astype(np.int32)[codes], listed

    def _write(
        self,
        index: int,
        tasks: pa.Array,
        task_codes: npt.NDArray[np.int32],
        codes: npt.NDArray[np.int32],
        columns: dict[str, npt.NDArray[Any]],
        repeated: int,
    ) -> SortedPartition:
        """Write sorted rows, without those that say NULL."""
        reports_per_worker = self._count(codes)
        domain, null_reports = self.source.domain, 0
        if isinstance(domain, OrNull):
            told = columns["label"] != domain.null_code
            null_reports = int(len(told) - told.sum())
            task_codes, codes = task_codes[told], codes[told]
            columns = {name: values[told] for name, values in columns.items()}
        offsets, values = offsets_of(task_codes, len(tasks)), columns.pop("label")
        arrays: dict[str, npt.NDArray[Any]] = {
            "offsets": offsets.astype(np.int64),
            "worker_codes": codes,
            "values": _narrow(values),
            "draws": hash_ids(tasks),
            **columns,
        }
        ends: list[float] = []
        if isinstance(domain, NumericDomain) and len(values):
            ends = domain.numbers(np.array([values.min(), values.max()])).tolist()
        return SortedPartition(
            record=write_partition(self.folder / partition_name(index), tasks, arrays),
            reports_per_worker=reports_per_worker,
            answers_per_worker=self._count(codes) if null_reports else reports_per_worker,
            longest_task=int(np.diff(offsets).max(initial=0)),
            ends=tuple(ends),
            dropped=DroppedRows(duplicates=repeated, null_reports=null_reports),
        )

    def _count(self, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        return np.bincount(codes, minlength=self.workers).astype(np.int64)


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers in 4 bytes where that changes none of them; others as they are."""
    if values.dtype != np.float64:
        return values
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    return short if np.array_equal(short, values) else values
