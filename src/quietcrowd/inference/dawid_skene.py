"""Dawid-Skene: every worker has a table of how often each truth becomes each answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.accuracies import (
    LEARNT_FROM,
    OwnVotes,
    accuracy_histograms,
    no_histograms,
)
from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.kernels.confusion import confusion_kernel, learn_coins, learn_confusions
from quietcrowd.inference.label_posteriors import probabilities, task_rows, vote_counts
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, State, Tally
from quietcrowd.validation import at_least, one_of, plain

__all__ = [
    "ConfusionState",
    "ConfusionTally",
    "DawidSkene",
    "confusion_posterior",
    "sweep_confusions",
]

FLOOR = 1e-10
"""Least number of answers of a kind in a record; crowd-kit's, to match it without priors."""

_LARGEST_LOG = 62 * math.log(2.0)
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
    """What the posteriors of the tasks tell, in units of `DawidSkene.unit` but for the last.

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


@frozen(kw_only=True, slots=False)
class DawidSkene(
    CategoricalMethod[ConfusionState, ConfusionTally],
    IterativeInference[ConfusionState, ConfusionTally],
):
    """Dawid and Skene's model: each worker confuses each truth with each answer at its own rate.

    ::

        gamma_jk = P(z_j = k | answers)  ~  pi_k  prod of Theta_i[k, a_ij] over the task's answers
        Theta_i[k, l]  ~  smoothing + trust 1(k = l) + sum_j gamma_jk 1(a_ij = l)
        pi_k           ~  class_smoothing + sum_j gamma_jk

    in turn (expectation maximisation), from the shares of the votes. It climbs the log-posterior
    of Theta and pi with the truths summed out, by way of a lower bound, which is the objective; it
    cannot fall. Confidence is ``gamma_jk``. With one coin, ``Theta_i[k, k]`` is the same for all k
    and the other labels are equally likely; then `smoothing` and `trust` count right answers,
    `smoothing` counts wrong ones.

    Parameters
    ----------
    one_coin : bool
        Whether a worker is one number, how often it is right, and not a matrix.
    smoothing : float
        Answers of each label to tasks of each truth that are added to every worker's record.
    trust : float
        Right answers to tasks of each truth that are added on top: they keep labels from trading
        places.
    class_smoothing : float
        Tasks of each label that are added to the count of all tasks.

    Raises
    ------
    ParameterError
        By `fit`, where the matrices are too large.

    References
    ----------
    A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979), 20-28. Derivation, priors and the
    differences from crowd-kit: ``docs/theory/dawid-skene.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
    >>> estimate = DawidSkene().fit(crowd.answers)
    >>> estimate.state.confusion.shape
    (20, 2, 2)
    """

    name: ClassVar[str] = "dawid-skene"
    has_posterior: ClassVar[bool] = True
    one_coin: bool = field(default=False, converter=plain, validator=one_of(False, True))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))
    trust: float = field(default=1.0, converter=plain, validator=at_least(0))
    class_smoothing: float = field(default=1.0, converter=plain, validator=at_least(0))

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: ConfusionState | None,
        estimates: LabelEstimates | None,
    ) -> ConfusionTally:
        """Find posteriors, and vote shares at first."""
        shape = self._check_shape(summary, state)
        return sweep_confusions(
            self, partition, summary, state, estimates, shape, self._votes(summary, state)
        )

    def _votes(self, summary: Summary, state: ConfusionState | None) -> OwnVotes:
        """Return what reports are worth; a table takes more answers to learn than one number."""
        if state is None:
            return OwnVotes()
        return OwnVotes(
            own=state.log_odds.reshape(-1),
            nats=2.0**-state.fraction_bits,
            log_priors=state.log_priors / integer_sums.ONE,
            learnt_from=LEARNT_FROM * (1 if self.one_coin else max(summary.labels - 1, 1)),
        )

    @override
    def update(
        self,
        summary: Summary,
        tally: ConfusionTally,
        state: ConfusionState | None,
    ) -> tuple[ConfusionState, float]:
        """Learn rates and frequencies from posteriors."""
        unit = self.unit(summary)
        bits = self._fraction_bits(summary)
        log_odds, climbed = self._learn(summary, tally, bits)
        classes = _record(tally.classes, self.class_smoothing, unit)
        log_priors = np.log(classes / classes.sum())
        climbed += integer_sums.exact_sum(classes * log_priors, summary.labels)
        learned = ConfusionState(
            log_odds=log_odds, fraction_bits=bits, log_priors=integer_sums.to_fixed(log_priors)
        )
        return learned, (climbed + tally.entropy) / unit / summary.answers

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: ConfusionState
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels)."""
        return confusion_posterior(partition, summary, state)

    @override
    def extend_tally(self, tally: ConfusionTally, extension: Extension) -> ConfusionTally:
        return tally.extended_in(extension, self.unit)

    def unit(self, summary: Summary) -> float:
        """Return what a probability of 1 is stored as in tallies."""
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        classes = tasks + self.class_smoothing * summary.labels
        return integer_sums.unit_for(self._longest_record(summary) + classes)

    def _added(self, summary: Summary) -> float:
        """Return how many answers are added to one row of a worker's record."""
        return self.smoothing * max(summary.labels, 2) + self.trust

    def _check_shape(self, summary: Summary, state: ConfusionState | None) -> tuple[int, int, int]:
        """Return the shape of counts and log-odds."""
        side = 1 if self.one_coin else summary.labels
        shape = (summary.workers, side, side)
        if math.prod(shape) > MOST_CELLS:
            raise ParameterError(
                f"{summary.workers:,} workers and {summary.labels:,} labels make confusion "
                f"matrices of {math.prod(shape):,} numbers, more than {MOST_CELLS:,}. Take "
                "one_coin=True, one number per worker, or fewer labels."
            )
        if state is not None and state.log_odds.shape != shape:
            raise ParameterError(
                f"start must be an estimate with one_coin={self.one_coin}, as this method has"
            )
        return shape

    def _fraction_bits(self, summary: Summary) -> int:
        """Return how many bits behind the binary point log-odds have room for."""
        unit = self.unit(summary)
        least = max(round(self.smoothing * unit), _least(unit))
        others = max(summary.labels - 1, 1)
        most = math.log(self._longest_record(summary) * unit / least * others)
        return min(31 - math.frexp(most)[1], 31)

    def _longest_record(self, summary: Summary) -> float:
        """Return how many answers a worker's record has at most."""
        return summary.most_answers + self._added(summary)

    def _learn(
        self, summary: Summary, tally: ConfusionTally, bits: int
    ) -> tuple[npt.NDArray[np.int32], float]:
        """Return log-odds of workers' answers, and what they contribute to the objective."""
        unit, product = self.unit(summary), self._product(summary)
        log_odds = np.empty(tally.counts.shape, np.int32)
        counts = tally.counts.reshape(-1)
        rest = (
            round(self.smoothing * unit),
            round((self.smoothing + self.trust) * unit),
            _least(unit),
            2.0**bits,
            product / unit,
            log_odds.reshape(-1),
        )
        if self.one_coin:
            others = max(summary.labels - 1, 1)
            climbed = learn_coins(counts, summary.answers_per_worker, unit, others, *rest)
        else:
            climbed = learn_confusions(counts, summary.labels, *rest)
        return log_odds, climbed / product * unit

    def _product(self, summary: Summary) -> float:
        """Return what an answer times a log-probability of 1 is stored as, in sums of such."""
        added = self._added(summary) * summary.labels * summary.workers
        longest, total = self._longest_record(summary), summary.answers + added
        room = min(50 - math.log2(longest), 61 - math.log2(total))
        return 2.0 ** math.floor(room - math.log2(_LARGEST_LOG + math.log(summary.labels)))


def sweep_confusions(
    method: Any,
    partition: Partition,
    summary: Summary,
    state: ConfusionState | None,
    estimates: LabelEstimates | None,
    shape: tuple[int, int, int],
    votes: OwnVotes,
) -> ConfusionTally:
    """Find posteriors from tables of the workers' answers, and vote shares at first.

    Parameters
    ----------
    method : TruthInference
        Whose `unit` the tally is in, and whose seed breaks ties.
    partition, summary, state, estimates
        As of `TruthInference.sweep`.
    shape : (int, int, int)
        Of the tables: as `ConfusionState.log_odds`.
    votes : OwnVotes
        What reports are worth.
    """
    labels = summary.labels
    integer_sums.check_room(summary.longest_task + 1, _LARGEST_LOG + math.log(labels))
    room = estimates or LabelEstimates.empty(0, partition.values.dtype)
    counts = np.zeros(shape, np.int64)
    classes = np.zeros(labels, np.int64)
    agreed = np.zeros(summary.workers, np.int64)
    kernel = confusion_kernel(labels, one_coin=shape[1] < labels)
    entropy = kernel(
        *partition.labels,
        np.zeros(0, np.int32) if state is None else state.log_odds.reshape(-1),
        1.0 if state is None else 2.0**-state.fraction_bits,
        np.zeros(labels) if state is None else state.log_priors / integer_sums.ONE,
        state is None,
        method.unit(summary),
        integer_sums.shares(labels),
        np.uint64(method.seed),
        counts.reshape(-1),
        classes,
        agreed,
        *room.arrays,
    )
    histograms = no_histograms()
    if estimates is not None:
        histograms = accuracy_histograms(partition, summary, votes)
    return ConfusionTally(
        counts=counts, classes=classes, entropy=entropy, agreed=agreed, histograms=histograms
    )


def confusion_posterior(
    partition: Partition, summary: Summary, state: ConfusionState
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


def _least(unit: float) -> int:
    """Return the least record of a kind of answers, in units."""
    return max(1, round(FLOOR * unit))


def _record(counts: npt.NDArray[np.int64], added: float, unit: float) -> npt.NDArray[np.int64]:
    """Return counts with what is added to them, in units, and not below the floor."""
    record: npt.NDArray[np.int64] = np.maximum(counts + round(added * unit), _least(unit))
    return record


def _to_32_bits(logs: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.int32]:
    """Round to multiples of ``2**-bits``."""
    limits = np.iinfo(np.int32)
    return np.clip(np.rint(np.ldexp(logs, bits)), limits.min, limits.max).astype(np.int32)
