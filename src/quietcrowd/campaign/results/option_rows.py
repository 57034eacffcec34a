"""Reports on tasks with equally many options, as positions among them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from typing_extensions import override

from quietcrowd.campaign.results.reports import MemoryRows, ReportRows, RowBlock
from quietcrowd.domains import Categorical
from quietcrowd.mechanisms import Mechanism, RandomizedResponse


def options_of(rows: ReportRows, task: int) -> list[Any]:
    """Return the options of a task, by its place, in their order."""
    assert isinstance(rows, MemoryRows)
    options: Any = rows.reports.table.options
    codes = options.codes[options.offsets[task] : options.offsets[task + 1]]
    return [options.domain.labels[code] for code in codes.tolist()]


def by_options(rows: ReportRows) -> list["OptionRows"]:
    """Split reports by the number of options of their tasks, into positions among them."""
    assert isinstance(rows, MemoryRows)
    table, mechanism = rows.reports.table, rows.mechanism
    assert table.options is not None
    sizes = table.options.sizes
    return [
        OptionRows(
            rows=rows,
            chosen=np.flatnonzero(sizes == size),
            mechanism=RandomizedResponse(
                domain=Categorical(range(size)),
                epsilon=mechanism.epsilon,  # type: ignore[attr-defined]
            ),
        )
        for size in np.unique(sizes).tolist()
    ]


@frozen(kw_only=True, eq=False, slots=False)
class OptionRows(ReportRows):
    """Reports on the `chosen` tasks, which have equally many options, as positions among them."""

    rows: MemoryRows
    chosen: npt.NDArray[np.intp]
    mechanism: Mechanism

    @property
    @override
    def tasks(self) -> int:
        return len(self.chosen)

    @property
    @override
    def workers(self) -> pa.Array:
        return self.rows.workers

    @override
    def blocks(self) -> Iterator[RowBlock]:
        options: Any = self.rows.reports.table.options
        for block in self.rows.blocks():
            kept = np.isin(block.tasks, self.chosen)
            tasks = block.tasks[kept]
            positions = options.positions(tasks, block.values[kept])
            places = np.searchsorted(self.chosen, tasks).astype(np.int32)
            yield RowBlock(places, block.workers[kept], positions, block.people)

    @override
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return self.rows.sorted_by_worker(parts)
