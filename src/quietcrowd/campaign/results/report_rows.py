"""Encoded reports in blocks of whole workers, from memory or from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.domains import Domain
from quietcrowd.frames import dictionary_codes, positions_by_text
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["FileRows", "MemoryRows", "ReportRows", "RowBlock"]


class RowBlock(NamedTuple):
    """Reports of some workers; arrays of shape (rows,).

    `tasks` are positions among all tasks, and `workers` positions among the `people` workers of
    this block. `values` are codes of the report domain.
    """

    tasks: npt.NDArray[np.int32]
    workers: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    people: int


class ReportRows(ABC):
    """Encoded reports of a campaign, which can be read repeatedly."""

    mechanism: Mechanism

    @property
    def domain(self) -> Domain:
        """Domain of the reports."""
        return self.mechanism.report_domain

    @property
    @abstractmethod
    def tasks(self) -> int:
        """Number of tasks."""

    @property
    @abstractmethod
    def workers(self) -> pa.Array:
        """Pseudonyms of all workers with reports, sorted."""

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Yield all reports; each worker is in one block."""

    @abstractmethod
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Concatenate an array per block, indexed by worker, and reorder it as `workers`."""

    @cached_property
    def per_task(self) -> npt.NDArray[np.int64]:
        """Number of reports on each task, shape (tasks,)."""
        counts = np.zeros(self.tasks, np.int64)
        for block in self.blocks():
            counts += np.bincount(block.tasks, minlength=self.tasks)
        return counts

    @cached_property
    def per_worker(self) -> npt.NDArray[np.int64]:
        """Number of reports of each worker, shape (workers,)."""
        return self.sorted_by_worker(
            [np.bincount(block.workers, minlength=block.people) for block in self.blocks()]
        )

    def __len__(self) -> int:
        return int(self.per_task.sum())

    @property
    def sent(self) -> int:
        """Number of reports received; a sketch counts as one."""
        return len(self)


@frozen(kw_only=True, eq=False, slots=False)
class MemoryRows(ReportRows):
    """Reports in memory, as one block."""

    reports: Reports
    mechanism: Mechanism = field(init=False)

    @mechanism.default
    def _mechanism(self) -> Mechanism:
        return self.reports.mechanism

    @property
    @override
    def tasks(self) -> int:
        return len(self.reports.table.tasks)

    @property
    @override
    def workers(self) -> pa.Array:
        return self.reports.table.workers

    @override
    def blocks(self) -> Iterator[RowBlock]:
        table = self.reports.table
        yield RowBlock(table.task_codes, table.worker_codes, table.values, len(table.workers))

    @override
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return parts[0]

    @property
    @override
    def sent(self) -> int:
        return len(self) if self.reports.sketches is None else len(self.workers)


@frozen(kw_only=True, eq=False, slots=False)
class FileRows(ReportRows):
    """Reports in a Parquet file whose row groups contain whole workers; `names` are all tasks."""

    path: Path
    mechanism: Mechanism
    names: pa.Array

    @property
    @override
    def tasks(self) -> int:
        return len(self.names)

    @cached_property
    def _order(self) -> tuple[pa.Array, pa.Array]:
        """Return all workers in file order, and the permutation that sorts them."""
        ids = pa.concat_arrays(
            [dictionary_codes(group["worker"])[1] for group in self._groups(["worker"])]
        )
        return ids, pc.sort_indices(ids)

    @property
    @override
    def workers(self) -> pa.Array:
        ids, order = self._order
        return ids.take(order)

    @override
    def blocks(self) -> Iterator[RowBlock]:
        for group in self._groups(["task", "worker", "label"]):
            tasks, named = dictionary_codes(group["task"])
            workers, people = dictionary_codes(group["worker"])
            places = positions_by_text(named, self.names).astype(np.int32)
            values = self.domain.encode(group["label"])[0]
            yield RowBlock(places[tasks], workers, values, len(people))

    @override
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.concatenate(parts)[self._order[1].to_numpy()]
        return found

    def _groups(self, columns: list[str]) -> Iterator[pa.Table]:
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns)
