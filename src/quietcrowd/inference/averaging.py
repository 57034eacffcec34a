"""What mean and weighted mean share: the pass over the tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.inference import kernels
from quietcrowd.inference.method import NumericEstimates
from quietcrowd.inference.numeric import SquaredErrors, error_unit, unit_for
from quietcrowd.inference.partition import Partition, Summary

__all__ = ["average"]


def average(
    partition: Partition,
    summary: Summary,
    weights: npt.NDArray[np.float64],
    estimates: NumericEstimates | None,
) -> SquaredErrors:
    """Estimate each task by a weighted mean, and tally the workers' squared errors.

    Parameters
    ----------
    partition, summary, estimates
        See `TruthInference.sweep`; the partition's values are scaled to -1/2..1/2.
    weights : ndarray of float64, shape (workers,)
        What a worker's answer counts, above 0 and at most 1.
    """
    room = estimates or NumericEstimates.empty(0)
    squared = np.zeros(summary.workers, np.int64)
    kernels.mean_kernel(
        partition.offsets,
        partition.worker_codes.view(np.uint32),
        partition.values,
        weights,
        unit_for(summary.longest_task),
        error_unit(summary),
        squared,
        room.truths,
        room.standard_error,
        room.spread,
    )
    return SquaredErrors(squared=squared)
