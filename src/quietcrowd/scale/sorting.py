"""Rows of one partition, sorted by task and worker."""

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
from quietcrowd.formats.report_files import listed_ids
from quietcrowd.frames import dictionary_codes, positions_by_text
from quietcrowd.row_order import Duplicates, first_or_last, sort_rows
from quietcrowd.scale.reading import SKIPPED
from quietcrowd.scale.sources import Source
from quietcrowd.scale.spill import Spill
from quietcrowd.scale.store import partition_name
from quietcrowd.scale.writing import SortedPartition, write_sorted

__all__ = ["AnsweredTwiceError", "Sorter"]


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
        return write_sorted(
            self.folder / partition_name(index),
            self.source.domain,
            tasks,
            task_codes,
            codes,
            columns,
            workers=self.workers,
            repeated=repeated,
        )

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
