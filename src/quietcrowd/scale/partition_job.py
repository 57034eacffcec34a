"""Work on one partition of a store, in this process or another, with its known truths.

Histograms of workers' accuracies need hundreds of bytes per worker, more memory than all other data
about workers. So they are computed for blocks of workers and stored in a file.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd.domains import Domain
from quietcrowd.frames import as_frame, column_of, positions_by_text
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.estimate import truth_columns
from quietcrowd.inference.fitting import FittingMethod, is_known
from quietcrowd.inference.loop import estimate
from quietcrowd.inference.model import LearningModel, Model, State, Tally
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.task_estimates import Scatter
from quietcrowd.scale.store import Store

MOST_BYTES = 2**26
"""The most bytes of one block, unless a single worker needs more."""


def worker_blocks(workers: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of blocks of workers within `MOST_BYTES`, of `each` bytes per worker."""
    step = max(1, MOST_BYTES // max(each, 1))
    for start in range(0, workers, step):
        yield start, min(start + step, workers)


@frozen(kw_only=True, eq=False)
class HistogramFile:
    """Histograms of all workers in a file of int64; slicing reads a range of workers."""

    shape: tuple[int, ...]
    file: Any

    @classmethod
    def write(cls, blocks: Iterable[npt.NDArray[np.int64]], file: Any) -> "HistogramFile":
        """Write blocks of workers, in order, to an empty file, which stays open."""
        workers, row = 0, ()
        for block in blocks:
            block.tofile(file)
            workers, row = workers + len(block), block.shape[1:]
            del block  # frees memory before the next one
        return cls(shape=(workers, *row), file=file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, workers: slice) -> npt.NDArray[np.int64]:
        first, end, _ = workers.indices(len(self))
        row = math.prod(self.shape[1:])
        self.file.seek(first * row * np.dtype(np.int64).itemsize)
        numbers = np.fromfile(self.file, np.int64, (end - first) * row)
        return numbers.reshape(end - first, *self.shape[1:])


@frozen(kw_only=True, eq=False)
class StoredTruths:
    """Known truths as in `Partition`; `places` maps to (slice of `values`, tasks' positions)."""

    values: npt.NDArray[Any]
    places: Mapping[int, tuple[slice, npt.NDArray[np.intp]]]

    def __len__(self) -> int:
        return len(self.values)

    def of_partition(self, index: int, tasks: int) -> npt.NDArray[Any]:
        """Return the truths of a partition, shape (tasks,)."""
        unknown = UNKNOWN if self.values.dtype.kind == "i" else np.nan
        truths = np.full(tasks, unknown, self.values.dtype)
        if index in self.places:
            own, positions = self.places[index]
            truths[positions] = self.values[own]
        return truths

    @property
    def fingerprint(self) -> str:
        """A digest of truths and positions."""
        digest = blake2b(self.values.tobytes(), digest_size=16)
        for index, (own, positions) in sorted(self.places.items()):
            digest.update(f"{index} {own.start} ".encode() + positions.tobytes())
        return digest.hexdigest()


def match_truths(store: Store, method: FittingMethod, truths: Any) -> StoredTruths:
    """Match any ``gold`` of `FittingMethod.fit` with the tasks of a store."""
    found = [store.task_ids(0)[:0]]
    places = {}
    begin = 0
    for index, names in store.by_partition(_named_tasks(truths)).items():
        ids = store.task_ids(index)
        positions = np.unique(positions_by_text(names, ids))
        positions = positions[positions >= 0]
        found.append(ids.take(pa.array(positions)))
        places[index] = (slice(begin, begin + len(positions)), positions)
        begin += len(positions)
    return StoredTruths(
        values=method.known(pa.concat_arrays(found), truth_domain(store, method), truths),
        places=places,
    )


def truth_domain(store: Store, method: FittingMethod) -> Domain:
    """Return the domain of inferred truths."""
    return store.domain if store.mechanism is None else method.truth_domain(store.mechanism)


def _named_tasks(truths: Any) -> pa.Array:
    """Return the ids of tasks with known truths, or none if `truths` is not a valid frame."""
    frame = None if truths is None else as_frame(truths)
    if frame is None or "task" not in frame.columns:
        return pa.nulls(0)  # the method raises for such a frame
    return column_of(frame, "task").combine_chunks().drop_null()


@frozen(kw_only=True, eq=False)
class LastTally(Tally):
    """Additive results of the last pass, except truths; `tied` counts tied labels."""

    tally: Tally
    scatter: Scatter
    tied: int


@frozen(kw_only=True, eq=False)
class LastPass:
    """Arguments of the last pass; `judged` is described in `Partition`."""

    state: State | None
    judged: tuple[int, int] | None = None


@frozen(kw_only=True, eq=False)
class EstimatedPartition:
    """Results of the last pass over a partition, with columns as in `TruthEstimate.truths`."""

    truths: pa.Table
    last: LastTally


@frozen(kw_only=True, eq=False)
class Job:
    """The arguments that all passes over partitions share; it can be sent to other processes."""

    store: Store
    model: Model[Any, Any, Any]
    known_truths: StoredTruths

    def group_reports(self, index: int, _: None) -> Any:
        """Return the reports of a partition in which groups of workers are searched."""
        return self.model.group_reports(self._partition(index))

    def tally(self, index: int, state: State | None) -> Tally:
        """Return the additive statistics of a partition."""
        tally: Tally = self.model.sweep(self._partition(index), state, None)
        return tally

    def example(self) -> State | None:
        """Return a state computed from one partition; None if the method has no state."""
        if not isinstance(self.model, LearningModel):
            return None
        index = next(index for index, one in enumerate(self.store.partitions) if one.rows)
        state: State = self.model.update(self.tally(index, None), None)[0]
        return state

    def judge(self, index: int, given: LastPass) -> npt.NDArray[np.int64]:
        """Return histograms of accuracies, restricted to the workers in `given.judged`."""
        partition = evolve(self._partition(index), judged=given.judged)
        return self.model.histograms(partition, given.state)

    def estimate(self, index: int, given: LastPass) -> EstimatedPartition:
        """Estimate the truths of a partition."""
        partition = evolve(self._partition(index), judged=given.judged)
        estimates, tally = estimate(self.model, partition, given.state)
        known = self._known(index)
        columns = truth_columns(
            self.store.task_ids(index),
            self.model.finish(estimates, known),
            is_known(known),
            np.diff(partition.offsets),
            self.model.summary.domain,
        )
        truths = pa.table(columns)
        tied = (pc.sum(truths["tied"]).as_py() or 0) if "tied" in truths.column_names else 0
        last = LastTally(tally=tally, scatter=Scatter.of(estimates), tied=tied)
        return EstimatedPartition(truths=truths, last=last)

    def beliefs(self, index: int, state: State | None) -> npt.NDArray[np.float64]:
        """Return the method's beliefs about the truths of a partition's tasks."""
        model: Any = self.model
        beliefs: npt.NDArray[np.float64] = model.beliefs(self._partition(index), state)
        return beliefs

    def known(self, index: int) -> npt.NDArray[np.bool_]:
        """Return which tasks of a partition have a known truth, shape (tasks,)."""
        return is_known(self._known(index))

    def _partition(self, index: int) -> Partition:
        return self.model.scale(self.store.partition(index, self._known(index)))

    def _known(self, index: int) -> Any:
        return self.known_truths.of_partition(index, self.store.partitions[index].tasks)
