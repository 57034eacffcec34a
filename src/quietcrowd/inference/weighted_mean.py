"""The weighted mean: workers whose answers are near the truths found so far count more."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.averaging import AveragingMethod
from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numeric import SquaredErrors, error_unit
from quietcrowd.inference.partition import Summary
from quietcrowd.inference.weights import WeightState, scaled_weights
from quietcrowd.validation import at_least, check_real, plain

__all__ = ["WeightedMean"]


def _check_floor(_: object, __: object, floor: Any) -> None:
    check_real("floor", floor, 0)
    if not 0 < floor < 1:
        raise ParameterError(f"floor must be above 0 and below 1; got {floor!r}")


@frozen(kw_only=True, slots=False)
class WeightedMean(AveragingMethod[WeightState], IterativeInference[WeightState, SquaredErrors]):
    """Truth inference: truths by weighted mean, weights by distance from the truths, in turn.

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
        As of every method; smaller here, since the objective is flat where the truths come to rest.

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
    floor: float = field(default=1e-3, converter=plain, validator=_check_floor)
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    def weights(self, summary: Summary, state: WeightState | None) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count; see `NumericMethod.weights`."""
        return np.ones(summary.workers) if state is None else state.weights

    def update(
        self,
        summary: Summary,
        tally: SquaredErrors,
        state: WeightState | None,  # noqa: ARG002
    ) -> tuple[WeightState, float]:
        """Weigh the workers by their errors; see `IterativeInference.update`.

        The objective is minus the mean error over all answers, in units of their range; below the
        floor an error counts as the parabola that touches it there.
        """
        answered = summary.answers_per_worker > 0
        count = np.where(answered, summary.answers_per_worker + self.smoothing, 1.0)
        squares = tally.squared / error_unit(summary)
        pooled = fixed_point.exact_sum(squares, summary.workers) / summary.answers
        error = np.sqrt((squares + self.smoothing * pooled) / count)
        counted = np.where(error >= self.floor, error, (error**2 / self.floor + self.floor) / 2.0)
        climbed: npt.NDArray[np.float64] = -counted * count * answered
        objective = fixed_point.exact_sum(climbed, summary.workers) / summary.answers
        weights: npt.NDArray[np.float64] = answered / np.maximum(error, self.floor)
        shared = fixed_point.exact_sum(weights, summary.workers) * self.smoothing / summary.answers
        return WeightState(weights=scaled_weights(weights + shared, summary)), objective
