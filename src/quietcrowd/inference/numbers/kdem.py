"""KDEm: a kernel density of each task's claims, and weights by the workers' distances from it."""

from functools import cached_property
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_densities
from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import LearningModel
from quietcrowd.inference.numbers.losses import Losses
from quietcrowd.inference.numbers.model import (
    LEAST_SHARE,
    NumericMethod,
    NumericModel,
    SquaredErrors,
    WeightState,
    scaled_weights,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.validation import one_of

TruthOf: TypeAlias = Literal["mode", "mean"]

LARGEST_LOSS = 2.0
"""A squared distance of two kernels, and of a kernel from a mean of kernels."""


@frozen(kw_only=True, eq=False, slots=False)
class KDEmModel(
    NumericModel["KDEm", WeightState, Losses], LearningModel["KDEm", WeightState, Losses]
):
    """`KDEm` bound to data."""

    loss_power: ClassVar[int] = 0
    """Losses have no unit; see `Losses`."""

    @cached_property
    def loss_unit(self) -> float:
        """Representation of 1.0 in a worker's sum of losses."""
        return self.error_unit / LARGEST_LOSS

    @override
    def sweep(
        self, partition: Partition, state: WeightState | None, estimates: NumericEstimates | None
    ) -> Losses:
        """Form densities and sum up distances; find truths only if there are estimates to fill."""
        squared, losses = np.zeros((2, self.summary.workers), np.int64)
        infer_densities(
            partition.numbers,
            self.weights(state),
            self.method.truth == "mode",
            self.task_unit,
            self.error_unit,
            self.loss_unit,
            squared,
            losses,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return Losses(losses=losses, errors=SquaredErrors(squared=squared))

    @override
    def update(self, tally: Losses, state: WeightState | None) -> tuple[WeightState, float]:
        """Weight the workers by their distances; the objective is minus the weighted loss."""
        summary = self.summary
        losses = tally.losses / self.loss_unit
        total = integer_sums.exact_sum(losses, summary.workers)
        if total == 0:
            return WeightState(weights=np.ones(summary.workers)), 0.0
        shares = np.maximum(losses / total, LEAST_SHARE)
        weights = -np.log(shares / np.maximum(summary.answers_per_worker, 1))
        cost: npt.NDArray[np.float64] = -weights * losses
        objective = integer_sums.exact_sum(cost, summary.workers) / summary.answers
        return WeightState(weights=scaled_weights(weights, summary)), objective


@frozen(kw_only=True, slots=False)
class KDEm(NumericMethod):
    """Alternate a density of each task's claims, and weights by the distances from it.

    A claim is a point in the space of the kernel ``K_j(x, y) = exp(-(x - y)^2 / (2 h_j^2))``, and
    the density of a task is a weighted mean of its claims there::

        f_j   = sum of c_u K_j(., a_uj) over the n_j workers u who answered, over the sum of c_u
        r_uj  = squared distance of K_j(., a_uj) from f_j
        D_u   = sum of r_uj / n_j over the N_u tasks j that u answered
        c_u   = -ln( D_u / N_u / sum of all D )

    Both steps lower ``sum of c_u D_u`` subject to ``sum of N_u exp(-c_u) = 1``. The residual of a
    claim is at most 2, so outliers have little effect. The bandwidth ``h_j`` is the median absolute
    deviation of the task's claims, at least 1e-10 of their standard deviation; residuals are 0 if
    all claims are equal. D is at least 1e-12 of all losses, and a weight at least a millionth of
    the greatest.

    The truth is one number that represents the density. The search for the mode starts at the
    densest claim, at the smallest of several; if claims differ only by rounding, the truth is their
    weighted median. For a known truth the density is a kernel at that number, which counts for the
    bandwidth like a claim.

    The time of a pass grows with the square of the number of different claims of a task.

    Parameters
    ----------
    truth : {"mode", "mean"}
        Mode or mean of the density. The mean is the weighted mean of the claims. The mode ignores
        outliers, and gives no standard errors.

    References
    ----------
    M. Wan et al., "From truth discovery to trustworthy opinion discovery: an uncertainty-aware
    quantitative modeling approach", KDD 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a"] * 5, "worker": range(5), "label": [1, 2, 3, 4, 90]})
    >>> KDEm().fit_predict(frame, non_private=True).round(1).tolist()
    [2.5]
    """

    name: ClassVar[str] = "kdem"
    truth: TruthOf = field(default="mode", validator=one_of(*get_args(TruthOf)))

    @override
    def model_for(self, summary: Summary) -> KDEmModel:
        return KDEmModel(method=self, summary=summary)
