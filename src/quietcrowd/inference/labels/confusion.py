"""Shared parts of methods with a confusion matrix for each worker."""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd._core import infer_by_confusion
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import LEARNT_FROM, OwnVotes, no_histograms
from quietcrowd.inference.labels.model import (
    CategoricalModel,
    probabilities,
    task_rows,
    vote_counts,
)
from quietcrowd.inference.model import Extension, LearningModel, MethodT, State, Tally
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.task_estimates import LabelEstimates

FLOOR = 1e-10
"""Least number of answers of a kind in a record; that of crowd-kit, to match it without priors."""

LARGEST_LOG = 62 * math.log(2.0)
"""Limit of log-probabilities: a record has less than 2^62 units, and a kind of answer one."""

MOST_CELLS = 2**27
"""Largest number of cells of all confusion matrices: 1 GiB, in several arrays."""


@frozen(kw_only=True, eq=False)
class ConfusionState(State):
    """Confusion matrix of each worker, and frequencies of the labels, as logarithms.

    `log_odds` are log-probabilities at [worker, answer, truth]; for one coin, shape (workers, 1,
    1), log-odds of the reported label. Their unit is 2^-`fraction_bits`, the smallest in which the
    largest fits 32 bits; that of `log_priors` is 2^-32.
    """

    log_odds: npt.NDArray[np.int32]
    fraction_bits: int
    log_priors: npt.NDArray[np.int64]

    @property
    def confusion(self) -> npt.NDArray[np.float64]:
        """P(answer | truth) at [worker, truth, answer], shape (workers, labels, labels)."""
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
        """Return the state of other workers; a new one has the median matrix."""
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
    """Statistics of the posteriors, in units of `ConfusionModel.unit`.

    `counts` are expected answers in the shape of `ConfusionState.log_odds`, for one coin right
    ones; `classes` expected tasks of each label; `entropy` is that of all posteriors. `agreed` and
    `histograms` are 0 in passes without estimates.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)

    @override
    def extended(self, extension: Extension) -> Self:
        unit: Callable[[Any], float] = attrgetter("unit")
        entropy = extension.total(np.array([self.entropy]), unit)
        return type(self)(
            counts=extension.sums(self.counts, unit),
            classes=extension.total(self.classes, unit),
            entropy=int(entropy[0]),
            agreed=extension.sums(self.agreed),
            histograms=extension.sums(self.histograms),
        )


ConfusionStateT = TypeVar("ConfusionStateT", bound=ConfusionState)


@frozen(kw_only=True, eq=False, slots=False)
class ConfusionModel(
    CategoricalModel[MethodT, ConfusionStateT, ConfusionTally],
    LearningModel[MethodT, ConfusionStateT, ConfusionTally],
):
    """A model that finds posteriors from confusion matrices; `update` learns the matrices."""

    advice: ClassVar[str] = "Use WeightedVote, one number per worker, or fewer labels."
    """Remedy if the matrices are too large."""

    @cached_property
    @abstractmethod
    def unit(self) -> float:
        """Representation of a probability of 1 in tallies."""

    @property
    def table_shape(self) -> tuple[int, int, int]:
        """Shape of `ConfusionState.log_odds`."""
        return self.summary.workers, self.summary.labels, self.summary.labels

    @cached_property
    def _checked_shape(self) -> tuple[int, int, int]:
        summary, shape = self.summary, self.table_shape
        if math.prod(shape) > MOST_CELLS:
            raise ParameterError(
                "inference.tables-too-large",
                workers=summary.workers,
                labels=summary.labels,
                cells=math.prod(shape),
                most_cells=MOST_CELLS,
                advice=self.advice,
            )
        largest = LARGEST_LOG + math.log(summary.labels)
        integer_sums.check_overflow(summary.longest_task + 1, largest)
        return shape

    def check_state(self, state: ConfusionStateT) -> None:
        """Raise ParameterError if the matrices of a state are those of another model."""

    @override
    def sweep(
        self, partition: Partition, state: ConfusionStateT | None, estimates: LabelEstimates | None
    ) -> ConfusionTally:
        """Find posteriors; in the first pass the fractions of the votes."""
        method: Any = self.method
        labels, workers = self.summary.labels, self.summary.workers
        counts, classes = np.zeros(self._checked_shape, np.int64), np.zeros(labels, np.int64)
        agreed = np.zeros(workers, np.int64)
        if state is not None:
            self.check_state(state)
        entropy = infer_by_confusion(
            partition.labels,
            np.zeros(0, np.int32) if state is None else state.log_odds.reshape(-1),
            1.0 if state is None else 2.0**-state.fraction_bits,
            np.zeros(labels) if state is None else state.log_priors / integer_sums.ONE,
            self.unit,
            self.shares,
            method.random_state,
            counts.reshape(-1),
            classes,
            agreed,
            (estimates or LabelEstimates.empty(0, partition.values.dtype)).arrays,
        )
        histograms = no_histograms()
        if estimates is not None:
            histograms = self.accuracies.histograms(partition, _votes(state))
        return ConfusionTally(
            counts=counts, classes=classes, entropy=entropy, agreed=agreed, histograms=histograms
        )

    def posterior(self, partition: Partition, state: ConfusionStateT) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels)."""
        labels, scale = self.summary.labels, 2.0**-state.fraction_bits
        votes = np.tile(state.log_priors / integer_sums.ONE, (partition.tasks, 1))
        if state.log_odds.shape[1] < labels:
            votes += vote_counts(partition, labels, state.log_odds.reshape(-1) * scale)
            return probabilities(votes, partition)
        tasks, workers = task_rows(partition), partition.worker_codes
        for label in range(labels):  # all columns at once would take more memory
            odds = state.log_odds[workers, partition.values, label]
            votes[:, label] += np.bincount(tasks, weights=odds, minlength=partition.tasks) * scale
        return probabilities(votes, partition)


def _votes(state: ConfusionState | None) -> OwnVotes:
    """Return log-odds of reports; a matrix takes more answers to learn than one number."""
    if state is None:
        return OwnVotes()
    return OwnVotes(
        own=state.log_odds.reshape(-1),
        nats=2.0**-state.fraction_bits,
        log_priors=state.log_priors / integer_sums.ONE,
        learnt_from=LEARNT_FROM * max(state.log_odds.shape[1] - 1, 1),
    )


def _to_32_bits(logs: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.int32]:
    limits = np.iinfo(np.int32)
    return np.clip(np.rint(np.ldexp(logs, bits)), limits.min, limits.max).astype(np.int32)
