"""What is done with one partition of a store: a pass over it, here or in another process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd.inference.estimate import truth_columns
from quietcrowd.inference.fitting import FittingMethod, is_known
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import Scatter, State, Tally
from quietcrowd.inference.sweep import estimate
from quietcrowd.scale.store import Store
from quietcrowd.scale.stored_truths import StoredTruths

__all__ = [
    "EstimatedPartition",
    "Job",
    "LastPass",
    "LastTally",
]


@frozen(kw_only=True, eq=False)
class LastTally(Tally):
    """What the last pass tells of some partitions, but for their truths.

    Attributes
    ----------
    tally : Tally
        What it tells of the workers.
    scatter : Scatter
        How far numbers lie apart.
    tied : int
        How many labels are tied.
    """

    tally: Tally
    scatter: Scatter
    tied: int


@frozen(kw_only=True, eq=False)
class LastPass:
    """What the last pass over a partition is given.

    Attributes
    ----------
    state : State or None
        What is believed of the workers.
    judged : (int, int) or None
        As of `Partition`.
    """

    state: State | None
    judged: tuple[int, int] | None = None


@frozen(kw_only=True, eq=False)
class EstimatedPartition:
    """What the last pass tells of a partition.

    Attributes
    ----------
    truths : pyarrow.Table
        As of `TruthEstimate.truths`.
    last : LastTally
        All else.
    """

    truths: pa.Table
    last: LastTally


@frozen(kw_only=True, eq=False)
class Job:
    """What to do with a partition: all that stays the same from pass to pass.

    It can be sent to another process that sees the folder of the store.

    Attributes
    ----------
    store : Store
        Where the partitions are.
    method : FittingMethod
        What passes over them.
    summary : Summary
        Of all answers.
    known_truths : StoredTruths
        Of some tasks.
    """

    store: Store
    method: FittingMethod[Any, Any]
    summary: Summary
    known_truths: StoredTruths

    def tally(self, index: int, state: State | None) -> Tally:
        """Pass over a partition and tally."""
        tally: Tally = self.method.sweep(self._partition(index), self.summary, state, None)
        return tally

    def example(self) -> State | None:
        """Return a state as the method makes it, of one partition; None where it makes none."""
        if not isinstance(self.method, IterativeInference):
            return None
        index = next(index for index, one in enumerate(self.store.partitions) if one.rows)
        state: State = self.method.update(self.summary, self.tally(index, None), None)[0]
        return state

    def judge(self, index: int, given: LastPass) -> npt.NDArray[np.int64]:
        """Pass over a partition, and tell of the accuracies of some workers alone."""
        partition = evolve(self._partition(index), judged=given.judged)
        return self.method.judge(partition, self.summary, given.state)

    def estimate(self, index: int, given: LastPass) -> EstimatedPartition:
        """Pass over a partition and estimate its truths."""
        partition = evolve(self._partition(index), judged=given.judged)
        room, tally = estimate(self.method, partition, self.summary, given.state)
        known = self._known(index)
        columns = truth_columns(
            self.store.task_ids(index),
            self.method.finish(room, known, self.summary),
            is_known(known),
            np.diff(partition.offsets),
            self.summary.domain,
        )
        truths = pa.table(columns)
        tied = (pc.sum(truths["tied"]).as_py() or 0) if "tied" in truths.column_names else 0
        last = LastTally(tally=tally, scatter=Scatter.of(room), tied=tied)
        return EstimatedPartition(truths=truths, last=last)

    def beliefs(self, index: int, state: State | None) -> npt.NDArray[np.float64]:
        """Pass over a partition and return what is believed of its tasks."""
        return self.method.beliefs(self._partition(index), self.summary, state)

    def known(self, index: int) -> npt.NDArray[np.bool_]:
        """Return of which tasks of a partition the truth is known."""
        return is_known(self._known(index))

    def _partition(self, index: int) -> Partition:
        stored = self.store.partition(index, self._known(index))
        return self.method.scale(stored, self.summary)

    def _known(self, index: int) -> Any:
        return self.known_truths.of_partition(index, self.store.partitions[index].tasks)
