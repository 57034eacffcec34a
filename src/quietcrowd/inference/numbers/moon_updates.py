"""What MOON believes of the workers, and what a pass tells of them."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.model import SquaredErrors, error_unit, unit_for
from quietcrowd.inference.partition import Extension, Summary
from quietcrowd.inference.passes import State, Tally, known_or_median
from quietcrowd.mechanisms.channels.base import laplace_shift

__all__ = [
    "LEAST_VARIANCE",
    "ErrorModel",
    "ErrorTally",
    "TruthPrior",
    "cautious_step",
    "evidence_unit",
    "learn_truths",
    "log_prior",
    "noise_scale",
    "noise_variance",
    "pooled_variance",
    "scores_step",
    "slope_unit",
    "square_unit",
    "truth_unit",
]

LARGEST_SCORE = 16.0
"""The kernel cuts a report's score of ln(variance) at this."""

MOST_HASTE = 64.0
"""A step of the scores is at most this many steps of expectation maximisation."""


@frozen(kw_only=True)
class TruthPrior:
    """A normal law of the truths; without a precision, none.

    Attributes
    ----------
    mean, precision : float
        In the range of all reports, 0 being its middle, and in one over its square.
    """

    mean: float = 0.0
    precision: float = 0.0


@frozen(kw_only=True, eq=False)
class ErrorModel(State):
    """How large each worker's own errors are believed to be, and what its reports count.

    Attributes
    ----------
    extent, middle : float
        Length and middle of the range that the state is scaled by.
    variance : ndarray of float64, shape (workers,)
        Of its own errors, without the noise; in the squared range.
    weights : ndarray of float64, shape (workers,)
        What its log likelihood counts; above 0, the greatest is 1.
    pooled : float
        Mean of the squared own errors of all workers, at the first pass; NaN where that is yet to
        be made: a prior comes from the reports at hand, not from those of an earlier estimate.
    truths : TruthPrior
        What is believed of the truths beforehand.
    step : ndarray of float64, shape (workers,)
        By how much the logarithm of the variance was changed last.
    haste : ndarray of float64, shape (workers,)
        How many steps of expectation maximisation a step may be at most; at least 1.
    cautious : ndarray of float64, shape (workers,)
        The variance after a step of expectation maximisation alone, which cannot lower the
        objective: what to go back to where the longer step does.
    objective : float
        Before the step.
    """

    extent: float
    middle: float
    variance: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    pooled: float
    truths: TruthPrior
    step: npt.NDArray[np.float64]
    haste: npt.NDArray[np.float64]
    cautious: npt.NDArray[np.float64]
    objective: float = -np.inf

    @classmethod
    def of(
        cls,
        summary: Summary,
        variance: npt.NDArray[np.float64],
        pooled: float,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Self:
        """Return a model of which nothing was changed yet."""
        return cls(
            extent=summary.extent,
            middle=summary.middle,
            variance=variance,
            weights=np.ones(len(variance)) if weights is None else weights,
            pooled=pooled,
            truths=TruthPrior(),
            step=np.zeros(len(variance)),
            haste=np.full(len(variance), MOST_HASTE),
            cautious=variance,
        )

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is as the one in the middle."""
        chosen = known_or_median(positions, self.variance)
        variance = self.variance[chosen]
        return evolve(
            self,
            variance=variance,
            weights=self.weights[chosen],
            pooled=np.nan,
            step=np.zeros(len(chosen)),
            haste=np.full(len(chosen), MOST_HASTE),
            cautious=variance,
            objective=-np.inf,
        )

    def scaled_to(self, summary: Summary) -> Self:
        """Return the same beliefs, scaled by the range of other reports."""
        if (self.extent, self.middle) == (summary.extent, summary.middle):
            return self
        stretch = self.extent / summary.extent
        mean = (self.truths.mean * self.extent + self.middle - summary.middle) / summary.extent
        return evolve(
            self,
            extent=summary.extent,
            middle=summary.middle,
            variance=self.variance * stretch**2,
            cautious=self.cautious * stretch**2,
            truths=TruthPrior(mean=mean, precision=self.truths.precision / stretch**2),
        )


@frozen(kw_only=True, eq=False)
class ErrorTally(Tally):
    """What a pass tells of the workers' errors.

    Attributes
    ----------
    errors : SquaredErrors
        Squared distances of the reports from the truths. 0 in a pass of the mixture by "em" that
        is neither the first nor the last: nothing is learnt from them.
    own : ndarray of int64, shape (workers,)
        Expected squares of the workers' own errors, in units of `square_unit`.
    information : ndarray of int64, shape (workers,)
        Squares of the scores of the logarithms of the variances, in the same units.
    evidence : ndarray of int64, shape (1,)
        Log densities of the reports, in units of `evidence_unit`.
    """

    errors: SquaredErrors
    own: npt.NDArray[np.int64]
    information: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    truths: npt.NDArray[np.int64]

    @classmethod
    def of_errors(cls, errors: SquaredErrors) -> Self:
        """Return a tally that knows no more than the squared distances."""
        nothing = np.zeros_like(errors.squared)
        return cls(
            errors=errors,
            own=nothing,
            information=nothing,
            evidence=np.zeros(1, np.int64),
            truths=np.zeros(3, np.int64),
        )

    @override
    def extended(self, extension: Extension) -> Self:
        """Return the same for more answers.

        The evidence keeps the units of the old range, which no difference of two shows.
        """
        shift = (extension.old.middle - extension.new.middle) / extension.new.extent
        total, squares = (float(part) / truth_unit(extension.old) for part in self.truths[:2])
        count = int(self.truths[2])
        moved = np.array(
            [
                extension.stretch * total + shift * count,
                extension.stretch**2 * squares
                + 2.0 * extension.stretch * shift * total
                + shift**2 * count,
            ]
        )
        rounded = np.rint(moved * truth_unit(extension.new)).astype(np.int64)
        evidence = self.evidence
        if noise_scale(extension.old) > 0:
            evidence = extension.total(evidence, lambda of: evidence_unit(of, noise_scale(of)))
        return type(self)(
            errors=self.errors.extended(extension),
            own=extension.sums(self.own, square_unit, power=2),
            information=extension.sums(self.information, square_unit),
            evidence=evidence,
            truths=np.array([*rounded, count], np.int64),
        )


def square_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums of squares of a worker's own errors and scores."""
    return error_unit(summary) / LARGEST_SCORE**2


def noise_scale(summary: Summary) -> float:
    """Return the scale b of the noise in the range of all reports; 0 without noise."""
    shift = laplace_shift(summary.channel)
    return 0.0 if shift is None else shift.scale / summary.extent


def truth_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums over tasks of expected squares of truths."""
    return unit_for(2 * summary.tasks)


def evidence_unit(summary: Summary, scale: float) -> float:
    """Return what 1.0 is stored as: a log density is at most so large, in units of b."""
    return unit_for(summary.answers) / (2.0 / scale + 64.0)


def slope_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in sums over a task's answers."""
    return unit_for(summary.longest_task)


def noise_variance(summary: Summary) -> float:
    """Return the variance of the noise in the squared range of all reports; 0 without noise."""
    shift = laplace_shift(summary.channel)
    if shift is None:
        return 0.0
    extent, exponent = math.frexp(summary.extent)  # squares of wide ranges have no room
    step = math.ldexp(shift.grid.step, -exponent)
    return step**2 * shift.noise.variance / extent**2


LEAST_VARIANCE = 1e-12
"""Of the squared range of all reports: a variance is taken to be at least this part of it."""

FARTHEST_STEP = 1.0
"""A step of the scores changes the logarithm of a variance by no more than this."""

LEAST_POOLED = 0.025
"""The workers' mean squared own error is at least this part of the variance of the noise."""


def log_prior(summary: Summary, tally: ErrorTally, prior: TruthPrior) -> float:
    """Return the log prior of the truths, up to a constant, their posterior variances included."""
    if prior.precision == 0:
        return 0.0
    total, squares = (float(part) / truth_unit(summary) for part in tally.truths[:2])
    count = int(tally.truths[2])
    distance = squares - 2.0 * prior.mean * total + count * prior.mean**2
    return (count * math.log(prior.precision) - prior.precision * distance) / 2.0


def learn_truths(summary: Summary, tally: ErrorTally, first: TruthPrior) -> TruthPrior:
    """Return the normal law that the truths seem to be drawn from.

    As if one more task was drawn from the `first` prior, so that a single task does not tell how
    truths vary.
    """
    count = int(tally.truths[2]) + 1
    total, squares = (float(part) / truth_unit(summary) for part in tally.truths[:2])
    mean = (total + first.mean) / count
    square = (squares + first.mean**2 + 1.0 / first.precision) / count
    return TruthPrior(mean=mean, precision=1.0 / max(square - mean**2, LEAST_VARIANCE))


def pooled_variance(summary: Summary, tally: ErrorTally, noise: float) -> float:
    """Return the mean of the squared own errors of all workers, at least a small part of the noise.

    `noise` is the variance of the noise that is in the reports.
    """
    total = integer_sums.exact_sum(tally.errors.squared / error_unit(summary), summary.workers)
    return max(total / summary.answers - noise, LEAST_POOLED * noise, LEAST_VARIANCE)


def scores_step(
    state: ErrorModel,
    squares: npt.NDArray[np.float64],
    count: npt.NDArray[np.float64],
    information: npt.NDArray[np.float64],
) -> ErrorModel:
    """Return variances after a step of the scores, at least that of expectation maximisation.

    That sets the variance to ``squares / count``. The score of ln(variance) is
    ``(squares / variance - count) / 2``; over the information it is the step of the scores. A
    worker whose step turns round has gone too far: its haste is halved.
    """
    cautious = squares / count
    shortest = np.log(cautious / state.variance)
    turned = shortest * state.step < 0
    haste = np.where(turned, np.maximum(state.haste / 2.0, 1.0), state.haste)
    with np.errstate(divide="ignore", over="ignore"):
        longest = np.abs((squares / state.variance - count) / 2.0 / information)
    size = np.minimum(longest, np.minimum(haste * np.abs(shortest), FARTHEST_STEP))
    step = np.sign(shortest) * np.maximum(size, np.abs(shortest))
    variance = state.variance * np.exp(step)
    return evolve(state, variance=variance, cautious=cautious, step=step, haste=haste)


def cautious_step(state: ErrorModel) -> ErrorModel:
    """Return the model after the cautious step, where the longer one lowered the objective."""
    return evolve(
        state,
        variance=state.cautious,
        step=np.zeros_like(state.step),
        haste=np.maximum(state.haste / 4.0, 1.0),
    )
