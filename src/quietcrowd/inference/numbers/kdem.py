"""KDEm: a kernel density of each task's claims, and weights from the workers' distances to it."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_densities
from quietcrowd.inference import integer_sums
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.losses import Losses
from quietcrowd.inference.numbers.model import (
    LEAST_SHARE,
    NumericMethod,
    SquaredErrors,
    WeightState,
    error_unit,
    scaled_weights,
    unit_for,
)
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates
from quietcrowd.validation import one_of

__all__ = ["KDEm"]

TruthOf: TypeAlias = Literal["mode", "mean"]

LARGEST_LOSS = 2.0
"""A squared distance of two kernels, and of a kernel from a mean of kernels."""


def _loss_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in a worker's sum of losses."""
    return error_unit(summary) / LARGEST_LOSS


@frozen(kw_only=True, slots=False)
class KDEm(NumericMethod[WeightState, Losses], IterativeInference[WeightState, Losses]):
    """Alternate a density of each task's claims and weights from the distances to it.

    A claim is a point in the space of the kernel ``K_j(x, y) = exp(-(x - y)^2 / (2 h_j^2))``, and
    the density of a task is a weighted mean of its claims there::

        f_j   = sum of c_u K_j(., a_uj) over the n_j workers u who answered, over the sum of c_u
        r_uj  = squared distance of K_j(., a_uj) from f_j
        D_u   = sum of r_uj / n_j over the N_u tasks j that u answered
        c_u   = -ln( D_u / N_u / sum of all D )

    Both steps lower ``sum of c_u D_u`` where ``sum of N_u exp(-c_u) = 1``, so the loop cannot rise.
    A claim far from the others has a residual of at most 2, however far it is: outliers cost
    little. The bandwidth ``h_j`` is the median absolute deviation of the task's claims, at least
    1e-10 of their standard deviation; where all claims are equal there is no residual. No D counts
    as less than 1e-12 of all, and no weight as less than a millionth of the greatest.

    The truth is one number that stands for the density. Its mode is sought from the densest claim
    uphill; of equally dense claims from the smallest. Where claims differ by rounding errors only,
    it is their weighted median. A known truth takes the place of the density:
    a kernel at that number, which counts for the bandwidth as a claim does.

    A pass takes time as the square of the number of different claims of a task.

    Parameters
    ----------
    truth : {"mode", "mean"}
        Of the density. The mean is the weighted mean of the claims. The mode ignores outliers; it
        gives no standard errors.

    References
    ----------
    M. Wan et al., "From truth discovery to trustworthy opinion discovery: an uncertainty-aware
    quantitative modeling approach", KDD 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a"] * 5, "worker": range(5), "label": [1, 2, 3, 4, 90]})
    >>> KDEm().fit_predict(frame).round(1).tolist()
    [2.5]
    """

    name: ClassVar[str] = "kdem"
    truth: TruthOf = field(default="mode", validator=one_of(*get_args(TruthOf)))

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: WeightState | None,
        estimates: NumericEstimates | None,
    ) -> Losses:
        """Form the densities and tally the distances.

        Truths, and errors from them, are found where there is room for estimates.
        """
        squared, losses = np.zeros(summary.workers, np.int64), np.zeros(summary.workers, np.int64)
        infer_densities(
            partition.numbers,
            self.weights(summary, state),
            self.truth == "mode",
            unit_for(summary.longest_task),
            error_unit(summary),
            _loss_unit(summary),
            squared,
            losses,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return Losses(losses=losses, errors=SquaredErrors(squared=squared))

    @override
    def extend_tally(self, tally: Losses, extension: Extension) -> Losses:
        return Losses(
            losses=extension.sums(tally.losses, _loss_unit), errors=tally.errors.extended(extension)
        )

    @override
    def update(
        self,
        summary: Summary,
        tally: Losses,
        state: WeightState | None,
    ) -> tuple[WeightState, float]:
        """Weigh the workers by their distances.

        The objective is minus the weighted loss per answer.
        """
        losses = tally.losses / _loss_unit(summary)
        total = integer_sums.exact_sum(losses, summary.workers)
        if total == 0:
            return WeightState(weights=np.ones(summary.workers)), 0.0
        shares = np.maximum(losses / total, LEAST_SHARE)
        weights = -np.log(shares / np.maximum(summary.answers_per_worker, 1))
        cost: npt.NDArray[np.float64] = -weights * losses
        objective = integer_sums.exact_sum(cost, summary.workers) / summary.answers
        return WeightState(weights=scaled_weights(weights, summary)), objective
