"""MOON: truths and workers' errors under Laplace noise of a known scale."""

import math
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd._core import infer_by_mixture
from quietcrowd.domains import check_numeric
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.model import LearningModel
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    NumericModel,
    SquaredErrors,
    log_share_weights,
    scaled_weights,
    unit_for,
)
from quietcrowd.inference.numbers.moon_updates import (
    LEAST_VARIANCE,
    ErrorModel,
    ErrorTally,
    TruthPrior,
    cautious_step,
    learn_truths,
    log_prior,
    scores_step,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates, Scatter
from quietcrowd.mechanisms.channels.base import Channel, known_grid, laplace_shift
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd.validation import at_least, between, one_of, plain

Variant: TypeAlias = Literal["mixture", "variance", "quadratic"]
Solver: TypeAlias = Literal["em", "lagrange"]

LARGEST_SCORE = 16.0
"""Limit of a report's score of ln(variance) in the kernel."""

LEAST_SIGMA = 1e-3
"""Least standard deviation of a worker's errors, as a fraction of the scale of the noise."""

LEAST_SHARE = 0.02
"""Least fraction of a worker's squared errors that is not noise."""

LEAST_POOLED = 0.025
"""Least mean squared error of all workers, as a fraction of the variance of the noise."""

LEAST_PRIOR, MOST_PRIOR = 1e-6, 1e6
"""Bounds of the parameters of the prior of variances."""

MOST_NOISE = 0.5
"""The noise hides the truths above this fraction of the variance of their estimates."""

REST = 1e-1
"""Precision of the truths in a pass, in standard errors; the last pass has `LAST_REST`."""

LAST_REST = 1e-6


@frozen(kw_only=True, eq=False, slots=False)
class MOONModel(
    NumericModel["MOON", ErrorModel, ErrorTally], LearningModel["MOON", ErrorModel, ErrorTally]
):
    """`MOON` bound to data; lengths are relative to the range of all reports."""

    @cached_property
    def _shift(self) -> Shift | None:
        return laplace_shift(self.summary.channel)

    @property
    @override
    def bounds(self) -> tuple[float, float] | None:
        """Ends of the public grid."""
        return None if self._shift is None else self._shift.grid.ends

    @cached_property
    def noise_scale(self) -> float:
        """Scale b of the noise; 0 without noise."""
        return 0.0 if self._shift is None else self._shift.scale / self.summary.extent

    @cached_property
    def variant(self) -> Variant:
        """Variant of the method; "quadratic" without noise."""
        return self.method.variant if self.noise_scale > 0 else "quadratic"

    @cached_property
    def noise_variance(self) -> float:
        """Variance of the noise that the variant models."""
        if self.variant == "quadratic" or self._shift is None:
            return 0.0
        extent, exponent = math.frexp(self.summary.extent)  # squares of wide ranges may overflow
        step = math.ldexp(self._shift.grid.step, -exponent)
        return step**2 * self._shift.noise.variance / extent**2

    @cached_property
    def square_unit(self) -> float:
        """Representation of 1.0 in sums of a worker's squared errors and scores."""
        return self.error_unit / LARGEST_SCORE**2

    @cached_property
    def truth_unit(self) -> float:
        """Representation of 1.0 in sums over tasks of expected squares of truths."""
        return unit_for(2 * self.summary.tasks)

    @cached_property
    def evidence_unit(self) -> float:
        """Representation of 1.0 in sums of log densities, which the scale of the noise limits."""
        return unit_for(self.summary.answers) / (2.0 / self.noise_scale + 64.0)

    @cached_property
    def _first_prior(self) -> TruthPrior:
        """A prior as wide as the domain, or none."""
        if self.method.truth_prior is None or self.variant != "mixture":
            return TruthPrior()
        low, high = self.scaled_bounds
        return TruthPrior(mean=(low + high) / 2.0, precision=12.0 / (high - low) ** 2)

    @cached_property
    def _least_variance(self) -> float:
        return max((LEAST_SIGMA * self.noise_scale) ** 2, LEAST_VARIANCE)

    def _usable(self, state: ErrorModel | None) -> ErrorModel | None:
        """Return the scaled state; None in the first pass, also if it starts from an estimate."""
        if state is None or math.isnan(state.pooled):
            return None
        return state.scaled_to(self.summary)

    @override
    def weights(self, state: ErrorModel | None) -> npt.NDArray[np.float64]:
        if state is None:
            return np.ones(self.summary.workers)
        if self.method.solver == "lagrange":
            return state.weights
        total = state.variance + self.noise_variance
        weights: npt.NDArray[np.float64] = total.min() / total
        return weights

    @override
    def sweep(
        self, partition: Partition, state: ErrorModel | None, estimates: NumericEstimates | None
    ) -> ErrorTally:
        """Find the truths."""
        state = self._usable(state)
        if self.variant == "mixture":
            return self._sweep_mixture(partition, state, estimates or NumericEstimates.empty(0))
        weights = self.weights(state)
        errors = self.tally_means(partition, weights, estimates, self.scaled_bounds)
        return ErrorTally.of_errors(errors)

    def _sweep_mixture(
        self, partition: Partition, state: ErrorModel | None, estimates: NumericEstimates
    ) -> ErrorTally:
        workers, scale, em = self.summary.workers, self.noise_scale, self.method.solver == "em"
        squared, evidence = np.zeros(workers, np.int64), np.zeros(1, np.int64)
        sums, truths = np.zeros((workers, 2), np.int64), np.zeros(3, np.int64)
        last = len(estimates.truths) > 0
        ones = np.ones(workers)
        sigmas = ones if state is None else np.sqrt(state.variance) / scale
        prior = self._first_prior if state is None else state.truths
        infer_by_mixture(
            partition.numbers,
            np.maximum(sigmas, LEAST_SIGMA),
            ones if em else self.weights(state),
            scale,
            prior.mean,
            prior.precision,
            *self.scaled_bounds,
            LAST_REST if last else REST,
            self.task_unit,
            self.error_unit,
            self.square_unit,
            self.evidence_unit,
            self.truth_unit,
            squared if state is None or last or not em else squared[:0],
            sums,
            evidence,
            truths,
            estimates.arrays,
        )
        own, information = np.ascontiguousarray(sums.T)
        return ErrorTally(
            errors=SquaredErrors(squared=squared),
            own=own,
            information=information,
            evidence=evidence,
            truths=truths,
        )

    @override
    def update(self, tally: ErrorTally, state: ErrorModel | None) -> tuple[ErrorModel, float]:
        """Learn the workers' errors.

        The objective of "em" is the log posterior per answer, up to a constant; that of "lagrange"
        is minus the weighted loss per answer.
        """
        em = self.method.solver == "em"
        solve = self._update_posterior if em else self._update_weights
        learned, objective = solve(tally, self._usable(state))
        if state is not None and math.isnan(state.pooled):  # continue from an earlier estimate
            learned = evolve(state.scaled_to(self.summary), pooled=learned.pooled)
            variance = np.maximum(learned.variance, self._least_variance)
            learned = evolve(learned, variance=variance)
        return learned, objective

    @override
    def update_partly(
        self, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        """Take the cautious step, since the scores are those of only a part of the answers."""
        before = None if state is None else evolve(state, objective=-np.inf)
        learned, objective = self.update(tally, before)
        return (cautious_step(learned) if self.method.solver == "em" else learned), objective

    def _pooled_variance(self, tally: ErrorTally) -> float:
        """Return the mean squared error of all workers without the noise."""
        squared, noise = tally.errors.squared / self.error_unit, self.noise_variance
        total = integer_sums.exact_sum(squared, self.summary.workers)
        return max(total / self.summary.answers - noise, LEAST_POOLED * noise, LEAST_VARIANCE)

    def _update_posterior(
        self, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        method, summary, widest = self.method, self.summary, self._first_prior
        if state is None:
            pooled = self._pooled_variance(tally)
            first = np.full(summary.workers, self.noise_scale**2 or pooled)
            state = evolve(ErrorModel.of(summary, first, pooled), truths=widest)
        variance = state.variance
        own, information, likelihood = self._expected(tally, variance)
        beta = (method.alpha + 1.0) * method.prior_share * state.pooled
        prior = -(method.alpha + 1.0) * np.log(variance) - beta / variance
        likelihood += log_prior(tally, self.truth_unit, state.truths)
        objective = (likelihood + integer_sums.exact_sum(prior, summary.workers)) / summary.answers
        if objective < state.objective and method.truth_prior is None:
            return cautious_step(state), objective
        count = summary.answers_per_worker.astype(np.float64) + 2.0 * (method.alpha + 1.0)
        moved = scores_step(state, own + 2.0 * beta, count, information + beta / variance)
        least, learns = self._least_variance, widest.precision
        learned = evolve(
            moved,
            variance=np.maximum(moved.variance, least),
            cautious=np.maximum(moved.cautious, least),
            truths=learn_truths(tally, self.truth_unit, widest) if learns else widest,
            objective=objective,
        )
        return learned, objective

    def _expected(
        self, tally: ErrorTally, variance: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        """Return each worker's expected squared errors and information, and the log likelihood."""
        if self.variant == "mixture":
            evidence = float(tally.evidence[0]) / self.evidence_unit
            return tally.own / self.square_unit, tally.information / self.square_unit, evidence
        squared = tally.errors.squared / self.error_unit
        answers = self.summary.answers_per_worker
        total = variance + self.noise_variance
        part = variance / total
        own = answers * variance * (1.0 - part) + part**2 * squared
        likelihood: npt.NDArray[np.float64] = -(answers * np.log(total) + squared / total) / 2.0
        whole = integer_sums.exact_sum(likelihood, self.summary.workers)
        return own, answers * part**2 / 2.0, whole

    def _update_weights(
        self, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        summary = self.summary
        answers = np.maximum(summary.answers_per_worker, 1)
        squared = tally.errors.squared / self.error_unit
        own = np.maximum(squared - self.noise_variance * answers, LEAST_SHARE * squared) / answers
        weights = scaled_weights(log_share_weights(own), summary)
        learned = ErrorModel.of(
            summary,
            np.maximum(own, self._least_variance),
            self._pooled_variance(tally) if state is None else state.pooled,
            weights,
        )
        cost: npt.NDArray[np.float64] = -weights * own * answers
        return learned, integer_sums.exact_sum(cost, summary.workers) / summary.answers

    @override
    def workers(
        self, tally: ErrorTally, state: ErrorModel | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        assert state is not None
        silent = self.summary.answers_per_worker == 0
        sigma = np.where(silent, np.nan, np.sqrt(state.variance) * self.summary.extent)
        return {**super().workers(tally, state), "error_sd": sigma}

    @override
    def warnings(
        self, tally: ErrorTally, state: ErrorModel | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn if truths differ little more than their standard errors."""
        assert state is not None
        summary = self.summary
        if self.noise_scale == 0 or scatter.inferred < 2:
            return []
        prior = state.truths
        noise, spread = scatter.noise * summary.extent, scatter.spread * summary.extent
        if prior.precision:
            spread = summary.extent / math.sqrt(prior.precision)
        low, high = self.scaled_bounds
        nothing_known = (high - low) * summary.extent / math.sqrt(12.0)
        if noise <= math.sqrt(MOST_NOISE) * min(spread, nothing_known):
            return []
        advice = (
            f"All truths are pulled towards {prior.mean * summary.extent + summary.middle:.4g}."
            if prior.precision
            else "MOON(truth_prior='normal') (on the command line: --method "
            "moon:truth_prior=normal), with variant 'mixture' and solver 'em', has a smaller error."
        )
        return [
            NoSignalWarning(
                "inference.noise-hides-numbers", noise=noise, spread=spread, advice=advice
            )
        ]


@frozen(kw_only=True, slots=False)
class MOON(NumericMethod):
    """Truths from reports with a worker's normal error, and Laplace noise of known scale b.

    ::

        report_uj = truth_j + normal(0, sigma_u^2) + Laplace(b)

    The variants differ in the model of the noise, the solvers in the objective:

    - ``"mixture"``: the exact distribution of the sum; ``"variance"``: the noise counts as another
      normal error of variance 2 b^2; ``"quadratic"``: the noise is ignored.
    - ``"em"``: the posterior of truths and variances, which have an inverse gamma prior. Truths are
      found by safe Newton steps, variances by scoring steps that are at least those of expectation
      maximization. ``"lagrange"``: the sum of ``w_u D_u`` subject to ``sum of exp(-w_u) = 1``, like
      CRH, with D_u the worker's squared errors minus those of the noise.

    Truths are kept between the bounds of the public grid. For the mixture the standard error of a
    truth is the inverse root of the curvature of its log likelihood, for known variances, and at
    most that of a uniform number between the bounds; for the other variants it is that of a
    weighted mean. ``workers`` has a column ``error_sd``. For non-private answers all variants are
    ``"quadratic"``.

    A `NoSignalWarning` reports that the noise hides how the truths differ; without a prior of the
    truths the error is then much larger. A `NoiseIgnoredWarning` reports that
    values filled in for unanswered tasks count as answers, and bias the truths.

    Parameters
    ----------
    variant : {"mixture", "variance", "quadratic"}
        Model of the noise.
    solver : {"em", "lagrange"}
        Objective.
    alpha : float
        Parameter of the inverse gamma prior of a variance, 1e-6 to 1e6: the prior counts as
        ``2 (alpha + 1)`` answers. Only for the solver "em".
    prior_share : float
        Mode of the prior, as a fraction of the workers' mean squared error, 1e-6 to 1e6. Only for
        the solver "em".
    truth_prior : {None, "normal"}
        Prior of the truths: uniform between the bounds, or a normal distribution whose mean and
        variance are learned. The latter shrinks the truths towards the mean, almost to a constant
        if the noise hides them; standard errors are those of the posterior. "normal" requires
        variant "mixture" and solver "em", and is the default there. Abstract and pseudocode of the
        paper have no such prior.
    tol : float
        As for every method.

    References
    ----------
    "Mixture Distribution-Based Truth Discovery Algorithm under Local Differential Privacy", Journal
    of Electronics & Information Technology 2025, doi:10.11999/JEIT240936 (abstract and pseudocode).
    Its equations 18 and 24, and the solver "em": ``research/docs/theory/moon.md``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> from quietcrowd.exceptions import SimulatedNoiseWarning
    >>> from quietcrowd.inference import CRH, ignores_noise
    >>> warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=10.0, fill=None)
    >>> reports = mechanism.simulate(crowd.answers, random_state=1)
    >>> aware = MOON().fit(reports)
    >>> with ignores_noise():
    ...     naive = CRH().fit(reports)
    >>> qc.mean_absolute_error(aware, crowd.truths) < qc.mean_absolute_error(naive, crowd.truths)
    True
    """

    name: ClassVar[str] = "moon"
    counts_filled: ClassVar[bool] = True
    variant: Variant = field(default="mixture", validator=one_of(*get_args(Variant)))
    solver: Solver = field(default="em", validator=one_of(*get_args(Solver)))
    alpha: float = field(default=0.5, converter=plain, validator=between(LEAST_PRIOR, MOST_PRIOR))
    prior_share: float = field(
        default=0.2, converter=plain, validator=between(LEAST_PRIOR, MOST_PRIOR)
    )
    truth_prior: Literal["normal"] | None = field(validator=one_of(None, "normal"))
    tol: float = field(default=1e-7, converter=plain, validator=at_least(0))

    @truth_prior.default
    def _usual_prior(self) -> Literal["normal"] | None:
        return "normal" if self._takes_prior else None

    def __attrs_post_init__(self) -> None:
        if self.truth_prior and not self._takes_prior:
            raise ParameterError(
                "inference.truth-prior-needs-em", variant=self.variant, solver=self.solver
            )

    @property
    def _takes_prior(self) -> bool:
        return (self.variant, self.solver) == ("mixture", "em")

    @override
    def reads_reports(self, channel: Channel) -> bool:
        return self.variant == "quadratic" or laplace_shift(channel) is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        known = laplace_shift(mechanism.worker_channel)
        return self.variant != "quadratic" and known is not None

    @override
    def check_mechanism(self, mechanism: Any) -> None:
        check_numeric(mechanism.domain, type(self).__name__)
        if not self.reads_reports(mechanism.channel):
            known = known_grid(mechanism.worker_channel) is not None
            other = "NoiseAware (on the command line: --method noise-aware)" if known else "Mean"
            raise AnswerError(
                "inference.laplace-reports-needed",
                variant=self.variant,
                type_name=type(mechanism).__name__,
                other=other,
            )

    @override
    def model_for(self, summary: Summary) -> MOONModel:
        return MOONModel(method=self, summary=summary)
