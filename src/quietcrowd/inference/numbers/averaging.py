"""Mean, median and weighted mean."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_medians
from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import LearningModel, State
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    NumericModel,
    SquaredErrors,
    WeightState,
    scaled_weights,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.validation import at_least, check_proportion, checked_by, plain


@frozen(kw_only=True, eq=False, slots=False)
class MeanModel(NumericModel["Mean", State, SquaredErrors]):
    """`Mean` bound to data."""

    @override
    def sweep(
        self, partition: Partition, state: State | None, estimates: NumericEstimates | None
    ) -> SquaredErrors:
        return self.tally_means(partition, self.weights(state), estimates)


@frozen(kw_only=True, slots=False)
class Mean(NumericMethod):
    """The truth is the mean of the task's answers; all workers have the same weight.

    There is one pass, so `max_iter` and `tol` have no effect.

    References
    ----------
    The first step of H. Sun et al., IEEE Big Data 2018, Algorithm 1, before any weight is known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": [2, 5, 4]})
    >>> Mean().fit_predict(frame, non_private=True)
    task
    a    3.5
    b    4.0
    Name: agg_label, dtype: float64
    """

    name: ClassVar[str] = "mean"

    @override
    def model_for(self, summary: Summary) -> MeanModel:
        return MeanModel(method=self, summary=summary)


@frozen(kw_only=True, eq=False, slots=False)
class MedianModel(NumericModel["Median", State, SquaredErrors]):
    """`Median` bound to data."""

    @override
    def sweep(
        self, partition: Partition, state: State | None, estimates: NumericEstimates | None
    ) -> SquaredErrors:
        squared = np.zeros(self.summary.workers, np.int64)
        arrays = (estimates or NumericEstimates.empty(0)).arrays
        infer_medians(partition.numbers, self.error_unit, squared, arrays)
        return SquaredErrors(squared=squared)


@frozen(kw_only=True, slots=False)
class Median(NumericMethod):
    """The truth is the median of the task's answers; all workers have the same weight.

    For an even number of answers it is the midpoint of the two middle ones. Under Laplace noise it
    is closer to the truth than the mean if the noise exceeds the workers' errors. There is one
    pass, so `max_iter` and `tol` have no effect. It gives no standard errors.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a"] * 3, "worker": [1, 2, 3], "label": [2, 3, 90]})
    >>> Median().fit_predict(frame, non_private=True).tolist()
    [3.0]
    """

    name: ClassVar[str] = "median"

    @override
    def model_for(self, summary: Summary) -> MedianModel:
        return MedianModel(method=self, summary=summary)


@frozen(kw_only=True, eq=False, slots=False)
class WeightedMeanModel(
    NumericModel["WeightedMean", WeightState, SquaredErrors],
    LearningModel["WeightedMean", WeightState, SquaredErrors],
):
    """`WeightedMean` bound to data."""

    @override
    def sweep(
        self, partition: Partition, state: WeightState | None, estimates: NumericEstimates | None
    ) -> SquaredErrors:
        return self.tally_means(partition, self.weights(state), estimates)

    @override
    def update(self, tally: SquaredErrors, state: WeightState | None) -> tuple[WeightState, float]:
        """Weight the workers by their errors; the objective is minus the mean error, in the range.

        Below the floor an error counts as the parabola that touches it there.
        """
        summary, floor, smoothing = self.summary, self.method.floor, self.method.smoothing
        answered = summary.answers_per_worker > 0
        count = np.where(answered, summary.answers_per_worker + smoothing, 1.0)
        squares = tally.squared / self.error_unit
        pooled = integer_sums.exact_sum(squares, summary.workers) / summary.answers
        error = np.sqrt((squares + smoothing * pooled) / count)
        counted = np.where(error >= floor, error, (error**2 / floor + floor) / 2.0)
        climbed: npt.NDArray[np.float64] = -counted * count * answered
        objective = integer_sums.exact_sum(climbed, summary.workers) / summary.answers
        weights: npt.NDArray[np.float64] = answered / np.maximum(error, floor)
        shared = integer_sums.exact_sum(weights, summary.workers) * smoothing / summary.answers
        return WeightState(weights=scaled_weights(weights + shared, summary)), objective


@frozen(kw_only=True, slots=False)
class WeightedMean(NumericMethod):
    """Truth inference: alternate weighted means and weights by distance from the truths.

    ::

        truth_j = sum of q_u a_uj over the workers u with an answer, over the sum of q_u
        S_u     = sum of (a_uj - truth_j)^2 over the n_u tasks j that u answered
        error_u = root of (S_u + smoothing S / n) / (n_u + smoothing)
        q_u     = 1 / max(error_u, floor (largest answer - smallest answer))

    with ``S / n`` the mean square of all answers. As printed, without `smoothing`, a worker with
    one answer can capture a task: its error vanishes near the truth, and its weight grows to the
    limit of the floor. With `smoothing`, ``smoothing / n`` times the sum of all weights is added to
    every q_u, since the mean square depends on all answers. Then both steps lower
    ``sum_u (n_u + smoothing) error_u``.

    Parameters
    ----------
    floor : float
        Least error, as a fraction of the range of all answers; between 0 and 1.
    smoothing : float
        Answers with the crowd's mean error that are added to every worker's record, at least 0; 0
        is the printed method.
    tol : float
        As for every method; smaller here, since the objective is flat at convergence.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equations 1 and 2, Algorithm 1. Floor and descent:
    ``research/docs/theory/sparse-answers.md``; smoothing:
    ``research/docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> weighted, plain = WeightedMean().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "weighted-mean"
    tol: float = field(default=1e-13, converter=plain, validator=at_least(0))
    floor: float = field(default=1e-3, converter=plain, validator=checked_by(check_proportion))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    @override
    def model_for(self, summary: Summary) -> WeightedMeanModel:
        return WeightedMeanModel(method=self, summary=summary)
