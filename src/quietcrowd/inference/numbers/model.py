"""Shared parts of methods and models for numbers.

Sums run over numbers that are scaled to -1/2..1/2 by the smallest and the largest answer, in
integer units, so that neither the order of the answers nor a split of the tasks changes a bit.
"""

from abc import abstractmethod
from functools import cached_property
from operator import attrgetter
from typing import Any, Self, TypeVar

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
from quietcrowd.inference.model import (
    Extension,
    MethodT,
    Model,
    State,
    StateT,
    Tally,
    TallyT,
    known_or_median,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import NumericEstimates
from quietcrowd.report_domains import Reals

LARGEST_UNIT = 2.0**50
"""Largest unit in which kernels round numbers up to 1 exactly."""

FARTHEST_TRUTH = 1e6
"""Largest factor by which known truths may widen the range of the answers."""

LEAST_EXTENT = 2.0**-1000
"""Least range of all numbers; quotients by a smaller one overflow floats."""


@frozen(kw_only=True, eq=False)
class SquaredErrors(Tally):
    """Each worker's sum of squared scaled distances, in units of `NumericModel.error_unit`."""

    squared: npt.NDArray[np.int64]

    @override
    def extended(self, extension: Extension) -> Self:
        moved = extension.sums(self.squared, attrgetter("error_unit"), power=2)
        return type(self)(squared=moved)


def unit_for(terms: int) -> float:
    """Return 1.0 in sums of `terms` numbers up to 1: a power of 2 for core/vector_math.h."""
    return min(2.0 ** (61 - max(terms, 1).bit_length()), LARGEST_UNIT)


@frozen(kw_only=True, eq=False, slots=False)
class NumericModel(Model[MethodT, StateT, TallyT]):
    """A model of numbers; its tallies are `SquaredErrors`, or have them as ``errors``."""

    @override
    def unknown(self, tasks: int) -> npt.NDArray[np.float64]:
        return np.full(tasks, np.nan)

    @override
    def empty(self, tasks: int) -> NumericEstimates:
        return NumericEstimates.empty(tasks)

    @cached_property
    def error_unit(self) -> float:
        """Representation of 1.0 in a worker's sum of squared errors."""
        return unit_for(self.summary.most_answers)

    @cached_property
    def task_unit(self) -> float:
        """Representation of 1.0 in sums over the answers to a task."""
        return unit_for(self.summary.longest_task)

    def error(self, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return each worker's scaled root mean square error; NaN without answers."""
        errors: Any = tally
        squared = errors.squared if isinstance(errors, SquaredErrors) else errors.errors.squared
        with np.errstate(invalid="ignore"):
            mean: npt.NDArray[np.float64] = (
                squared / self.error_unit / self.summary.answers_per_worker
            )
        return np.sqrt(mean)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of the truths; None if the answers bound them."""
        return None

    @cached_property
    def scaled_bounds(self) -> tuple[float, float]:
        """Bounds of the truths, scaled; the ends of all answers without bounds."""
        summary = self.summary
        low, high = self.bounds or (summary.low, summary.high)
        return (low - summary.middle) / summary.extent, (high - summary.middle) / summary.extent

    def weights(self, state: StateT | None) -> npt.NDArray[np.float64]:
        """Return the weight of each worker's answers, shape (workers,): equal, or `WeightState`."""
        return state.weights if isinstance(state, WeightState) else np.ones(self.summary.workers)

    def tally_means(
        self,
        partition: Partition,
        weights: npt.NDArray[np.float64],
        estimates: NumericEstimates | None,
        bounds: tuple[float, float] = (-0.5, 0.5),
    ) -> SquaredErrors:
        """Take means, weighted in (0, 1], within scaled `bounds`; sum up squared errors."""
        squared = np.zeros(self.summary.workers, np.int64)
        infer_means(
            partition.numbers,
            weights,
            *bounds,
            self.task_unit,
            self.error_unit,
            squared,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return SquaredErrors(squared=squared)

    @override
    def scale(self, partition: Partition) -> Partition:
        """Scale all numbers to -1/2..1/2."""
        summary = self.summary
        if summary.mixed is None:
            numbers = check_numeric(summary.domain, "A model of numbers").numbers(partition.values)
        else:
            numbers = summary.mixed.numbers(partition.values)
            parts = summary.mixed.part_codes(partition.values).astype(np.uint16)
            partition = evolve(partition, parts=parts)
        return evolve(
            partition,
            values=(numbers - summary.middle) / summary.extent,
            known_truths=(partition.known_truths - summary.middle) / summary.extent,
        )

    @override
    def finish(self, estimates: Any, known: npt.NDArray[Any]) -> NumericEstimates:
        summary = self.summary
        truths = estimates.truths * summary.extent + summary.middle
        for bound in self.bounds or ():
            truths[np.abs(truths - bound) < 1e-12 * summary.extent] = bound
        return NumericEstimates(
            truths=np.where(np.isnan(known), truths, known),
            standard_error=estimates.standard_error * summary.extent,
            spread=estimates.spread * summary.extent,
        )

    @override
    def workers(self, tally: TallyT, state: StateT | None) -> dict[str, npt.NDArray[np.float64]]:
        weights = self.weights(state) * (self.summary.answers_per_worker > 0)
        total = integer_sums.exact_sum(weights, self.summary.workers)
        return {
            "error": self.error(tally) * self.summary.extent,
            "weight": np.where(weights > 0, weights / total, np.nan),
        }


NumericModelT = TypeVar("NumericModelT", bound=NumericModel[Any, Any, Any])


@frozen(kw_only=True, slots=False)
class NumericMethod(FittingMethod):
    """A truth-inference method for numbers: `Ordinal` and `Interval` domains, and noisy reports."""

    @abstractmethod
    def model_for(self, summary: Summary) -> NumericModel[Any, Any, Any]:
        """Return the model of data with a checked domain."""

    @override
    def bind(
        self, summary: Summary, known: npt.NDArray[Any] | None = None
    ) -> NumericModel[Any, Any, Any]:
        check_numeric(summary.domain, type(self).__name__)
        return bind_numbers(self.model_for(summary), known)

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return False

    @override
    def domain_of(self, labels: pa.Array) -> Domain:
        return Reals()

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.float64]:
        return known_numbers(tasks, truths, domain, type(self).__name__)


def known_numbers(
    tasks: pa.Array, truths: Any, domain: Domain, name: str
) -> npt.NDArray[np.float64]:
    """Return the known truth of each task, for the method of this name."""
    check_numeric(domain, name)
    return number_per_task(tasks, truths)


def bind_numbers(model: NumericModelT, known: npt.NDArray[Any] | None) -> NumericModelT:
    """Return a model whose range includes known truths and bounds of truths."""
    summary = model.summary
    given = np.zeros(0) if known is None else known
    least, most = model.bounds or (summary.low, summary.low)
    low = float(np.fmin.reduce(given, initial=min(summary.low, least)))
    high = float(np.fmax.reduce(given, initial=max(summary.high, most)))
    widened = evolve(summary, low=low, high=high)
    if widened.extent > FARTHEST_TRUTH * max(summary.extent, most - least):
        raise AnswerError(
            "inference.gold-too-far-apart",
            least=np.nanmin(given),
            largest=np.nanmax(given),
            low=summary.low,
            high=summary.high,
        )
    if not np.isfinite(widened.extent):
        raise AnswerError("inference.numbers-too-far-apart", low=low, high=high)
    if 0 < widened.extent < LEAST_EXTENT:
        raise AnswerError("inference.numbers-too-close", low=low, high=high)
    return evolve(model, summary=widened)


LEAST_SHARE = 1e-12
"""Least fraction of all losses that a worker's loss counts as."""

LEAST_WEIGHT = 1e-6
"""Least weight if the greatest is 1: the only answer to a task still decides it."""


@frozen(kw_only=True, eq=False)
class WeightState(State):
    """Weight of each worker's answers, above 0; the greatest is 1."""

    weights: npt.NDArray[np.float64]

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one has the median weight."""
        return type(self)(weights=self.weights[known_or_median(positions, self.weights)])


def log_share_weights(
    losses: npt.NDArray[np.float64], *, of_largest: bool = False
) -> npt.NDArray[np.float64]:
    """Return minus the logarithm of each worker's fraction of all losses, or of the largest.

    These weights minimize the sum of weights times losses if the sum of ``exp(-weight)`` is 1;
    ``research/docs/theory/truth-discovery.md``. All are 1 without losses.
    """
    total = integer_sums.exact_sum(losses, len(losses))
    if total == 0:
        return np.ones(len(losses))
    whole = losses.max() if of_largest else total
    weights: npt.NDArray[np.float64] = -np.log(np.maximum(losses, LEAST_SHARE * total) / whole)
    return np.maximum(weights, 0.0)


def scaled_weights(weights: npt.NDArray[np.float64], summary: Summary) -> npt.NDArray[np.float64]:
    """Return weights from `LEAST_WEIGHT` to 1, ignoring silent workers; all 1 if all are 0."""
    counted = weights * (summary.answers_per_worker > 0)
    greatest = counted.max(initial=0.0)
    return np.maximum(counted / greatest, LEAST_WEIGHT) if greatest > 0 else counted + 1.0
