"""State, tally and update steps of MOON."""

import math
from operator import attrgetter
from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.inference.model import Extension, State, Tally, known_or_median
from quietcrowd.inference.numbers.model import SquaredErrors
from quietcrowd.inference.partition import Summary

MOST_HASTE = 64.0
"""Largest scoring step, in steps of expectation maximization."""


@frozen(kw_only=True)
class TruthPrior:
    """A normal prior of the truths, relative to the range of all reports; none if flat."""

    mean: float = 0.0
    precision: float = 0.0


@frozen(kw_only=True, eq=False)
class ErrorModel(State):
    """Variance of each worker's errors, and weight of its reports.

    The state is scaled by `extent` and `middle` of the range. `variance` is that of errors without
    the noise, in the squared range; the greatest of the `weights` is 1. `pooled` is the mean
    squared error of all workers in the first pass; NaN before it, also if the state is from an
    earlier estimate, since the prior comes from the reports at hand. `step` is the last change of
    the logarithm of the variance, and `haste`, at least 1, limits the next, in steps of expectation
    maximization. `cautious` is the variance after such a step, to return to if the longer step
    lowers the `objective` from before the step.
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
        """Return a first state."""
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
        """Return the state of other workers; a new one has the median variance."""
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
        """Return the same state, scaled by the range of other reports."""
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
    """Statistics of the workers' errors.

    `errors` are 0 in a pass of the mixture by "em" that is neither the first nor the last. `own`
    are expected squared errors without the noise, and `information` squared scores of the
    logarithms of the variances, in units of `MOONModel.square_unit`. `evidence`, shape (1,), has
    log densities of the reports, in units of `MOONModel.evidence_unit`. `truths` are the sums of
    the truths and of their expected squares, in units of `MOONModel.truth_unit`, and the number of
    tasks.
    """

    errors: SquaredErrors
    own: npt.NDArray[np.int64]
    information: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.int64]
    truths: npt.NDArray[np.int64]

    @classmethod
    def of_errors(cls, errors: SquaredErrors) -> Self:
        """Return a tally of squared distances only."""
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
        """Return the tally for more answers; the evidence stays relative to the old range."""
        old, new = extension.old, extension.new
        shift = (old.summary.middle - new.summary.middle) / new.summary.extent
        total, squares = (float(part) / old.truth_unit for part in self.truths[:2])
        count = int(self.truths[2])
        moved = np.array(
            [
                extension.stretch * total + shift * count,
                extension.stretch**2 * squares
                + 2.0 * extension.stretch * shift * total
                + shift**2 * count,
            ]
        )
        rounded = np.rint(moved * new.truth_unit).astype(np.int64)
        evidence = self.evidence
        if old.noise_scale > 0:
            evidence = extension.total(evidence, attrgetter("evidence_unit"))
        return type(self)(
            errors=self.errors.extended(extension),
            own=extension.sums(self.own, attrgetter("square_unit"), power=2),
            information=extension.sums(self.information, attrgetter("square_unit")),
            evidence=evidence,
            truths=np.array([*rounded, count], np.int64),
        )


LEAST_VARIANCE = 1e-12
"""Least variance, as a fraction of the squared range of all reports."""

FARTHEST_STEP = 1.0
"""Largest change of the logarithm of a variance in a scoring step."""


def log_prior(tally: ErrorTally, unit: float, prior: TruthPrior) -> float:
    """Return the log prior of the truths, with their posterior variances, up to a constant."""
    if prior.precision == 0:
        return 0.0
    total, squares = (float(part) / unit for part in tally.truths[:2])
    count = int(tally.truths[2])
    distance = squares - 2.0 * prior.mean * total + count * prior.mean**2
    return (count * math.log(prior.precision) - prior.precision * distance) / 2.0


def learn_truths(tally: ErrorTally, unit: float, first: TruthPrior) -> TruthPrior:
    """Return the normal distribution of the truths and of one more task from the `first` prior."""
    count = int(tally.truths[2]) + 1
    total, squares = (float(part) / unit for part in tally.truths[:2])
    mean = (total + first.mean) / count
    square = (squares + first.mean**2 + 1.0 / first.precision) / count
    return TruthPrior(mean=mean, precision=1.0 / max(square - mean**2, LEAST_VARIANCE))


def scores_step(
    state: ErrorModel,
    squares: npt.NDArray[np.float64],
    count: npt.NDArray[np.float64],
    information: npt.NDArray[np.float64],
) -> ErrorModel:
    """Return variances after a scoring step, which is at least that of expectation maximization.

    The latter sets the variance to ``squares / count``. The score of ln(variance) is
    ``(squares / variance - count) / 2``; divided by the information it is the scoring step. If a
    worker's step changes direction, its haste is halved.
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
    """Return the state after the cautious step, if the longer one lowered the objective."""
    return evolve(
        state,
        variance=state.cautious,
        step=np.zeros_like(state.step),
        haste=np.maximum(state.haste / 4.0, 1.0),
    )
