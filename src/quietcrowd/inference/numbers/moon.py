"""MOON: truths and workers' errors under Laplace noise of a known scale."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd._core import infer_by_mixture
from quietcrowd.domains import check_numeric
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    SquaredErrors,
    error_unit,
    log_share_weights,
    scaled_weights,
    sweep_means,
)
from quietcrowd.inference.numbers.moon_updates import (
    LEAST_VARIANCE,
    ErrorModel,
    ErrorTally,
    TruthPrior,
    cautious_step,
    evidence_unit,
    learn_truths,
    log_prior,
    noise_scale,
    noise_variance,
    pooled_variance,
    scores_step,
    slope_unit,
    square_unit,
    truth_unit,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, Scatter
from quietcrowd.mechanisms.channels.base import Channel, known_grid, laplace_shift
from quietcrowd.validation import at_least, check_real, one_of, plain

__all__ = ["MOON"]

Variant: TypeAlias = Literal["mixture", "variance", "quadratic"]
Solver: TypeAlias = Literal["em", "lagrange"]

LEAST_SIGMA = 1e-3
"""A worker's own errors are taken to be at least this part of the scale of the noise."""

LEAST_SHARE = 0.02
"""Of a worker's squared errors at least this part is taken to be its own."""

LEAST_PRIOR, MOST_PRIOR = 1e-6, 1e6
"""Bounds of the parameters of the prior of variances."""

MOST_NOISE = 0.5
"""The noise hides the truths where it is more than this part of the variance of their estimates."""

REST = 1e-1
"""A pass finds truths to this part of a standard error; the last one to far less."""

LAST_REST = 1e-6


def _check_prior(_: object, attribute: Any, value: Any) -> None:
    check_real(attribute.name, value, 0)
    if not LEAST_PRIOR <= value <= MOST_PRIOR:
        raise ParameterError(
            f"{attribute.name} must be from {LEAST_PRIOR:g} to {MOST_PRIOR:g}; got {value!r}"
        )


@frozen(kw_only=True, slots=False)
class MOON(NumericMethod[ErrorModel, ErrorTally], IterativeInference[ErrorModel, ErrorTally]):
    """Truths from reports that hold a worker's own normal error and Laplace noise of known scale b.

    ::

        report_uj = truth_j + normal(0, sigma_u^2) + Laplace(b)

    The variants differ in how they treat the noise, the solvers in what they climb:

    - ``"mixture"``: the law of the sum of both, exactly; ``"variance"``: the noise is taken for one
      more normal error of variance 2 b^2; ``"quadratic"``: the noise is ignored.
    - ``"em"``: the posterior of truths and variances, which have an inverse gamma prior. Truths by
      safe Newton steps, variances by steps of the scores that are at least those of expectation
      maximisation. ``"lagrange"``: the sum of ``w_u D_u`` where ``sum of exp(-w_u) = 1``, as CRH,
      with D_u the worker's squared errors without what the noise adds to them.

    Truths are kept between the bounds of the public grid. By the mixture the standard error of a
    truth is one over the root of the curvature of its log likelihood, the variances taken as known,
    and at most that of a number that is even between the bounds; by the other variants it is that
    of a weighted mean. ``workers`` has a column ``sigma``. Plain answers have no noise: all
    variants are then ``"quadratic"``.

    Where the noise hides how the truths differ, a `NoSignalWarning` says so; without a prior of the
    truths estimates are then much farther from them. Where unanswered tasks are
    reported too, what was filled in counts as an answer, and draws the truths towards it: a
    `NoiseIgnoredWarning` says so.

    Parameters
    ----------
    variant : {"mixture", "variance", "quadratic"}
        How the noise is treated.
    solver : {"em", "lagrange"}
        What is climbed.
    alpha : float
        Of the inverse gamma prior of a variance, 1e-6 to 1e6: the prior counts as
        ``2 (alpha + 1)`` answers. Of the solver "em" alone.
    prior_share : float
        The mode of the prior, as a share of the mean of the workers' squared own errors, 1e-6 to
        1e6. Of the solver "em" alone.
    truth_prior : {None, "normal"}
        What is known of the truths: nothing but their bounds, or that they are drawn from a normal
        law, whose mean and variance are learnt. Truths are then drawn towards that mean, the more
        the less is known of them: where the noise hides the truths, they are nearly constant, and
        standard errors are those of the posterior. "normal" goes with variant "mixture" and solver
        "em" alone, and is the default there; with others it is None. The abstract and
        the pseudo-code of the paper name no such prior.
    tolerance : float
        As of every method.

    References
    ----------
    "Mixture Distribution-Based Truth Discovery Algorithm under Local Differential Privacy", Journal
    of Electronics & Information Technology 2025, doi:10.11999/JEIT240936. We have its abstract and
    pseudo-code. What its equations 18 and 24 may be, and the solver "em":
    ``docs/theory/moon.md``.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.SimulatedNoiseWarning)  # simulated on purpose
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> mechanism = qc.LaplacePerturbation(domain=crowd.answers.domain, epsilon=10.0, fill=None)
    >>> reports = mechanism.randomize(crowd.answers, rng=np.random.default_rng(1))
    >>> aware = MOON().fit(reports)
    >>> with qc.noise_ignored():
    ...     naive = qc.CRH().fit(reports)
    >>> qc.mean_absolute_error(aware, crowd.truths) < qc.mean_absolute_error(naive, crowd.truths)
    True
    """

    name: ClassVar[str] = "moon"
    counts_filled: ClassVar[bool] = True
    variant: Variant = field(default="mixture", validator=one_of(*get_args(Variant)))
    solver: Solver = field(default="em", validator=one_of(*get_args(Solver)))
    alpha: float = field(default=0.5, converter=plain, validator=_check_prior)
    prior_share: float = field(default=0.2, converter=plain, validator=_check_prior)
    truth_prior: Literal["normal"] | None = field(validator=one_of(None, "normal"))
    tolerance: float = field(default=1e-7, converter=plain, validator=at_least(0))

    @truth_prior.default
    def _usual_prior(self) -> Literal["normal"] | None:
        return "normal" if self._takes_prior else None

    def __attrs_post_init__(self) -> None:
        if self.truth_prior and not self._takes_prior:
            raise ParameterError(
                "truth_prior='normal' goes with variant='mixture' and solver='em'; "
                f"got variant={self.variant!r}, solver={self.solver!r}"
            )

    @property
    def _takes_prior(self) -> bool:
        return (self.variant, self.solver) == ("mixture", "em")

    @override
    def reads_reports(self, channel: Channel) -> bool:
        """Return whether the noise is Laplace noise of known scale, or ignored anyway."""
        return self.variant == "quadratic" or laplace_shift(channel) is not None

    @override
    def models_noise(self, mechanism: Any) -> bool:
        """Return whether the variant knows of the noise."""
        known = laplace_shift(mechanism.worker_channel)
        return self.variant != "quadratic" and known is not None

    @override
    def bounds(self, channel: Channel | None) -> tuple[float, float] | None:
        """Return the ends of the public grid."""
        shift = laplace_shift(channel)
        return None if shift is None else shift.grid.ends

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports without noise of known scale."""
        check_numeric(mechanism.domain, type(self).__name__)
        if not self.reads_reports(mechanism.channel):
            known = known_grid(mechanism.worker_channel) is not None
            other = "NoiseAware (on the command line: --method noise-aware)" if known else "Mean"
            raise AnswerError(
                f"MOON(variant={self.variant!r}) needs reports with Laplace noise of known scale, "
                f"as those of LaplacePerturbation; got those of {type(mechanism).__name__}. For "
                f"them take {other}, or variant='quadratic'."
            )

    def _treats(self, summary: Summary) -> Variant:
        """Return the variant that there is noise for."""
        return self.variant if noise_scale(summary) > 0 else "quadratic"

    def _noise_variance(self, summary: Summary) -> float:
        """Return the variance of the noise that the variant knows of, scaled."""
        return 0.0 if self._treats(summary) == "quadratic" else noise_variance(summary)

    @override
    def weights(self, summary: Summary, state: ErrorModel | None) -> npt.NDArray[np.float64]:
        if state is None:
            return np.ones(summary.workers)
        if self.solver == "lagrange":
            return state.weights
        total = state.variance + self._noise_variance(summary)
        weights: npt.NDArray[np.float64] = total.min() / total
        return weights

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: ErrorModel | None,
        estimates: NumericEstimates | None,
    ) -> ErrorTally:
        """Find the truths and what they tell of the workers."""
        state = _usable(state, summary)
        if self._treats(summary) == "mixture":
            room = estimates or NumericEstimates.empty(0)
            return self._sweep_mixture(partition, summary, state, room)
        weights, bounds = self.weights(summary, state), self.scaled_bounds(summary)
        return ErrorTally.of_errors(sweep_means(partition, summary, weights, estimates, bounds))

    def _sweep_mixture(
        self,
        partition: Partition,
        summary: Summary,
        state: ErrorModel | None,
        room: NumericEstimates,
    ) -> ErrorTally:
        squared, evidence = np.zeros(summary.workers, np.int64), np.zeros(1, np.int64)
        sums = np.zeros((summary.workers, 2), np.int64)
        needed = state is None or len(room.truths) > 0 or self.solver == "lagrange"
        scale = noise_scale(summary)
        ones = np.ones(summary.workers)
        sigmas = ones if state is None else np.sqrt(state.variance) / scale
        low, high = self.scaled_bounds(summary)
        prior = self._first_prior(summary) if state is None else state.truths
        truths = np.zeros(3, np.int64)
        infer_by_mixture(
            partition.numbers,
            np.maximum(sigmas, LEAST_SIGMA),
            ones if self.solver == "em" else self.weights(summary, state),
            scale,
            prior.mean,
            prior.precision,
            low,
            high,
            LAST_REST if len(room.truths) else REST,
            slope_unit(summary),
            error_unit(summary),
            square_unit(summary),
            evidence_unit(summary, scale),
            truth_unit(summary),
            squared if needed else squared[:0],
            sums,
            evidence,
            truths,
            room.arrays,
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
    def update(
        self, summary: Summary, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        """Learn of the workers' errors.

        The objective of "em" is the log posterior per answer, up to a constant; of "lagrange" minus
        the weighted loss per answer.
        """
        solve = self._update_posterior if self.solver == "em" else self._update_weights
        model, objective = solve(summary, tally, _usable(state, summary))
        if state is not None and math.isnan(state.pooled):  # of an earlier estimate: go on from it
            model = evolve(state.scaled_to(summary), pooled=model.pooled)
            least = self._least_variance(summary)
            model = evolve(model, variance=np.maximum(model.variance, least))
        return model, objective

    @override
    def update_partly(
        self, summary: Summary, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        """Take the cautious step.

        The longer one goes by the slope at the state of the pass, which is that of a part alone.
        """
        before = None if state is None else evolve(state, objective=-np.inf)
        model, objective = self.update(summary, tally, before)
        return (cautious_step(model) if self.solver == "em" else model), objective

    def _update_posterior(
        self, summary: Summary, tally: ErrorTally, state: ErrorModel | None
    ) -> tuple[ErrorModel, float]:
        if state is None:
            pooled = pooled_variance(summary, tally, self._noise_variance(summary))
            first = noise_scale(summary) ** 2 or pooled
            state = evolve(
                ErrorModel.of(summary, np.full(summary.workers, first), pooled),
                truths=self._first_prior(summary),
            )
        variance = state.variance
        own, information, likelihood = self._expected(summary, tally, variance)
        beta = (self.alpha + 1.0) * self.prior_share * state.pooled
        prior = -(self.alpha + 1.0) * np.log(variance) - beta / variance
        likelihood += log_prior(summary, tally, state.truths)
        objective = (likelihood + integer_sums.exact_sum(prior, summary.workers)) / summary.answers
        if objective < state.objective and self.truth_prior is None:
            return cautious_step(state), objective
        count = summary.answers_per_worker.astype(np.float64) + 2.0 * (self.alpha + 1.0)
        moved = scores_step(state, own + 2.0 * beta, count, information + beta / variance)
        least, widest = self._least_variance(summary), self._first_prior(summary)
        model = evolve(
            moved,
            variance=np.maximum(moved.variance, least),
            cautious=np.maximum(moved.cautious, least),
            truths=learn_truths(summary, tally, widest) if widest.precision else widest,
            objective=objective,
        )
        return model, objective

    def _first_prior(self, summary: Summary) -> TruthPrior:
        """Return a prior as wide as the domain, or none."""
        if self.truth_prior is None or self._treats(summary) != "mixture":
            return TruthPrior()
        low, high = self.scaled_bounds(summary)
        return TruthPrior(mean=(low + high) / 2.0, precision=12.0 / (high - low) ** 2)

    def _expected(
        self, summary: Summary, tally: ErrorTally, variance: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
        """Return each worker's expected squared own errors and information, and the likelihood."""
        if self._treats(summary) == "mixture":
            unit = square_unit(summary)
            evidence = float(tally.evidence[0]) / evidence_unit(summary, noise_scale(summary))
            return tally.own / unit, tally.information / unit, evidence
        squared = tally.errors.squared / error_unit(summary)
        answers = summary.answers_per_worker
        total = variance + self._noise_variance(summary)
        part = variance / total
        own = answers * variance * (1.0 - part) + part**2 * squared
        likelihood: npt.NDArray[np.float64] = -(answers * np.log(total) + squared / total) / 2.0
        return own, answers * part**2 / 2.0, integer_sums.exact_sum(likelihood, summary.workers)

    def _update_weights(
        self,
        summary: Summary,
        tally: ErrorTally,
        state: ErrorModel | None,
    ) -> tuple[ErrorModel, float]:
        answers = np.maximum(summary.answers_per_worker, 1)
        squared = tally.errors.squared / error_unit(summary)
        noise = self._noise_variance(summary)
        own = np.maximum(squared - noise * answers, LEAST_SHARE * squared) / answers
        weights = scaled_weights(log_share_weights(own), summary)
        model = ErrorModel.of(
            summary,
            np.maximum(own, self._least_variance(summary)),
            pooled_variance(summary, tally, noise) if state is None else state.pooled,
            weights,
        )
        cost: npt.NDArray[np.float64] = -weights * own * answers
        return model, integer_sums.exact_sum(cost, summary.workers) / summary.answers

    def _least_variance(self, summary: Summary) -> float:
        return max((LEAST_SIGMA * noise_scale(summary)) ** 2, LEAST_VARIANCE)

    @override
    def qualities(
        self, summary: Summary, tally: ErrorTally, state: ErrorModel | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        assert state is not None
        silent = summary.answers_per_worker == 0
        sigma = np.where(silent, np.nan, np.sqrt(state.variance) * summary.extent)
        return {**super().qualities(summary, tally, state), "sigma": sigma}

    @override
    def signal_warnings(
        self, summary: Summary, tally: ErrorTally, state: ErrorModel | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn where truths differ little more than their standard errors say they would anyway."""
        assert state is not None
        if noise_scale(summary) == 0 or scatter.inferred < 2:
            return []
        prior = state.truths
        noise, spread = scatter.noise * summary.extent, scatter.spread * summary.extent
        if prior.precision:
            spread = summary.extent / math.sqrt(prior.precision)
        low, high = self.scaled_bounds(summary)
        nothing_known = (high - low) * summary.extent / math.sqrt(12.0)
        if noise <= math.sqrt(MOST_NOISE) * min(spread, nothing_known):
            return []
        advice = (
            f"All truths are drawn towards {prior.mean * summary.extent + summary.middle:.4g}."
            if prior.precision
            else "MOON(truth_prior='normal') (on the command line: --method "
            "moon:truth_prior=normal), of variant 'mixture' and solver 'em', is nearer to them."
        )
        return [
            NoSignalWarning(
                "the noise hides much of how the truths differ: a standard error is about "
                f"{noise:.3g}, and the truths spread by about {spread:.3g}. It takes more workers, "
                f"or a larger epsilon. {advice}"
            )
        ]


def _usable(state: ErrorModel | None, summary: Summary) -> ErrorModel | None:
    """Return what a pass goes by: None at the first, also where it starts from an estimate."""
    if state is None or math.isnan(state.pooled):
        return None
    return state.scaled_to(summary)
