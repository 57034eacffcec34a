"""Truth discovery by losses: what CRH and CATD share, for labels and for numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self, TypeAlias, get_args

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

from quietcrowd.domains import Categorical, Domain, as_numbers
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import column_of
from quietcrowd.inference.carrying import Move
from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.kernels import numeric as numeric_kernels
from quietcrowd.inference.method import IterativeInference, NumericEstimates, Tally
from quietcrowd.inference.numeric import (
    NumericMethod,
    SquaredErrors,
    error_unit,
    root_mean_square,
    unit_for,
)
from quietcrowd.inference.partition import Overview, Partition, Summary
from quietcrowd.inference.voting import AgreementTally, share_of_agreements, sweep_votes
from quietcrowd.inference.weights import WeightState, scaled_weights
from quietcrowd.validation import at_least, one_of, plain

__all__ = ["Loss", "LossWeighted", "Losses"]

Loss: TypeAlias = Literal["zero-one", "squared", "absolute"]


@frozen(kw_only=True, eq=False)
class Losses(Tally):
    """What the estimates cost each worker.

    Attributes
    ----------
    losses : ndarray of int64, shape (workers,)
        Sums, in units of `_loss_unit`.
    errors : SquaredErrors
        Sums of squared distances.
    """

    losses: npt.NDArray[np.int64]
    errors: SquaredErrors

    def __add__(self, other: Self) -> Self:
        return type(self)(losses=self.losses + other.losses, errors=self.errors + other.errors)


def _loss_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as: a loss is at most twice the answers of a task."""
    busiest = int(summary.answers_per_worker.max(initial=0))
    return unit_for(busiest * 2 * (summary.longest_task + 1))


@frozen(kw_only=True, slots=False)
class LossWeighted(
    CategoricalMethod[WeightState, Any],
    NumericMethod[WeightState, Any],
    IterativeInference[WeightState, Any],
):
    """A method that takes the truths that cost least, and weighs workers by what they cost.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        What an answer costs: 1 where it is another label than the truth, for `Categorical` and
        `Ordinal` domains; the squared or the absolute distance, for numbers. The truth is then the
        weighted vote, mean or median.
    tolerance : float
        As of every method; smaller here, since the objective is flat where the truths come to rest.
    """

    loss: Loss = field(default="squared", validator=one_of(*get_args(Loss)))
    tolerance: float = field(default=1e-13, converter=plain, validator=at_least(0))

    @abstractmethod
    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count, at least 0, given what they cost in total."""

    @property
    def infers_labels(self) -> bool:
        """Whether truths are labels, not numbers."""
        return self.loss == "zero-one"

    def carry(self, tally: AgreementTally | Losses, move: Move) -> AgreementTally | Losses:
        """Return the same tally for more answers; see `TruthInference.carry`."""
        if isinstance(tally, AgreementTally):
            return tally.carried(move)
        power = (1 if self.loss == "absolute" else 2) - self._divisor_power()
        return Losses(
            losses=move.sums(tally.losses, _loss_unit, power), errors=tally.errors.carried(move)
        )

    def _divisor_power(self) -> int:
        """Return to which power of a task's standard deviation losses are divided by."""
        return 0

    def room(self, tasks: int, summary: Summary) -> Any:
        """Return room for labels or numbers; see `TruthInference.room`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        return kind.room(self, tasks, summary)

    def _domain_of(self, frame: nw.DataFrame[Any]) -> Any:
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        if not self.infers_labels and "label" in frame.columns and len(frame):
            column = column_of(frame, "label")
            if column.null_count < len(column) and np.isnan(as_numbers(column)).all():
                raise self._labels_error("labels that are no numbers")
        domain: Domain = kind._domain_of(self, frame)
        return domain

    def _labels_error(self, what: str) -> AnswerError:
        return AnswerError(
            f"{type(self).__name__} needs numbers, an Ordinal or Interval domain, for "
            f"loss={self.loss!r}; got {what}. For labels take loss='zero-one' (on the "
            f"command line: --method {self.name}:loss=zero-one)."
        )

    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        """Return codes or numbers; see `FittingMethod.known`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        if not self.infers_labels and isinstance(domain, Categorical):
            raise self._labels_error(domain.example())
        return kind.known(self, tasks, domain, truths)

    def summarize(self, overview: Overview, known: npt.NDArray[Any]) -> Summary:
        """Return the summary; see `FittingMethod.summarize`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        return kind.summarize(self, overview, known)

    def scale(self, partition: Partition, summary: Summary) -> Partition:
        """Return the partition, scaled where it holds numbers; see `FittingMethod.scale`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        return kind.scale(self, partition, summary)

    def finish(self, estimates: Any, gold: npt.NDArray[Any], summary: Summary) -> Any:
        """Return labels or numbers; see `FittingMethod.finish`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        return kind.finish(self, estimates, gold, summary)

    def qualities(
        self, summary: Summary, tally: AgreementTally | Losses, state: WeightState | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the columns of labels or of numbers; see `FittingMethod.qualities`."""
        kind = CategoricalMethod if self.infers_labels else NumericMethod
        return kind.qualities(self, summary, tally, state)

    def weights(self, summary: Summary, state: WeightState | None) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count; see `NumericMethod.weights`."""
        return np.ones(summary.workers) if state is None else state.weights

    def sweep(
        self, partition: Partition, summary: Summary, state: WeightState | None, estimates: Any
    ) -> AgreementTally | Losses:
        """Take the truths that cost least, and tally the costs; see `TruthInference.sweep`."""
        weights = self.weights(summary, state)
        if not self.infers_labels:
            return self._sweep_numbers(partition, summary, weights, estimates)
        fixed_point.check_room(summary.longest_task, 1.0)
        return sweep_votes(
            partition,
            summary,
            weights=fixed_point.to_fixed(weights),
            nats=0.0,
            seed=self.seed,
            estimates=estimates,
        )

    def _sweep_numbers(
        self,
        partition: Partition,
        summary: Summary,
        weights: npt.NDArray[np.float64],
        estimates: NumericEstimates | None,
    ) -> Losses:
        room = estimates or NumericEstimates.empty(0)
        squared, losses = np.zeros(summary.workers, np.int64), np.zeros(summary.workers, np.int64)
        numeric_kernels.loss_kernel(
            partition.offsets,
            partition.worker_codes.view(np.uint32),
            partition.values,
            partition.gold,
            weights,
            self.loss == "absolute",
            self._divisor_power(),
            unit_for(summary.longest_task),
            error_unit(summary),
            _loss_unit(summary),
            squared,
            losses,
            room.truths,
            room.standard_error,
            room.spread,
        )
        return Losses(losses=losses, errors=SquaredErrors(squared=squared))

    def update(
        self,
        summary: Summary,
        tally: AgreementTally | Losses,
        state: WeightState | None,  # noqa: ARG002
    ) -> tuple[WeightState, float]:
        """Weigh the workers by their losses; see `IterativeInference.update`.

        The objective is minus the weighted loss per answer. It tells when the loop rests; weights
        are scaled anew each time, so it may fall.
        """
        if isinstance(tally, AgreementTally):
            losses = summary.answers_per_worker - fixed_point.from_shares(tally.agreed)
        else:
            losses = tally.losses / _loss_unit(summary)
        weights = scaled_weights(self.weigh(summary, losses), summary)
        cost: npt.NDArray[np.float64] = -weights * losses
        objective = fixed_point.exact_sum(cost, summary.workers) / summary.answers
        return WeightState(weights=weights), objective

    def agreement(self, summary: Summary, tally: AgreementTally) -> npt.NDArray[np.float64]:
        """Return the share of agreeing answers; see `CategoricalMethod.agreement`."""
        return share_of_agreements(summary, tally.agreed)

    def error(self, summary: Summary, tally: Losses) -> npt.NDArray[np.float64]:
        """Return the workers' errors; see `NumericMethod.error`."""
        return root_mean_square(summary, tally.errors)
