"""What a run does with one partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.inference.estimate import truth_columns
from quietcrowd.inference.fitting import FittingMethod, is_known
from quietcrowd.inference.method import IterativeInference, Scatter, State, Tally
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.sweep import estimate
from quietcrowd.scale.gold import StoredTruths
from quietcrowd.scale.store import Store

__all__ = ["EstimatedPartition", "Job"]


@frozen(kw_only=True, eq=False)
class EstimatedPartition:
    """What the last pass tells of a partition.

    Attributes
    ----------
    truths : pyarrow.Table
        As of `TruthEstimate.truths`.
    tally : Tally
        What it tells of the workers.
    scatter : Scatter
        How far numbers lie apart.
    tied : int
        How many labels are tied.
    """

    truths: pa.Table
    tally: Tally
    scatter: Scatter
    tied: int


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
    gold : StoredTruths
        Known truths.
    """

    store: Store
    method: FittingMethod[Any, Any]
    summary: Summary
    gold: StoredTruths

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

    def estimate(self, index: int, state: State | None) -> EstimatedPartition:
        """Pass over a partition and estimate its truths."""
        partition = self._partition(index)
        room, tally = estimate(self.method, partition, self.summary, state)
        gold = self._gold(index)
        columns = truth_columns(
            self.store.task_ids(index),
            self.method.finish(room, gold, self.summary),
            is_known(gold),
            np.diff(partition.offsets),
            self.store.domain,
        )
        truths = pa.table(columns)
        return EstimatedPartition(
            truths=truths,
            tally=tally,
            scatter=Scatter.of(room),
            tied=(pc.sum(truths["tied"]).as_py() or 0) if "tied" in truths.column_names else 0,
        )

    def _partition(self, index: int) -> Partition:
        stored = self.store.partition(index, self._gold(index))
        return self.method.scale(stored, self.summary)

    def _gold(self, index: int) -> Any:
        return self.gold.of_partition(index, self.store.partitions[index].tasks)
