"""From answers with labels to an estimate: what all methods on finite domains share."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import vote
from quietcrowd.answer_errors import ADVICE
from quietcrowd.domains import Categorical, Domain, FiniteDomain, NumericDomain
from quietcrowd.exceptions import AnswerError, SimilarLabelsWarning
from quietcrowd.frames import column_of
from quietcrowd.gold import label_per_task
from quietcrowd.inference import integer_sums
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.accuracies import (
    OwnVotes,
    accuracies,
    accuracy_histograms,
    no_histograms,
)
from quietcrowd.inference.method import StateT, TallyT
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, Tally
from quietcrowd.report_domains import OrNull

__all__ = [
    "AgreementTally",
    "CategoricalMethod",
    "other_reports",
    "reads_by_table",
    "sweep_votes",
]


@frozen(kw_only=True, eq=False)
class AgreementTally(Tally):
    """How often each worker agreed with the estimates.

    Attributes
    ----------
    agreed : ndarray of int64, shape (workers,)
        Sums of `integer_sums.shares`: an agreement with one of t tied labels counts 1 / t.
    histograms : ndarray of int64
        What reports tell of workers' accuracies: `accuracy_histograms`, or nothing in passes that
        estimate nothing.
    """

    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)

    @override
    def extended(self, extension: Extension) -> Self:
        return type(self)(
            agreed=extension.sums(self.agreed), histograms=extension.sums(self.histograms)
        )


def sweep_votes(
    partition: Partition,
    summary: Summary,
    *,
    weights: npt.NDArray[np.int64],
    nats: float,
    seed: int,
    estimates: LabelEstimates | None,
    votes: OwnVotes | None = None,
) -> AgreementTally:
    """Let every answer vote with its worker's weight, and credit the workers who agree.

    Parameters
    ----------
    partition, summary, estimates
        See `TruthInference.sweep`.
    weights : ndarray of int64, shape (workers,)
        What a worker's vote counts.
    nats : float
        Log-odds of a vote of 1, for confidences; 0 where votes are counts.
    seed : int
        For ties.
    votes : OwnVotes, optional
        What the workers' reports are worth, for the workers' quality; by default all are alike, as
        where weights are no log-odds.
    """
    room = estimates or LabelEstimates.empty(0, partition.values.dtype)
    agreed = np.zeros(summary.workers, np.int64)
    vote(
        partition.labels,
        weights,
        integer_sums.shares(summary.labels),
        nats,
        seed,
        agreed,
        room.arrays,
    )
    histograms = no_histograms()
    if estimates is not None:
        histograms = accuracy_histograms(partition, summary, votes or OwnVotes())
    return AgreementTally(agreed=agreed, histograms=histograms)


def other_reports(mechanism: Any) -> bool:
    """Return whether reports of labels are neither these, nor NULL, nor numbers of a grid."""
    reports = mechanism.report_domain
    if isinstance(reports, NumericDomain) and not isinstance(reports, FiniteDomain):
        return False
    return bool(reports != mechanism.domain and reports != OrNull(domain=mechanism.domain))


def reads_by_table(mechanism: Any) -> bool:
    """Return whether a public table says how the reports come from labels.

    It has a row for each answer, and a column for each report; NULL is the last of both where it
    is one.
    """
    law, answers = mechanism.report_law, mechanism.domain
    if law is None or not isinstance(answers, FiniteDomain):
        return False
    rows, columns = law.tables.shape[1:]
    if mechanism.report_domain == OrNull(domain=answers):
        return bool(rows == columns == answers.size + 1)
    size = getattr(mechanism.report_domain, "size", columns)
    whole = mechanism.report_domain.dtype.kind in "iu"
    return bool(whole and rows == answers.size and columns == size)


@frozen(kw_only=True, slots=False)
class CategoricalMethod(FittingMethod[StateT, TallyT]):
    """A truth-inference method for `Categorical` and `Ordinal` domains."""

    corrects_quality: ClassVar[bool] = True

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return True

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports that are other labels than answers are."""
        if isinstance(mechanism.domain, FiniteDomain) and other_reports(mechanism):
            way = (
                "NoiseAware would need a public table: a row for each answer, and a column for "
                "each report."
            )
            if reads_by_table(mechanism) or mechanism.channel.sets is not None:
                law = "law" if mechanism.channel.sets is not None else "table"
                way = (
                    "NoiseAware (on the command line: --method noise-aware) reads them by their "
                    f"{law}."
                )
            raise AnswerError(
                f"{type(self).__name__} reads reports as answers, and those of "
                f"{type(mechanism).__name__} are none: a report is "
                f"{mechanism.report_domain.describe()}, an answer {mechanism.domain.describe()}. "
                f"{way}"
            )

    @override
    def room(self, tasks: int, summary: Summary) -> LabelEstimates:
        return LabelEstimates.empty(tasks, np.min_scalar_type(summary.labels))

    def agreement(self, summary: Summary, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return the share of each worker's answers that agree with the estimates.

        NaN for a worker without answers. Here of a tally whose ``agreed`` is as that of
        `AgreementTally`, as its ``histograms`` have to be, too.
        """
        agreed: npt.NDArray[np.int64] = tally.agreed  # type: ignore[attr-defined]
        with np.errstate(invalid="ignore"):
            return integer_sums.from_shares(agreed) / summary.answers_per_worker

    @override
    def domain_of(self, frame: nw.DataFrame[Any]) -> Categorical:
        labels = (
            pc.unique(column_of(frame, "label", ADVICE["frame"].column)).drop_null().to_pylist()
        )
        if not labels:
            raise AnswerError("there is no answer: column 'label' is empty")
        _warn_of_similar(sorted(labels))
        return Categorical(sorted(labels))

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.int32]:
        return label_per_task(tasks, truths, self._check_labels(domain))

    @override
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        """Check that there are labels."""
        self._check_labels(summary.domain)
        return summary

    @override
    def scale(self, partition: Partition, summary: Summary) -> Partition:
        return partition

    def _check_labels(self, domain: Domain) -> FiniteDomain:
        if not isinstance(domain, FiniteDomain):
            raise AnswerError(
                f"{type(self).__name__} needs labels, a Categorical or Ordinal domain; these are "
                f"numbers, {domain.describe()}. Take WeightedMean, Mean or Median (on the command "
                "line: --method weighted-mean)."
            )
        return domain

    @override
    def finish(
        self,
        estimates: Any,
        known: npt.NDArray[Any],
        summary: Summary,
    ) -> LabelEstimates:
        labels: LabelEstimates = estimates
        return labels

    @override
    def qualities(
        self,
        summary: Summary,
        tally: TallyT,
        state: StateT | None,
    ) -> dict[str, npt.NDArray[np.float64]]:
        histograms: npt.NDArray[np.int64] = tally.histograms  # type: ignore[attr-defined]
        return {"agreement": self.agreement(summary, tally), **accuracies(summary, histograms)}


def _warn_of_similar(labels: list[Any]) -> None:
    """Warn of the first labels that differ by capitals or spaces alone: they may be meant as one.

    Given are those that occur, sorted.
    """
    spelt: dict[str, str] = {}
    for label in labels:
        if not isinstance(label, str):
            continue
        first = spelt.setdefault(" ".join(label.casefold().split()), label)
        if first != label:
            warnings.warn(
                f"the labels {first!r} and {label!r} differ by capitals or spaces alone, and are "
                "counted as different answers. If they are meant as one, write them alike",
                SimilarLabelsWarning,
                stacklevel=3,
            )
            return
