"""From answers that are numbers to an estimate: what all numeric methods share.

Sums run over numbers that are scaled to -1/2..1/2 by the smallest and the largest answer, in whole
units, so that neither the order of the answers nor a split of the tasks changes a bit.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.domains import Domain, check_numeric
from quietcrowd.exceptions import AnswerError
from quietcrowd.inference.carrying import Move
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.kernels.vector_math import LARGEST_UNIT
from quietcrowd.inference.method import NumericEstimates, StateT, Tally, TallyT
from quietcrowd.inference.partition import Overview, Partition, Summary
from quietcrowd.known_truths import number_per_task
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.report_domains import Reals

__all__ = ["NumericMethod", "SquaredErrors", "error_unit", "root_mean_square", "unit_for"]

FARTHEST_TRUTH = 1e6
"""Known truths may widen the range of the answers by this factor, and no more."""


@frozen(kw_only=True, eq=False)
class SquaredErrors(Tally):
    """How far each worker's answers were from the estimates.

    Attributes
    ----------
    squared : ndarray of int64, shape (workers,)
        Sums of squared distances, scaled, in units of `error_unit`.
    """

    squared: npt.NDArray[np.int64]

    def __add__(self, other: Self) -> Self:
        return type(self)(squared=self.squared + other.squared)

    def carried(self, move: Move) -> Self:
        """Return the same for more answers; see `Tally.carried`."""
        return type(self)(squared=move.sums(self.squared, error_unit, power=2))


def unit_for(terms: int) -> float:
    """Return what 1.0 is stored as where up to `terms` numbers of at most 1 are added.

    A power of 2, small enough for `quietcrowd.inference.kernels.vector_math.to_integer`.
    """
    return min(2.0 ** (61 - max(terms, 1).bit_length()), LARGEST_UNIT)


def error_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as in a worker's sum of squared errors."""
    return unit_for(int(summary.answers_per_worker.max(initial=0)))


def root_mean_square(summary: Summary, tally: SquaredErrors) -> npt.NDArray[np.float64]:
    """Return each worker's root mean square error, scaled; NaN where there is no answer."""
    with np.errstate(invalid="ignore"):
        mean: npt.NDArray[np.float64] = (
            tally.squared / error_unit(summary) / summary.answers_per_worker
        )
    return np.sqrt(mean)


@frozen(kw_only=True, slots=False)
class NumericMethod(FittingMethod[StateT, TallyT]):
    """A truth-inference method for numbers: `Ordinal` and `Interval` domains, and noisy reports.

    Attributes
    ----------
    errors_from_model : bool
        Whether standard errors are those of a model of the answers, and known for a single one;
        otherwise they come from how a task's answers spread, if the method gives any.
    """

    errors_from_model: ClassVar[bool] = False

    @property
    def infers_labels(self) -> bool:
        """False: truths are numbers."""
        return False

    def room(self, tasks: int, summary: Summary) -> NumericEstimates:  # noqa: ARG002
        """Return room for numbers; see `TruthInference.room`."""
        return NumericEstimates.empty(tasks)

    @abstractmethod
    def error(self, summary: Summary, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return each worker's root mean square error, scaled; NaN without answers."""

    def bounds(self, channel: Channel | None) -> tuple[float, float] | None:  # noqa: ARG002
        """Return public bounds that truths are kept between, or None where answers bound them."""
        return None

    def scaled_bounds(self, summary: Summary) -> tuple[float, float]:
        """Return the bounds of the truths, scaled as values are; the ends of all where unbound."""
        low, high = self.bounds(summary.channel) or (summary.low, summary.high)
        return (low - summary.middle) / summary.extent, (high - summary.middle) / summary.extent

    def weights(
        self,
        summary: Summary,
        state: StateT | None,  # noqa: ARG002
    ) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count, shape (workers,); here all the same."""
        return np.ones(summary.workers)

    def _domain_of(self, frame: nw.DataFrame[Any]) -> Reals:  # noqa: ARG002
        return Reals()

    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.float64]:
        """Return numbers; see `FittingMethod.known`."""
        check_numeric(domain, type(self).__name__)
        return number_per_task(tasks, truths)

    def summarize(self, overview: Overview, known: npt.NDArray[Any]) -> Summary:
        """Find the range of all numbers; see `FittingMethod.summarize`."""
        check_numeric(overview.domain, type(self).__name__)
        least, most = self.bounds(overview.channel) or (overview.low, overview.low)
        low = float(np.fmin.reduce(known, initial=min(overview.low, least)))
        high = float(np.fmax.reduce(known, initial=max(overview.high, most)))
        summary = overview.summary(low=low, high=high)
        own = overview.high - overview.low or 1.0
        if summary.extent > FARTHEST_TRUTH * max(own, most - least):
            raise AnswerError(
                f"the known truths lie between {np.nanmin(known)!r} and {np.nanmax(known)!r}, the "
                f"answers between {overview.low!r} and {overview.high!r}: too far apart for sums "
                "that hold both. Correct the known truths, or leave them out."
            )
        if not np.isfinite(summary.extent):
            raise AnswerError(
                f"the numbers lie between {low!r} and {high!r}: more apart than floats hold"
            )
        return summary

    def scale(self, partition: Partition, summary: Summary) -> Partition:
        """Scale all numbers to -1/2..1/2; see `FittingMethod.scale`."""
        numbers = check_numeric(summary.domain, type(self).__name__).numbers(partition.values)
        return evolve(
            partition,
            values=(numbers - summary.middle) / summary.extent,
            gold=(partition.gold - summary.middle) / summary.extent,
        )

    def finish(self, estimates: Any, gold: npt.NDArray[Any], summary: Summary) -> NumericEstimates:
        """Return numbers in the unit of the answers; see `FittingMethod.finish`."""
        truths = estimates.truths * summary.extent + summary.middle
        for bound in self.bounds(summary.channel) or ():
            truths[np.abs(truths - bound) < 1e-12 * summary.extent] = bound
        return NumericEstimates(
            truths=np.where(np.isnan(gold), truths, gold),
            standard_error=estimates.standard_error * summary.extent,
            spread=estimates.spread * summary.extent,
        )

    def qualities(
        self, summary: Summary, tally: TallyT, state: StateT | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return errors and shares of all weight; see `FittingMethod.qualities`."""
        weights = self.weights(summary, state) * (summary.answers_per_worker > 0)
        total = fixed_point.exact_sum(weights, summary.workers)
        return {
            "error": self.error(summary, tally) * summary.extent,
            "quality": np.where(weights > 0, weights / total, np.nan),
        }
