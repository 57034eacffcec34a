"""The median: the answer in the middle."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.kernels import numeric as numeric_kernels
from quietcrowd.inference.method import NumericEstimates, State
from quietcrowd.inference.numeric import (
    NumericMethod,
    SquaredErrors,
    error_unit,
    root_mean_square,
)
from quietcrowd.inference.partition import Partition, Summary

__all__ = ["Median"]


@frozen(kw_only=True, slots=False)
class Median(NumericMethod[State, SquaredErrors]):
    """The truth is the median of the task's answers; all workers count the same.

    Of an even number of answers it is the middle between the two in the middle. Under Laplace noise
    it is closer to the truth than the mean, where the noise outweighs the workers' own errors.
    There is one pass and nothing to iterate, so `max_iterations` and `tolerance` change nothing. It
    gives no standard errors.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a"] * 3, "worker": [1, 2, 3], "label": [2, 3, 90]})
    >>> Median().fit_predict(frame).tolist()
    [3.0]
    """

    name: ClassVar[str] = "median"

    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: State | None,  # noqa: ARG002
        estimates: NumericEstimates | None,
    ) -> SquaredErrors:
        """Take the medians; see `TruthInference.sweep`."""
        room = estimates or NumericEstimates.empty(0)
        squared = np.zeros(summary.workers, np.int64)
        numeric_kernels.median_kernel(
            partition.offsets,
            partition.worker_codes.view(np.uint32),
            partition.values,
            partition.gold,
            error_unit(summary),
            squared,
            room.truths,
            room.spread,
        )
        if estimates is not None:
            room.standard_error[:] = np.where(np.isnan(partition.gold), np.nan, 0.0)
        return SquaredErrors(squared=squared)

    def error(self, summary: Summary, tally: SquaredErrors) -> npt.NDArray[np.float64]:
        """Return the workers' errors; see `NumericMethod.error`."""
        return root_mean_square(summary, tally)
