"""The weighted mean: workers whose answers are near the truths found so far count more."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import fixed_point
from quietcrowd.inference.averaging import AveragingMethod
from quietcrowd.inference.method import IterativeInference, State
from quietcrowd.inference.numeric import SquaredErrors, root_mean_square
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import check_real, plain

__all__ = ["ErrorState", "WeightedMean"]


def _check_tolerance(_: object, __: object, tolerance: Any) -> None:
    check_real("tolerance", tolerance, 0)


def _check_floor(_: object, __: object, floor: Any) -> None:
    check_real("floor", floor, 0)
    if not 0 < floor < 1:
        raise ParameterError(f"floor must be above 0 and below 1; got {floor!r}")


@frozen(kw_only=True, eq=False)
class ErrorState(State):
    """How far from the truth each worker is believed to be.

    Attributes
    ----------
    error : ndarray of float64, shape (workers,)
        Root mean square, in units of the range of all answers; at least the floor.
    """

    error: npt.NDArray[np.float64]

    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is worth the median of the known."""
        middle = np.sort(self.error)[len(self.error) // 2]
        return type(self)(error=np.where(positions >= 0, self.error[positions], middle))

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """One over the error, the best worker's being 1."""
        weights: npt.NDArray[np.float64] = self.error.min() / self.error
        return weights


@frozen(kw_only=True, slots=False)
class WeightedMean(AveragingMethod[ErrorState], IterativeInference[ErrorState, SquaredErrors]):
    """Truth inference: truths by weighted mean, weights by distance from the truths, in turn.

    ::

        truth_j = sum of q_u a_uj over the workers u who answered, over the sum of q_u
        error_u = root mean square of a_uj - truth_j over the tasks j that u answered
        q_u     = 1 / max(error_u, floor (largest answer - smallest answer))

    Both steps lower ``sum_u n_u error_u`` over workers with n_u answers, so the loop cannot rise.
    Without the floor a worker who is alone on all its tasks would have no error and all weight.

    Parameters
    ----------
    floor : float
        Least error, as a share of the range of all answers; between 0 and 1.
    tolerance : float
        As of every method; smaller here, since the objective is flat where the truths come to rest.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equations 1 and 2, Algorithm 1. The floor and the descent:
    ``docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> weighted, plain = WeightedMean().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "weighted-mean"
    tolerance: float = field(default=1e-13, converter=plain, validator=_check_tolerance)
    floor: float = field(default=1e-3, converter=plain, validator=_check_floor)

    def weights(self, summary: Summary, state: ErrorState | None) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count; see `NumericMethod.weights`."""
        return np.ones(summary.workers) if state is None else state.weights

    def update(
        self,
        summary: Summary,
        tally: SquaredErrors,
        state: ErrorState | None,  # noqa: ARG002
    ) -> tuple[ErrorState, float]:
        """Weigh the workers by their errors; see `IterativeInference.update`.

        The objective is minus the mean error over all answers, in units of their range; below the
        floor an error counts as the parabola that touches it there.
        """
        error = np.nan_to_num(root_mean_square(summary, tally), nan=1.0)
        counted = np.where(error >= self.floor, error, (error**2 / self.floor + self.floor) / 2.0)
        climbed: npt.NDArray[np.float64] = -counted * summary.answers_per_worker
        objective = fixed_point.exact_sum(climbed, summary.workers) / summary.answers
        return ErrorState(error=np.maximum(error, self.floor)), objective
