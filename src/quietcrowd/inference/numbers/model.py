"""From answers that are numbers to an estimate: what all numeric methods share.

Sums run over numbers that are scaled to -1/2..1/2 by the smallest and the largest answer, in whole
units, so that neither the order of the answers nor a split of the tasks changes a bit.
"""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd._core import infer_means
from quietcrowd.domains import Domain, check_numeric
from quietcrowd.exceptions import AnswerError
from quietcrowd.gold import number_per_task
from quietcrowd.inference import integer_sums
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.method import StateT, TallyT
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, State, Tally, known_or_median
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.report_domains import Reals

__all__ = [
    "LEAST_SHARE",
    "NumericMethod",
    "SquaredErrors",
    "WeightState",
    "error_unit",
    "log_share_weights",
    "root_mean_square",
    "scaled_weights",
    "sweep_means",
    "unit_for",
]

LARGEST_UNIT = 2.0**50
"""Kernels round numbers up to 1 in units of this, up or down, exactly."""

FARTHEST_TRUTH = 1e6
"""Known truths may widen the range of the answers by this factor, and no more."""

LEAST_EXTENT = 2.0**-1000
"""Of all numbers; within less, what is divided by it is beyond floats."""


@frozen(kw_only=True, eq=False)
class SquaredErrors(Tally):
    """How far each worker's answers were from the estimates.

    Attributes
    ----------
    squared : ndarray of int64, shape (workers,)
        Sums of squared distances, scaled, in units of `error_unit`.
    """

    squared: npt.NDArray[np.int64]

    @override
    def extended(self, extension: Extension) -> Self:
        return type(self)(squared=extension.sums(self.squared, error_unit, power=2))


def unit_for(terms: int) -> float:
    """Return what 1.0 is stored as where up to `terms` numbers of at most 1 are added.

    A power of 2, small enough for `to_integer` of core/vector_math.h.
    """
    return min(2.0 ** (61 - max(terms, 1).bit_length()), LARGEST_UNIT)


def error_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in a worker's sum of squared errors."""
    return unit_for(summary.most_answers)


def root_mean_square(summary: Summary, tally: SquaredErrors) -> npt.NDArray[np.float64]:
    """Return each worker's root mean square error, scaled; NaN where there is no answer."""
    with np.errstate(invalid="ignore"):
        mean: npt.NDArray[np.float64] = (
            tally.squared / error_unit(summary) / summary.answers_per_worker
        )
    return np.sqrt(mean)


def sweep_means(
    partition: Partition,
    summary: Summary,
    weights: npt.NDArray[np.float64],
    estimates: NumericEstimates | None,
    bounds: tuple[float, float] = (-0.5, 0.5),
) -> SquaredErrors:
    """Take weighted means for truths, and tally how far the answers are from them.

    Parameters
    ----------
    partition, summary, estimates
        See `TruthInference.sweep`.
    weights : ndarray of float64, shape (workers,)
        What each worker's answers count, above 0 and at most 1.
    bounds : tuple of float
        What truths are kept between, scaled as values are.
    """
    squared = np.zeros(summary.workers, np.int64)
    infer_means(
        partition.numbers,
        weights,
        *bounds,
        unit_for(summary.longest_task),
        error_unit(summary),
        squared,
        (estimates or NumericEstimates.empty(0)).arrays,
    )
    return SquaredErrors(squared=squared)


@frozen(kw_only=True, slots=False)
class NumericMethod(FittingMethod[StateT, TallyT]):
    """A truth-inference method for numbers: `Ordinal` and `Interval` domains, and noisy reports."""

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return False

    @override
    def room(self, tasks: int, summary: Summary) -> NumericEstimates:
        return NumericEstimates.empty(tasks)

    def error(self, summary: Summary, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return each worker's root mean square error, scaled; NaN without answers.

        Here of a tally that is, or whose ``errors`` are, `SquaredErrors`.
        """
        errors: Any = tally
        squared = errors if isinstance(errors, SquaredErrors) else errors.errors
        return root_mean_square(summary, squared)

    def bounds(self, channel: Channel | None) -> tuple[float, float] | None:  # noqa: ARG002
        """Return public bounds that truths are kept between, or None where answers bound them."""
        return None

    def scaled_bounds(self, summary: Summary) -> tuple[float, float]:
        """Return the bounds of the truths, scaled as values are; the ends of all where unbound."""
        low, high = self.bounds(summary.channel) or (summary.low, summary.high)
        return (low - summary.middle) / summary.extent, (high - summary.middle) / summary.extent

    def weights(self, summary: Summary, state: StateT | None) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count, shape (workers,).

        Here all the same, unless the state is a `WeightState`.
        """
        return state.weights if isinstance(state, WeightState) else np.ones(summary.workers)

    @override
    def domain_of(self, frame: nw.DataFrame[Any]) -> Reals:
        return Reals()

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.float64]:
        check_numeric(domain, type(self).__name__)
        return number_per_task(tasks, truths)

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        """Find the range of all numbers."""
        check_numeric(summary.domain, type(self).__name__)
        least, most = self.bounds(summary.channel) or (summary.low, summary.low)
        low = float(np.fmin.reduce(known, initial=min(summary.low, least)))
        high = float(np.fmax.reduce(known, initial=max(summary.high, most)))
        widened = evolve(summary, low=low, high=high)
        if widened.extent > FARTHEST_TRUTH * max(summary.extent, most - least):
            raise AnswerError(
                f"the known truths lie between {np.nanmin(known)!r} and {np.nanmax(known)!r}, the "
                f"answers between {summary.low!r} and {summary.high!r}: too far apart for sums "
                "that hold both. Correct the known truths, or leave them out."
            )
        if not np.isfinite(widened.extent):
            raise AnswerError(
                f"the numbers lie between {low!r} and {high!r}: more apart than floats hold"
            )
        if 0 < widened.extent < LEAST_EXTENT:
            raise AnswerError(
                f"the numbers lie between {low!r} and {high!r}: too near each other for floats. "
                "Scale them by a public number first"
            )
        return widened

    @override
    def scale(self, partition: Partition, summary: Summary) -> Partition:
        """Scale all numbers to -1/2..1/2."""
        numbers = check_numeric(summary.domain, type(self).__name__).numbers(partition.values)
        return evolve(
            partition,
            values=(numbers - summary.middle) / summary.extent,
            known_truths=(partition.known_truths - summary.middle) / summary.extent,
        )

    @override
    def finish(self, estimates: Any, known: npt.NDArray[Any], summary: Summary) -> NumericEstimates:
        """Return numbers in the unit of the answers."""
        truths = estimates.truths * summary.extent + summary.middle
        for bound in self.bounds(summary.channel) or ():
            truths[np.abs(truths - bound) < 1e-12 * summary.extent] = bound
        return NumericEstimates(
            truths=np.where(np.isnan(known), truths, known),
            standard_error=estimates.standard_error * summary.extent,
            spread=estimates.spread * summary.extent,
        )

    @override
    def qualities(
        self, summary: Summary, tally: TallyT, state: StateT | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        weights = self.weights(summary, state) * (summary.answers_per_worker > 0)
        total = integer_sums.exact_sum(weights, summary.workers)
        return {
            "error": self.error(summary, tally) * summary.extent,
            "quality": np.where(weights > 0, weights / total, np.nan),
        }


LEAST_SHARE = 1e-12
"""No worker's loss counts as less than this share of all."""

LEAST_WEIGHT = 1e-6
"""The least weight, the greatest being 1: who stands alone on a task still decides it."""


@frozen(kw_only=True, eq=False)
class WeightState(State):
    """What each worker's answers count.

    Attributes
    ----------
    weights : ndarray of float64, shape (workers,)
        Above 0; the greatest is 1.
    """

    weights: npt.NDArray[np.float64]

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is worth the median of the known."""
        return type(self)(weights=self.weights[known_or_median(positions, self.weights)])


def log_share_weights(
    losses: npt.NDArray[np.float64], *, of_largest: bool = False
) -> npt.NDArray[np.float64]:
    """Return minus the logarithm of each worker's share of all losses, or of the largest one.

    All 1 where there is no loss. These weights minimise the sum of weights times losses where the
    sum of ``exp(-weight)`` is 1; ``docs/theory/truth-discovery.md``.
    """
    total = integer_sums.exact_sum(losses, len(losses))
    if total == 0:
        return np.ones(len(losses))
    whole = losses.max() if of_largest else total
    weights: npt.NDArray[np.float64] = -np.log(np.maximum(losses, LEAST_SHARE * total) / whole)
    return np.maximum(weights, 0.0)


def scaled_weights(weights: npt.NDArray[np.float64], summary: Summary) -> npt.NDArray[np.float64]:
    """Return weights of which the greatest is 1, and none less than `LEAST_WEIGHT`.

    All are 1 where all are 0; workers without answers do not count.
    """
    counted = weights * (summary.answers_per_worker > 0)
    greatest = counted.max(initial=0.0)
    return np.maximum(counted / greatest, LEAST_WEIGHT) if greatest > 0 else counted + 1.0
