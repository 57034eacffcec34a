"""GTM: a Gaussian model of truths and of the workers' errors."""

import math
from functools import cached_property
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_gaussian
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import Extension, LearningModel, State, Tally, known_or_median
from quietcrowd.inference.numbers.model import NumericMethod, NumericModel, SquaredErrors
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.validation import between, plain, positive

FARTHEST = 64.0
"""Limit of standardized answers in the kernel; only a known truth can exceed it."""

EVIDENCE_ONE = 2.0**24
"""Representation of 1.0 in sums of the evidence."""

LARGEST_MEAN = 2.0
"""Limit of the prior mean, so that errors stay below twice the range."""

SHAPES = (1e-4, 1e4)
"""Limits of alpha and of beta."""

PRIOR_SDS = (1e-2, 1e2)
"""Limits of the prior deviation, so that no posterior variance is far above a squared error."""

_MOST_EVIDENCE = 2.0**38
"""Limit of sums of the evidence: half of what 64 bits hold."""

_MOST_LOG = 64.0
"""Limit of 1 plus the log-ratio of a precision to that of the prior."""


@frozen(kw_only=True, eq=False)
class VarianceState(State):
    """Variance of each worker's errors.

    Attributes
    ----------
    variance : ndarray of float64, shape (workers,)
        Above 0, of standardized answers.
    """

    variance: npt.NDArray[np.float64]

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one has the median variance."""
        return type(self)(variance=self.variance[known_or_median(positions, self.variance)])


@frozen(kw_only=True, eq=False)
class GaussianTally(Tally):
    """Squared distances of each worker's standardized answers from the truths.

    Attributes
    ----------
    squared : ndarray of int64, shape (workers,)
        Expected squared distances, in units of `GTMModel.square_unit`.
    kept : ndarray of int64, shape (workers,)
        Number of answers without outliers.
    evidence : ndarray of int64, shape (1,)
        Log prior of the truths and entropy of their posteriors, in units of 2^-24.
    errors : SquaredErrors
        Squared distances of all answers, not standardized.
    """

    squared: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    errors: SquaredErrors

    @override
    def extended(self, extension: Extension) -> Self:
        return type(self)(
            squared=extension.sums(self.squared, attrgetter("square_unit")),
            kept=extension.sums(self.kept),
            evidence=self.evidence,
            errors=self.errors.extended(extension),
        )


@frozen(kw_only=True, eq=False, slots=False)
class GTMModel(
    NumericModel["GTM", VarianceState, GaussianTally],
    LearningModel["GTM", VarianceState, GaussianTally],
):
    """`GTM` bound to data."""

    @cached_property
    def square_unit(self) -> float:
        """Representation of 1.0 in sums of squared standardized distances."""
        return self.error_unit / (2.0 * FARTHEST) ** 2

    @override
    def weights(self, state: VarianceState | None) -> npt.NDArray[np.float64]:
        """Return the inverse variances, the greatest being 1."""
        if state is None:
            return np.ones(self.summary.workers)
        weights: npt.NDArray[np.float64] = state.variance.min() / state.variance
        return weights

    @override
    def sweep(
        self, partition: Partition, state: VarianceState | None, estimates: NumericEstimates | None
    ) -> GaussianTally:
        """Find the posteriors of the truths."""
        method = self.method
        self._check_evidence()
        first = method.beta / (method.alpha + 1.0)
        least = first if state is None else float(state.variance.min())
        squared, kept, errors = (np.zeros(self.summary.workers, np.int64) for _ in range(3))
        evidence = np.zeros(1, np.int64)
        infer_gaussian(
            partition.numbers,
            self.weights(state),
            1.0 / least,
            method.prior_mean,
            1.0 / method.prior_sd**2,
            method.outliers,
            self.task_unit / FARTHEST,
            self.square_unit,
            self.error_unit,
            squared,
            kept,
            evidence,
            errors,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return GaussianTally(
            squared=squared, kept=kept, evidence=evidence, errors=SquaredErrors(squared=errors)
        )

    def _check_evidence(self) -> None:
        """Raise ParameterError if sums of the evidence could overflow.

        The squares of a task's standardized answers sum to their number, so those of all posterior
        means sum to at most the number of answers, apart from the effect of the prior.
        """
        method, summary = self.method, self.summary
        farthest = math.sqrt(summary.answers) + abs(method.prior_mean) * math.sqrt(summary.tasks)
        largest = (farthest / method.prior_sd) ** 2 / 2.0 + _MOST_LOG * summary.tasks
        if largest > _MOST_EVIDENCE:
            raise ParameterError(
                "inference.prior-too-narrow",
                prior_mean=method.prior_mean,
                prior_sd=method.prior_sd,
                tasks=summary.tasks,
                answers=summary.answers,
            )

    @override
    def update(
        self, tally: GaussianTally, state: VarianceState | None
    ) -> tuple[VarianceState, float]:
        """Estimate the workers' variances.

        The objective is a lower bound of the log posterior of the variances, per answer, up to a
        constant.
        """
        method, summary = self.method, self.summary
        squared = tally.squared / self.square_unit
        count = 2.0 * (method.alpha + 1.0) + tally.kept
        variance = (2.0 * method.beta + squared) / count
        climbed: npt.NDArray[np.float64] = -count / 2.0 * (np.log(variance) + 1.0)
        total = integer_sums.exact_sum(climbed, summary.workers) + tally.evidence[0] / EVIDENCE_ONE
        return VarianceState(variance=variance), float(total / summary.answers)


@frozen(kw_only=True, slots=False)
class GTM(NumericMethod):
    """Truths and errors are Gaussian; expectation maximization finds the workers' variances.

    Every task is standardized by mean and standard deviation of its answers without outliers::

        truth_j  ~ N(prior_mean, prior_sd^2)
        a_uj     ~ N(truth_j, s_u^2),      s_u^2 ~ inverse gamma(alpha, beta)

        mean_j   = (prior_mean / prior_sd^2 + sum_u a_uj / s_u^2) / (1 / var_j)
        var_j    = 1 / (1 / prior_sd^2 + sum_u 1 / s_u^2)
        s_u^2    = (2 beta + sum_j (a_uj - mean_j)^2 + var_j) / (2 (alpha + 1) + n_u)

    and the truths are scaled back. Outliers count neither for the truth nor for their worker. The
    evidence cannot fall.

    Parameters
    ----------
    alpha, beta : float
        Parameters of the prior of a worker's variance; from 0.0001 to 10,000 each.
    prior_mean, prior_sd : float
        Parameters of the prior of a standardized truth, in standard deviations of the task's
        answers; from -2 to 2, and from 0.01 to 100.
    outliers : float
        Above 0 and finite. An answer is an outlier if its distance from the task's median exceeds
        this many standard deviations, estimated by 1.4826 times the median absolute deviation; none
        is if that is 0.

    Raises
    ------
    ParameterError
        If a parameter is out of its range; by `fit`, if the evidence of all tasks does not fit 64
        bits, because the prior is narrow and far away. At the limits of the parameters a million
        tasks of ten answers each fit.

    References
    ----------
    B. Zhao and J. Han, "A probabilistic model for estimating real-valued truth from conflicting
    sources", QDB 2012. ``research/docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> weighted, plain = GTM().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "gtm"
    errors_from_model: ClassVar[bool] = True
    alpha: float = field(default=10.0, converter=plain, validator=between(*SHAPES))
    beta: float = field(default=10.0, converter=plain, validator=between(*SHAPES))
    prior_mean: float = field(
        default=0.0, converter=plain, validator=between(-LARGEST_MEAN, LARGEST_MEAN)
    )
    prior_sd: float = field(default=1.0, converter=plain, validator=between(*PRIOR_SDS))
    outliers: float = field(default=10.0, converter=plain, validator=positive)

    @override
    def model_for(self, summary: Summary) -> GTMModel:
        return GTMModel(method=self, summary=summary)
