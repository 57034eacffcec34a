"""What mean and weighted mean share: the pass over the tasks, and the workers' errors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_medians
from quietcrowd.inference import integer_sums
from quietcrowd.inference.method import IterativeInference, StateT
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    SquaredErrors,
    WeightState,
    error_unit,
    scaled_weights,
    sweep_means,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, State
from quietcrowd.validation import at_least, check_proportion, checked_by, plain

__all__ = [
    "AveragingMethod",
    "Mean",
    "Median",
    "WeightedMean",
]


@frozen(kw_only=True, slots=False)
class AveragingMethod(NumericMethod[StateT, SquaredErrors]):
    """A method whose truths are means of the answers, with a weight for each worker."""

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: StateT | None,
        estimates: NumericEstimates | None,
    ) -> SquaredErrors:
        """Average the answers with the weights."""
        return sweep_means(partition, summary, self.weights(summary, state), estimates)


@frozen(kw_only=True, slots=False)
class Mean(AveragingMethod[State]):
    """The truth is the mean of the task's answers; all workers count the same.

    There is one pass and nothing to iterate, so `max_iterations` and `tolerance` change nothing.

    References
    ----------
    The first step of H. Sun et al., IEEE Big Data 2018, Algorithm 1, before any weight is known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": [2, 5, 4]})
    >>> Mean().fit_predict(frame)
    task
    a    3.5
    b    4.0
    Name: agg_label, dtype: float64
    """

    name: ClassVar[str] = "mean"


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

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: State | None,
        estimates: NumericEstimates | None,
    ) -> SquaredErrors:
        """Take the medians."""
        squared = np.zeros(summary.workers, np.int64)
        infer_medians(
            partition.numbers,
            error_unit(summary),
            squared,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return SquaredErrors(squared=squared)


@frozen(kw_only=True, slots=False)
class WeightedMean(AveragingMethod[WeightState], IterativeInference[WeightState, SquaredErrors]):
    """Truth inference: alternate weighted means and weights by distance from the truths.

    ::

        truth_j = sum of q_u a_uj over the workers u who answered, over the sum of q_u
        S_u     = sum of (a_uj - truth_j)^2 over the n_u tasks j that u answered
        error_u = root of (S_u + smoothing S / n) / (n_u + smoothing)
        q_u     = 1 / max(error_u, floor (largest answer - smallest answer))

    with ``S / n`` the mean square of all answers. As printed, without `smoothing`, a worker of one
    answer can capture a task: once the truth has come near, its error vanishes, and its weight
    grows up to what the floor allows. With it, every q_u also gets ``smoothing / n`` times the sum
    of all: since the mean square depends on all answers, that makes both steps lower
    ``sum_u (n_u + smoothing) error_u``, and the loop cannot rise.

    Parameters
    ----------
    floor : float
        Least error, as a share of the range of all answers; between 0 and 1.
    smoothing : float
        Answers of the crowd's mean error that are added to every worker's record, at least 0; 0 is
        the printed method.
    tolerance : float
        As of every method; smaller here, since the objective is flat where the truths converge.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equations 1 and 2, Algorithm 1. Floor and descent:
    ``docs/theory/sparse-answers.md``; smoothing: ``docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> weighted, plain = WeightedMean().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "weighted-mean"
    tolerance: float = field(default=1e-13, converter=plain, validator=at_least(0))
    floor: float = field(default=1e-3, converter=plain, validator=checked_by(check_proportion))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    @override
    def update(
        self,
        summary: Summary,
        tally: SquaredErrors,
        state: WeightState | None,
    ) -> tuple[WeightState, float]:
        """Weigh the workers by their errors.

        The objective is minus the mean error over all answers, in units of their range; below the
        floor an error counts as the parabola that touches it there.
        """
        answered = summary.answers_per_worker > 0
        count = np.where(answered, summary.answers_per_worker + self.smoothing, 1.0)
        squares = tally.squared / error_unit(summary)
        pooled = integer_sums.exact_sum(squares, summary.workers) / summary.answers
        error = np.sqrt((squares + self.smoothing * pooled) / count)
        counted = np.where(error >= self.floor, error, (error**2 / self.floor + self.floor) / 2.0)
        climbed: npt.NDArray[np.float64] = -counted * count * answered
        objective = integer_sums.exact_sum(climbed, summary.workers) / summary.answers
        weights: npt.NDArray[np.float64] = answered / np.maximum(error, self.floor)
        shared = integer_sums.exact_sum(weights, summary.workers) * self.smoothing / summary.answers
        return WeightState(weights=scaled_weights(weights + shared, summary)), objective
