"""What mean and weighted mean share: the pass over the tasks, and the workers' errors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.kernels import numeric as numeric_kernels
from quietcrowd.inference.method import NumericEstimates, StateT
from quietcrowd.inference.numeric import (
    NumericMethod,
    SquaredErrors,
    error_unit,
    root_mean_square,
    unit_for,
)
from quietcrowd.inference.partition import Partition, Summary

__all__ = ["AveragingMethod"]


@frozen(kw_only=True, slots=False)
class AveragingMethod(NumericMethod[StateT, SquaredErrors]):
    """A method whose truths are means of the answers, with a weight for each worker."""

    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: StateT | None,
        estimates: NumericEstimates | None,
    ) -> SquaredErrors:
        """Average the answers with the weights; see `TruthInference.sweep`."""
        room = estimates or NumericEstimates.empty(0)
        squared = np.zeros(summary.workers, np.int64)
        numeric_kernels.mean_kernel(
            partition.offsets,
            partition.worker_codes.view(np.uint32),
            partition.values,
            partition.gold,
            self.weights(summary, state),
            -0.5,
            0.5,
            unit_for(summary.longest_task),
            error_unit(summary),
            squared,
            room.truths,
            room.standard_error,
            room.spread,
        )
        return SquaredErrors(squared=squared)

    def error(self, summary: Summary, tally: SquaredErrors) -> npt.NDArray[np.float64]:
        """Return the workers' errors; see `NumericMethod.error`."""
        return root_mean_square(summary, tally)
