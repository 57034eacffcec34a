"""From answers with labels to an estimate: what all methods on finite domains share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import ADVICE
from quietcrowd.domains import Categorical, Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import column_of
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.method import LabelEstimates, StateT, TallyT
from quietcrowd.inference.partition import Overview, Partition, Summary
from quietcrowd.known_truths import label_per_task
from quietcrowd.mechanisms.channel import Channel

__all__ = ["CategoricalMethod"]


@frozen(kw_only=True, slots=False)
class CategoricalMethod(FittingMethod[StateT, TallyT]):
    """A truth-inference method for `Categorical` and `Ordinal` domains."""

    corrects_quality: ClassVar[bool] = True

    @property
    def infers_labels(self) -> bool:
        """True: truths are labels."""
        return True

    def room(self, tasks: int, summary: Summary) -> LabelEstimates:
        """Return room for labels; see `TruthInference.room`."""
        return LabelEstimates.empty(tasks, np.min_scalar_type(summary.labels))

    @abstractmethod
    def agreement(self, summary: Summary, tally: TallyT) -> npt.NDArray[np.float64]:
        """Return the share of each worker's answers that agree with the estimates.

        NaN for a worker without answers.
        """

    def _domain_of(self, frame: nw.DataFrame[Any]) -> Categorical:
        labels = (
            pc.unique(column_of(frame, "label", ADVICE["frame"].column)).drop_null().to_pylist()
        )
        if not labels:
            raise AnswerError("there is no answer: column 'label' is empty")
        return Categorical(sorted(labels))

    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[np.int32]:
        """Return codes; see `FittingMethod.known`."""
        return label_per_task(tasks, truths, self._check_labels(domain))

    def summarize(self, overview: Overview, known: npt.NDArray[Any]) -> Summary:  # noqa: ARG002
        """Count the labels; see `FittingMethod.summarize`."""
        return overview.summary(labels=self._check_labels(overview.domain).size)

    def scale(self, partition: Partition, summary: Summary) -> Partition:  # noqa: ARG002
        """Return the partition as it is; see `FittingMethod.scale`."""
        return partition

    def _check_labels(self, domain: Domain) -> FiniteDomain:
        if not isinstance(domain, FiniteDomain):
            raise AnswerError(
                f"{type(self).__name__} needs labels, a Categorical or Ordinal domain; these are "
                f"numbers, {domain.describe()}. Take WeightedMean, Mean or Median (on the command "
                "line: --method weighted-mean)."
            )
        return domain

    def finish(
        self,
        estimates: Any,
        gold: npt.NDArray[Any],  # noqa: ARG002
        summary: Summary,  # noqa: ARG002
    ) -> LabelEstimates:
        """Return the estimates as they are; see `FittingMethod.finish`."""
        labels: LabelEstimates = estimates
        return labels

    def qualities(
        self,
        summary: Summary,
        tally: TallyT,
        state: StateT | None,  # noqa: ARG002
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return agreement and quality; see `FittingMethod.qualities`."""
        agreement = self.agreement(summary, tally)
        shares = summary.answers_per_worker / max(summary.tasks, 1)
        quality = _quality(agreement, shares, summary.channel, summary.labels)
        return {"agreement": agreement, "quality": quality}


def _quality(
    agreement: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    channel: Channel | None,
    labels: int,
) -> npt.NDArray[np.float64]:
    """Undo what the channel does to agreement, clipped to 0..1; NaN where it tells nothing.

    With ``keep`` the probability to keep an answer and ``other`` that of one other label, raw
    agreement is ``other + (keep - other) quality``. Where NULL is one more label, and `shares` of
    all tasks come back as labels, a worker who answers a share r of them has
    ``share = labels other + r (keep - other)`` and
    ``share agreement = other + r (keep - other) quality``.
    """
    rates = None if channel is None else channel.keep_and_other
    if channel is None or channel.probabilities is None or rates is None:
        return agreement
    keep, other = rates
    if len(channel.probabilities) == labels + 1:
        answered = shares - labels * other
        with np.errstate(divide="ignore", invalid="ignore"):
            quality = (shares * agreement - other) / answered
        return np.where(answered > 0, np.clip(quality, 0.0, 1.0), np.nan)
    if keep == other:
        return np.full_like(agreement, np.nan)
    return np.clip((agreement - other) / (keep - other), 0.0, 1.0)
