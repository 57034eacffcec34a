"""Work on one partition of a store, in this process or another."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd.inference.estimate import truth_columns
from quietcrowd.inference.fitting import is_known
from quietcrowd.inference.loop import estimate
from quietcrowd.inference.model import LearningModel, Model, State, Tally
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.task_estimates import Scatter
from quietcrowd.scale.store import Store
from quietcrowd.scale.stored_truths import StoredTruths


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
