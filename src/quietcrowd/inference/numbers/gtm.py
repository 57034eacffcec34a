"""GTM: a Gaussian model of truths and of the workers' errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_gaussian
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    SquaredErrors,
    error_unit,
    unit_for,
)
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, State, Tally, known_or_median
from quietcrowd.validation import check_real, plain

__all__ = ["GTM", "GaussianTally", "VarianceState"]

FARTHEST = 64.0
"""The kernel cuts standardised answers at this; a known truth alone can be so far off."""

EVIDENCE_ONE = 2.0**24
"""What the kernel stores 1.0 as in sums of the evidence."""

LARGEST_MEAN = 2.0
"""The mean of the prior is at most this far off: errors then stay below twice the range."""

SHAPES = (1e-4, 1e4)
"""Limits of alpha and of beta."""

PRIOR_SDS = (1e-2, 1e2)
"""Limits of the deviation of the prior: no posterior variance is far above a squared error."""

_MOST_EVIDENCE = 2.0**38
"""Sums of the evidence stay below it: half of what 64 bits hold."""

_MOST_LOG = 64.0
"""The logarithm of a precision over that of the prior, and 1, are together at most this."""


@frozen(kw_only=True, eq=False)
class VarianceState(State):
    """How large each worker's errors are believed to be.

    Attributes
    ----------
    variance : ndarray of float64, shape (workers,)
        Above 0; in the unit that the method says.
    """

    variance: npt.NDArray[np.float64]

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is worth the median of the known."""
        return type(self)(variance=self.variance[known_or_median(positions, self.variance)])


@frozen(kw_only=True, eq=False)
class GaussianTally(Tally):
    """How far each worker's standardised answers were from the truths.

    Attributes
    ----------
    squared : ndarray of int64, shape (workers,)
        Expected squared distances, in units of `_square_unit`.
    kept : ndarray of int64, shape (workers,)
        Answers that are no outliers.
    evidence : ndarray of int64, shape (1,)
        Log prior of the truths and entropy of their posteriors, in units of 2^-24.
    errors : SquaredErrors
        Squared distances of all answers, not standardised.
    """

    squared: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    errors: SquaredErrors

    @override
    def extended(self, extension: Extension) -> Self:
        return type(self)(
            squared=extension.sums(self.squared, _square_unit),
            kept=extension.sums(self.kept),
            evidence=self.evidence,
            errors=self.errors.extended(extension),
        )


def _square_unit(summary: Summary) -> float:
    return error_unit(summary) / (2.0 * FARTHEST) ** 2


def _check_positive(_: object, attribute: Any, value: Any) -> None:
    check_real(attribute.name, value, 0)
    if value == 0:
        raise ParameterError(f"{attribute.name} must be above 0; got {value!r}")


def _within(low: float, high: float) -> Callable[[Any, Any, Any], None]:
    """Return an attrs validator that raises ParameterError unless low <= value <= high."""

    def check(_: Any, attribute: Any, value: Any) -> None:
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not real or not low <= value <= high:
            raise ParameterError(
                f"{attribute.name} must be a number from {low:g} to {high:g}; got {value!r}"
            )

    return check


@frozen(kw_only=True, slots=False)
class GTM(NumericMethod[VarianceState, GaussianTally], IterativeInference[Any, Any]):
    """Truths and errors are Gaussian; expectation maximisation finds the workers' variances.

    Every task is standardised: of its answers that are no outliers the mean is taken, and they are
    divided by their standard deviation. Then ::

        truth_j  ~ N(prior_mean, prior_sd^2)
        a_uj     ~ N(truth_j, s_u^2),      s_u^2 ~ inverse gamma(alpha, beta)

        mean_j   = (prior_mean / prior_sd^2 + sum_u a_uj / s_u^2) / (1 / var_j)
        var_j    = 1 / (1 / prior_sd^2 + sum_u 1 / s_u^2)
        s_u^2    = (2 beta + sum_j (a_uj - mean_j)^2 + var_j) / (2 (alpha + 1) + n_u)

    and the truths are moved back. Outliers count neither for the truth nor for their worker. The
    evidence cannot fall.

    Parameters
    ----------
    alpha, beta : float
        Of the prior of a worker's variance; from 0.0001 to 10,000 each.
    prior_mean, prior_sd : float
        Of the prior of a standardised truth, which is in standard deviations of the task's answers;
        from -2 to 2, and from 0.01 to 100.
    outliers : float
        Above 0 and finite.
        An answer is one if it is farther from the median of the task's answers than this many
        standard deviations, estimated by 1.4826 times the median absolute deviation; where that is
        0, none is.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range; at the fit, where a narrow prior is so far off that
        the evidence of all tasks does not fit 64 bits. At the limits a million tasks of ten
        answers each do.

    References
    ----------
    B. Zhao and J. Han, "A probabilistic model for estimating real-valued truth from conflicting
    sources", QDB 2012. ``docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> weighted, plain = GTM().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "gtm"
    errors_from_model: ClassVar[bool] = True
    alpha: float = field(default=10.0, converter=plain, validator=_within(*SHAPES))
    beta: float = field(default=10.0, converter=plain, validator=_within(*SHAPES))
    prior_mean: float = field(
        default=0.0, converter=plain, validator=_within(-LARGEST_MEAN, LARGEST_MEAN)
    )
    prior_sd: float = field(default=1.0, converter=plain, validator=_within(*PRIOR_SDS))
    outliers: float = field(default=10.0, converter=plain, validator=_check_positive)

    @override
    def weights(self, summary: Summary, state: VarianceState | None) -> npt.NDArray[np.float64]:
        """Return one over the variances, the greatest being 1."""
        if state is None:
            return np.ones(summary.workers)
        weights: npt.NDArray[np.float64] = state.variance.min() / state.variance
        return weights

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: VarianceState | None,
        estimates: NumericEstimates | None,
    ) -> GaussianTally:
        """Find the truths' posteriors."""
        self._check_evidence(summary)
        least = self.beta / (self.alpha + 1.0) if state is None else float(state.variance.min())
        squared, kept, errors = (np.zeros(summary.workers, np.int64) for _ in range(3))
        evidence = np.zeros(1, np.int64)
        infer_gaussian(
            partition.numbers,
            self.weights(summary, state),
            1.0 / least,
            self.prior_mean,
            1.0 / self.prior_sd**2,
            self.outliers,
            unit_for(summary.longest_task) / FARTHEST,
            _square_unit(summary),
            error_unit(summary),
            squared,
            kept,
            evidence,
            errors,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return GaussianTally(
            squared=squared, kept=kept, evidence=evidence, errors=SquaredErrors(squared=errors)
        )

    def _check_evidence(self, summary: Summary) -> None:
        """Raise ParameterError where the sums of the evidence could overflow.

        Squares of a task's standardised answers sum to their number, so those of all posterior
        means do to at most the number of answers, but for the pull of the prior.
        """
        farthest = math.sqrt(summary.answers) + abs(self.prior_mean) * math.sqrt(summary.tasks)
        largest = (farthest / self.prior_sd) ** 2 / 2.0 + _MOST_LOG * summary.tasks
        if largest > _MOST_EVIDENCE:
            raise ParameterError(
                f"prior_mean={self.prior_mean!r} with prior_sd={self.prior_sd!r} is too narrow "
                f"a prior for {summary.tasks:,} tasks with {summary.answers:,} answers: their "
                "evidence may overflow. Take a larger prior_sd or a prior_mean nearer to 0."
            )

    @override
    def update(
        self,
        summary: Summary,
        tally: GaussianTally,
        state: VarianceState | None,
    ) -> tuple[VarianceState, float]:
        """Estimate the workers' variances.

        The objective is the lower bound of the log posterior of the variances that expectation
        maximisation climbs, per answer, up to a constant.
        """
        squared = tally.squared / _square_unit(summary)
        count = 2.0 * (self.alpha + 1.0) + tally.kept
        variance = (2.0 * self.beta + squared) / count
        climbed: npt.NDArray[np.float64] = -count / 2.0 * (np.log(variance) + 1.0)
        total = integer_sums.exact_sum(climbed, summary.workers) + tally.evidence[0] / EVIDENCE_ONE
        return VarianceState(variance=variance), float(total / summary.answers)
