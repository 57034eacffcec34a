"""What workers' answers count, and weights from their losses."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.method import State
from quietcrowd.inference.partition import Summary

__all__ = ["LEAST_SHARE", "WeightState", "log_share_weights", "scaled_weights"]

LEAST_SHARE = 1e-12
"""No worker's loss counts as less than this share of all."""

LEAST_WEIGHT = 1e-6
"""The least weight, the greatest being 1: who stands alone on a task still decides it."""


@frozen(kw_only=True, eq=False)
class WeightState(State):
    """What each worker's answers count.

    Attributes
    ----------
    weights : ndarray of float64, shape (workers,)
        Above 0; the greatest is 1.
    """

    weights: npt.NDArray[np.float64]

    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is worth the median of the known."""
        middle = np.sort(self.weights)[len(self.weights) // 2]
        return type(self)(weights=np.where(positions >= 0, self.weights[positions], middle))


def log_share_weights(
    losses: npt.NDArray[np.float64], *, of_largest: bool = False
) -> npt.NDArray[np.float64]:
    """Return minus the logarithm of each worker's share of all losses, or of the largest one.

    All 1 where there is no loss. These weights minimise the sum of weights times losses where the
    sum of ``exp(-weight)`` is 1; ``docs/theory/truth-discovery.md``.
    """
    total = fixed_point.exact_sum(losses, len(losses))
    if total == 0:
        return np.ones(len(losses))
    whole = losses.max() if of_largest else total
    weights: npt.NDArray[np.float64] = -np.log(np.maximum(losses, LEAST_SHARE * total) / whole)
    return np.maximum(weights, 0.0)


def scaled_weights(weights: npt.NDArray[np.float64], summary: Summary) -> npt.NDArray[np.float64]:
    """Return weights of which the greatest is 1, and none less than `LEAST_WEIGHT`.

    All are 1 where all are 0; workers without answers do not count.
    """
    counted = weights * (summary.answers_per_worker > 0)
    greatest = counted.max(initial=0.0)
    return np.maximum(counted / greatest, LEAST_WEIGHT) if greatest > 0 else counted + 1.0
