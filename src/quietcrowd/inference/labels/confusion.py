"""Methods with a table for every worker: how often each truth becomes each answer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd._core import infer_by_confusion
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import (
    LEARNT_FROM,
    OwnVotes,
    accuracy_histograms,
    no_histograms,
)
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.inference.labels.posteriors import probabilities, task_rows, vote_counts
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, State, Tally

__all__ = [
    "FLOOR",
    "LARGEST_LOG",
    "MOST_CELLS",
    "ConfusionMethod",
    "ConfusionState",
    "ConfusionTally",
]

FLOOR = 1e-10
"""Least number of answers of a kind in a record; crowd-kit's, to match it without priors."""

LARGEST_LOG = 62 * math.log(2.0)
"""No log-probability is larger: a record has less than 2^62 units, and a kind of answer one."""

MOST_CELLS = 2**27
"""Most numbers in all confusion matrices: 1 GiB, and several such arrays are needed."""


@frozen(kw_only=True, eq=False)
class ConfusionState(State):
    """What each worker is believed to answer, and how frequent each label is, as logarithms.

    Attributes
    ----------
    log_odds : ndarray of int32, shape (workers, labels, labels) or (workers, 1, 1)
        Log-probability of an answer given a truth at place [worker, answer, truth]; with one coin,
        log-odds of the label that a worker gives against any other.
    fraction_bits : int
        Log-odds are in units of 2 to minus this: the smallest that lets the largest fit 32 bits.
    log_priors : ndarray of int64, shape (labels,)
        Log-frequency of each label, in units of 2^-32.
    """

    log_odds: npt.NDArray[np.int32]
    fraction_bits: int
    log_priors: npt.NDArray[np.int64]

    @property
    def confusion(self) -> npt.NDArray[np.float64]:
        """P(answer | truth) at place [worker, truth, answer], shape (workers, labels, labels)."""
        labels = len(self.log_priors)
        odds = np.ldexp(self.log_odds, -self.fraction_bits)
        if self.log_odds.shape[1] == labels > 1:
            table: npt.NDArray[np.float64] = np.exp(odds).swapaxes(1, 2)
            return table
        right = np.where(np.eye(labels, dtype=bool), odds, 0.0)
        table = np.exp(right - np.maximum(odds, 0.0))
        table /= table.sum(axis=2, keepdims=True)
        return table

    @property
    def priors(self) -> npt.NDArray[np.float64]:
        """Frequency of each label among the truths, shape (labels,)."""
        frequencies: npt.NDArray[np.float64] = np.exp(self.log_priors / integer_sums.ONE)
        return frequencies

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is the median of the known."""
        chosen = self.log_odds[np.maximum(positions, 0)]
        if (positions < 0).any():
            middle = np.sort(self.log_odds, axis=0)[len(self.log_odds) // 2]
            if middle.size > 1:
                table = integer_sums.to_fixed(np.exp(np.ldexp(middle, -self.fraction_bits)))
                logs = np.log(np.maximum(table, 1) / table.sum(axis=0))
                middle = _to_32_bits(logs, self.fraction_bits)
            chosen[positions < 0] = middle
        return evolve(self, log_odds=chosen)


@frozen(kw_only=True, eq=False)
class ConfusionTally(Tally):
    """What the posteriors of the tasks tell, in units of `ConfusionMethod.unit` but for the last.

    Attributes
    ----------
    counts : ndarray of int64, of the shape of `ConfusionState.log_odds`
        Expected number of answers at place [worker, answer, truth]; with one coin, of right ones.
    classes : ndarray of int64, shape (labels,)
        Expected number of tasks of each label.
    entropy : int
        Sum of the entropies of the posteriors.
    agreed : ndarray of int64, shape (workers,)
        Agreements with the estimates, as in `AgreementTally`; 0 in passes that estimate nothing.
    histograms : ndarray of int64
        As in `AgreementTally`.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)

    def extended_in(self, extension: Extension, unit: Callable[[Summary], float]) -> ConfusionTally:
        """Return the tally as one of the workers, and in the units, of more answers."""
        entropy = extension.total(np.array([self.entropy]), unit)
        return ConfusionTally(
            counts=extension.sums(self.counts, unit),
            classes=extension.total(self.classes, unit),
            entropy=int(entropy[0]),
            agreed=extension.sums(self.agreed),
            histograms=extension.sums(self.histograms),
        )


ConfusionStateT = TypeVar("ConfusionStateT", bound=ConfusionState)


@frozen(kw_only=True, slots=False)
class ConfusionMethod(
    CategoricalMethod[ConfusionStateT, ConfusionTally],
    IterativeInference[ConfusionStateT, ConfusionTally],
):
    """A method that finds posteriors from tables of the workers' answers.

    A subclass says how tables are learnt from posteriors: its `update`.
    """

    has_posterior: ClassVar[bool] = True
    way_out: ClassVar[str] = "Take WeightedVote, one number per worker, or fewer labels."
    """What to do where the tables are too large."""

    @abstractmethod
    def unit(self, summary: Summary) -> float:
        """Return what a probability of 1 is stored as in tallies."""

    def table_shape(self, summary: Summary) -> tuple[int, int, int]:
        """Return the shape of the tables: as `ConfusionState.log_odds`."""
        return summary.workers, summary.labels, summary.labels

    def check_state(self, summary: Summary, state: ConfusionStateT) -> None:
        """Raise ParameterError where tables are not those of such a method."""

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: ConfusionStateT | None,
        estimates: LabelEstimates | None,
    ) -> ConfusionTally:
        """Find posteriors, and vote shares at first."""
        labels, shape = summary.labels, self._checked_shape(summary, state)
        integer_sums.check_room(summary.longest_task + 1, LARGEST_LOG + math.log(labels))
        room = estimates or LabelEstimates.empty(0, partition.values.dtype)
        counts = np.zeros(shape, np.int64)
        classes = np.zeros(labels, np.int64)
        agreed = np.zeros(summary.workers, np.int64)
        entropy = infer_by_confusion(
            partition.labels,
            np.zeros(0, np.int32) if state is None else state.log_odds.reshape(-1),
            1.0 if state is None else 2.0**-state.fraction_bits,
            np.zeros(labels) if state is None else state.log_priors / integer_sums.ONE,
            self.unit(summary),
            integer_sums.shares(labels),
            self.seed,
            counts.reshape(-1),
            classes,
            agreed,
            room.arrays,
        )
        histograms = no_histograms()
        if estimates is not None:
            histograms = accuracy_histograms(partition, summary, _votes(state))
        return ConfusionTally(
            counts=counts, classes=classes, entropy=entropy, agreed=agreed, histograms=histograms
        )

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: ConfusionStateT
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels), by the workers' tables."""
        labels, scale = summary.labels, 2.0**-state.fraction_bits
        votes = np.tile(state.log_priors / integer_sums.ONE, (partition.tasks, 1))
        if state.log_odds.shape[1] < labels:
            votes += vote_counts(partition, labels, state.log_odds.reshape(-1) * scale)
            return probabilities(votes, partition)
        tasks, workers = task_rows(partition), partition.worker_codes
        for label in range(labels):  # a column at a time: all rows at once take more memory
            odds = state.log_odds[workers, partition.values, label]
            votes[:, label] += np.bincount(tasks, weights=odds, minlength=partition.tasks) * scale
        return probabilities(votes, partition)

    @override
    def extend_tally(self, tally: ConfusionTally, extension: Extension) -> ConfusionTally:
        return tally.extended_in(extension, self.unit)

    def _checked_shape(
        self, summary: Summary, state: ConfusionStateT | None
    ) -> tuple[int, int, int]:
        """Return `table_shape`; ParameterError where it is too large, or not the state's."""
        shape = self.table_shape(summary)
        if math.prod(shape) > MOST_CELLS:
            raise ParameterError(
                f"{summary.workers:,} workers and {summary.labels:,} labels make tables of "
                f"{math.prod(shape):,} numbers, more than {MOST_CELLS:,}. {self.way_out}"
            )
        if state is not None:
            self.check_state(summary, state)
        return shape


def _votes(state: ConfusionState | None) -> OwnVotes:
    """Return what reports are worth; a table takes more answers to learn than one number."""
    if state is None:
        return OwnVotes()
    return OwnVotes(
        own=state.log_odds.reshape(-1),
        nats=2.0**-state.fraction_bits,
        log_priors=state.log_priors / integer_sums.ONE,
        learnt_from=LEARNT_FROM * max(state.log_odds.shape[1] - 1, 1),
    )


def _to_32_bits(logs: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.int32]:
    """Round to multiples of ``2**-bits``."""
    limits = np.iinfo(np.int32)
    return np.clip(np.rint(np.ldexp(logs, bits)), limits.min, limits.max).astype(np.int32)
