"""Shared parts of methods and models for labels."""

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import vote
from quietcrowd.domains import Categorical, Domain, FiniteDomain, NumericDomain
from quietcrowd.exceptions import AnswerError, SimilarLabelsWarning
from quietcrowd.gold import UNKNOWN, label_per_task
from quietcrowd.inference import integer_sums
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.accuracies import Accuracies, OwnVotes, no_histograms
from quietcrowd.inference.model import Extension, MethodT, Model, StateT, Tally, TallyT
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.report_domains import OrNull

Floats = npt.NDArray[np.float64]


def task_rows(partition: Partition) -> npt.NDArray[np.int64]:
    """Return the task of each row, shape (answers,)."""
    return np.repeat(np.arange(partition.tasks), np.diff(partition.offsets))


def vote_counts(partition: Partition, labels: int, weights: npt.NDArray[Any]) -> Floats:
    """Return the sum of the workers' weights for each label, shape (tasks, labels)."""
    cells = task_rows(partition) * labels + partition.values.astype(np.int64)
    size = partition.tasks * labels
    counts = np.bincount(cells, weights=weights[partition.worker_codes], minlength=size)
    table: Floats = counts.reshape(partition.tasks, labels).astype(np.float64, copy=False)
    return table


def probabilities(votes: Floats, partition: Partition) -> Floats:
    """Return probabilities from log-odds: 1 for a known truth, NaN for a task without answers."""
    odds = np.exp(votes - votes.max(axis=1, keepdims=True))
    return _with_known(odds / odds.sum(axis=1, keepdims=True), partition)


def vote_shares(counts: Floats, partition: Partition) -> Floats:
    """Return the fraction of votes of each label, shape (tasks, labels); 1 for known truths."""
    with np.errstate(invalid="ignore"):
        return _with_known(counts / counts.sum(axis=1, keepdims=True), partition)


def _with_known(shares: Floats, partition: Partition) -> Floats:
    known = partition.known_truths
    shares[np.diff(partition.offsets) == 0] = np.nan
    rows = np.flatnonzero(known >= 0)
    shares[rows] = 0.0
    shares[rows, known[rows]] = 1.0
    return shares


@frozen(kw_only=True, eq=False)
class AgreementTally(Tally):
    """Agreement of each worker with the estimates.

    `agreed` are sums of `integer_sums.shares`: an agreement with one of t tied labels counts 1 / t.
    `histograms` are those of `Accuracies`, empty in passes without estimates.
    """

    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)

    @override
    def extended(self, extension: Extension) -> Self:
        return type(self)(
            agreed=extension.sums(self.agreed), histograms=extension.sums(self.histograms)
        )


@frozen(kw_only=True, eq=False, slots=False)
class CategoricalModel(Model[MethodT, StateT, TallyT]):
    """A model of labels; its tallies have ``agreed`` and ``histograms`` like `AgreementTally`."""

    @override
    def unknown(self, tasks: int) -> npt.NDArray[np.int32]:
        return np.full(tasks, UNKNOWN, np.int32)

    @override
    def empty(self, tasks: int) -> LabelEstimates:
        return LabelEstimates.empty(tasks, np.min_scalar_type(self.summary.labels))

    @override
    def finish(self, estimates: Any, known: npt.NDArray[Any]) -> LabelEstimates:
        labels: LabelEstimates = estimates
        return labels

    @override
    def workers(self, tally: TallyT, state: StateT | None) -> dict[str, npt.NDArray[Any]]:
        sums: Any = tally
        return {"agreement": self.agreement(tally), **self.accuracies.estimate(sums.histograms)}

    def agreement(self, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return the fraction of each worker's answers that agree with the estimates."""
        sums: Any = tally
        with np.errstate(invalid="ignore"):
            return integer_sums.from_shares(sums.agreed) / self.summary.answers_per_worker

    @cached_property
    def accuracies(self) -> Accuracies:
        """Estimator of workers' accuracies from these reports."""
        return Accuracies.of(self.summary)

    @cached_property
    def shares(self) -> npt.NDArray[np.int64]:
        """Value of an agreement with one of t tied labels."""
        return integer_sums.shares(self.summary.labels)

    def tally_votes(
        self,
        partition: Partition,
        weights: npt.NDArray[np.int64],
        estimates: LabelEstimates | None,
        *,
        nats: float = 0.0,
        votes: OwnVotes | None = None,
    ) -> AgreementTally:
        """Let every answer vote with its worker's weight, and count agreements.

        `nats` are the log-odds of a weight of 1, for confidences; 0 if votes are only counted.
        `votes` are the log-odds of reports, for the workers' quality; by default all are alike.
        """
        method: Any = self.method
        agreed = np.zeros(self.summary.workers, np.int64)
        arrays = (estimates or LabelEstimates.empty(0, partition.values.dtype)).arrays
        vote(partition.labels, weights, self.shares, nats, method.random_state, agreed, arrays)
        histograms = no_histograms()
        if estimates is not None:
            histograms = self.accuracies.histograms(partition, votes or OwnVotes())
        return AgreementTally(agreed=agreed, histograms=histograms)


@frozen(kw_only=True, slots=False)
class CategoricalMethod(FittingMethod):
    """A truth-inference method for `Categorical` and `Ordinal` domains."""

    corrects_quality: ClassVar[bool] = True

    @abstractmethod
    def model_for(self, summary: Summary) -> Model[Any, Any, Any]:
        """Return the model of data with a checked domain."""

    @override
    def bind(self, summary: Summary, known: npt.NDArray[Any] | None = None) -> Model[Any, Any, Any]:
        check_labels(summary.domain, type(self).__name__)
        return self.model_for(summary)

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return True

    @override
    def check_mechanism(self, mechanism: Any) -> None:
        check_reports_are_answers(mechanism, type(self).__name__)

    @override
    def domain_of(self, labels: pa.Array) -> Categorical:
        return labels_of(labels)

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.int32]:
        return label_per_task(tasks, truths, check_labels(domain, type(self).__name__))


def check_labels(domain: Domain, name: str) -> FiniteDomain:
    """Return a finite domain; AnswerError, by the method of this name, if answers are numbers."""
    if not isinstance(domain, FiniteDomain):
        raise AnswerError("inference.labels-needed", name=name, domain=domain.describe())
    return domain


def check_reports_are_answers(mechanism: Any, name: str) -> None:
    """Raise AnswerError, by the method of this name, if reports are other labels than answers."""
    if not isinstance(mechanism.domain, FiniteDomain) or not _other_reports(mechanism):
        return
    way = "NoiseAware needs a finite channel, with a row for each answer and a column per report."
    if mechanism.has_table or mechanism.channel.sets is not None:
        kind = "distribution" if mechanism.channel.sets is not None else "table"
        way = f"NoiseAware (on the command line: --method noise-aware) reads them by their {kind}."
    raise AnswerError(
        "inference.reports-are-not-answers",
        name=name,
        type_name=type(mechanism).__name__,
        domain=mechanism.report_domain.describe(),
        other_domain=mechanism.domain.describe(),
        way=way,
    )


def _other_reports(mechanism: Any) -> bool:
    """Return whether reports of labels are neither answers, nor NULL, nor numbers of a grid."""
    reports = mechanism.report_domain
    if isinstance(reports, NumericDomain) and not isinstance(reports, FiniteDomain):
        return False
    return bool(reports != mechanism.domain and reports != OrNull(domain=mechanism.domain))


def labels_of(labels: pa.Array) -> Categorical:
    """Return the domain of distinct labels; warn if two differ only by case.

    Floats that are all whole numbers are classes, because pandas makes floats of whole numbers if
    one is missing.
    """
    if not len(labels):
        raise AnswerError("inference.no-label")
    found = sorted(labels.to_pylist())
    _warn_if_similar(found)
    return Categorical(map(int, found) if are_whole_floats(labels) else found)


def are_whole_floats(labels: pa.Array) -> bool:
    """Return whether labels are floats that may be classes: whole numbers, at least one."""
    if not (pa.types.is_floating(labels.type) and len(labels)):
        return False
    whole = pc.and_(pc.equal(labels, pc.round(labels)), pc.less(pc.abs(labels), 2.0**53))
    return bool(pc.all(whole).as_py())


def _warn_if_similar(labels: list[Any]) -> None:
    """Warn about the first of sorted labels that differ only by capitals or spaces."""
    spelt: dict[str, str] = {}
    for label in labels:
        if not isinstance(label, str):
            continue
        first = spelt.setdefault(" ".join(label.casefold().split()), label)
        if first != label:
            warnings.warn(
                SimilarLabelsWarning("inference.similar-labels", first=first, label=label),
                stacklevel=4,
            )
            return
