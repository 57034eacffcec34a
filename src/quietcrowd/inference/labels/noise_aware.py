"""`NoiseAware` for labels: truths and accuracies from reports whose channel is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd._core import infer_noisy_labels
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference import integer_sums
from quietcrowd.inference.further_report import EVERY_TASK, FurtherLabel
from quietcrowd.inference.labels.accuracies import (
    OwnVotes,
    accuracies,
    accuracy_histograms,
    answers_worth,
    no_histograms,
)
from quietcrowd.inference.labels.confusion import MOST_CELLS
from quietcrowd.inference.labels.crowd import (
    ACCURACY_STEPS,
    CALIBRATION_ONE,
    FRACTION_BITS,
    TEMPERATURES,
    CrowdState,
    CrowdTally,
    prior_crowd,
)
from quietcrowd.inference.labels.crowd_model import LabelModel
from quietcrowd.inference.labels.flags import worker_flags
from quietcrowd.inference.labels.learning import learn_crowd
from quietcrowd.inference.labels.model import reads_by_table
from quietcrowd.inference.labels.reports import KINDS, WorkerReports
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates

__all__ = ["NoiseAwareLabels"]

MOST_LAWS = 2**24
"""Most numbers in the laws of reports: 128 MiB, and a few such arrays are needed."""

_LARGEST_LOG = 64.0
"""No log-probability of a report is larger."""


@frozen(kw_only=True, slots=False)
class NoiseAwareLabels(LabelModel[CrowdState, CrowdTally]):
    """The part of `NoiseAware` that infers labels: ``docs/theory/noise-aware-labels.md``."""

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return reads_by_table(mechanism)

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports whose law is no table."""
        self._check_labels(mechanism.domain)
        if not reads_by_table(mechanism):
            raise AnswerError(
                f"NoiseAware needs reports whose law is a public table, a row for each answer and "
                f"a column for each report; that of {type(mechanism).__name__} is none. Take "
                "WeightedVote (on the command line: --method weighted-vote), if its reports are "
                "answers."
            )

    @override
    def first_state(self, summary: Summary, tally: CrowdTally) -> CrowdState:
        return prior_crowd(
            WorkerReports.of(summary), tally.report_counts, self._frequencies(summary)
        )

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: CrowdState | None,
        estimates: LabelEstimates | None,
    ) -> CrowdTally:
        """Find posteriors; in the very first pass count reports alone."""
        tally = self._empty_tally(summary)
        if state is None:
            start, end = partition.offsets[0], partition.offsets[-1]
            reports = len(tally.report_counts)
            tally.report_counts[:] = np.bincount(partition.values[start:end], minlength=reports)
            return tally
        found = self._infer(partition, summary, state, estimates, None, tally)
        if estimates is None:
            return found
        return evolve(found, histograms=self._tell(partition, summary, state))

    @override
    def further_report(
        self, summary: Summary, state: CrowdState | None, worker: int | None
    ) -> FurtherLabel:
        """Return the law of a report given the truth; blunted as estimates are.

        Raises
        ------
        ParameterError
            Where NULL is a label: every worker reports every task then.
        """
        assert state is not None
        law = summary.report_law
        if law is not None and law.tables.shape[1] > summary.labels:
            raise ParameterError(EVERY_TASK)
        row = -1 if worker is None else worker
        logs = state.votes[row].T * (2.0**-FRACTION_BITS * state.sharpness)
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        return FurtherLabel(table=likely / likely.sum(axis=1, keepdims=True))

    @override
    def _infer(
        self,
        partition: Partition,
        summary: Summary,
        state: CrowdState,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
        tally: CrowdTally,
    ) -> CrowdTally:
        labels, reports = summary.labels, state.log_odds.shape[1]
        room = estimates or LabelEstimates.empty(0, np.min_scalar_type(labels))
        entropy = infer_noisy_labels(
            partition.labels,
            reports,
            state.log_odds.reshape(-1),
            state.votes.reshape(-1),
            2.0**-FRACTION_BITS,
            state.log_priors / integer_sums.ONE,
            state.sharpness,
            TEMPERATURES,
            self.unit(summary),
            CALIBRATION_ONE,
            integer_sums.shares(labels),
            self.seed,
            tally.counts.reshape(-1),
            tally.classes,
            tally.calibration,
            tally.agreed,
            room.arrays,
            np.zeros((0, labels)) if posterior is None else posterior,
        )
        answered = np.diff(partition.offsets) > 0
        return CrowdTally(
            counts=tally.counts,
            classes=tally.classes,
            entropy=entropy,
            report_counts=tally.report_counts,
            calibration=tally.calibration,
            compared=int((answered & (partition.known_truths != UNKNOWN)).sum()),
            agreed=tally.agreed,
        )

    @override
    def _tell(
        self, partition: Partition, summary: Summary, state: CrowdState
    ) -> npt.NDArray[np.int64]:
        """Return what reports tell of workers' accuracies, by the votes of the last pass."""
        if summary.other_reports:
            return no_histograms()
        votes = OwnVotes()
        if state.votes.shape[1] == summary.labels:
            votes = OwnVotes(
                own=state.votes[:-1].reshape(-1),
                nats=2.0**-FRACTION_BITS,
                log_priors=state.log_priors / integer_sums.ONE,
                learnt_from=0.0,
            )
        return accuracy_histograms(partition, summary, votes)

    @override
    def _empty_tally(self, summary: Summary) -> CrowdTally:
        reports = self._reports(summary)
        integer_sums.check_room(summary.longest_task + 1, _LARGEST_LOG)
        return CrowdTally(
            counts=np.zeros((summary.workers, reports, summary.labels), np.int64),
            classes=np.zeros(summary.labels, np.int64),
            entropy=0,
            report_counts=np.zeros(reports, np.int64),
            calibration=np.zeros(len(TEMPERATURES), np.int64),
            compared=0,
            agreed=np.zeros(summary.workers, np.int64),
        )

    def _reports(self, summary: Summary) -> int:
        """Return how many reports there can be, NULL apart, or refuse where that is too many."""
        law, labels = summary.report_law, summary.labels
        reports, laws = labels, 1
        if law is not None:
            null = law.tables.shape[1] - labels
            reports, laws = law.tables.shape[2] - null, len(law.tables) * (KINDS if null else 1)
        if laws * labels * ACCURACY_STEPS * reports > MOST_LAWS:
            raise ParameterError(
                f"{labels:,} labels and {reports:,} kinds of reports make {laws:,} tables of "
                f"{labels * ACCURACY_STEPS * reports:,} numbers, one per channel and "
                f"rate of participation: more than {MOST_LAWS:,} in all. {_way_out(summary)}"
            )
        if (summary.workers + 1) * reports * labels > MOST_CELLS:
            raise ParameterError(
                f"{summary.workers:,} workers, {labels:,} labels and {reports:,} kinds of reports "
                f"make tables of {summary.workers * reports * labels:,} numbers, more than "
                f"{MOST_CELLS:,}. {_way_out(summary)}"
            )
        return reports

    @override
    def update(
        self, summary: Summary, tally: CrowdTally, state: CrowdState | None
    ) -> tuple[CrowdState, float]:
        """Weigh the workers, and learn of the crowd."""
        reports, frequencies = WorkerReports.of(summary), self._frequencies(summary)
        if state is None:
            state = self.first_state(summary, tally)
        learned, climbed = learn_crowd(reports, tally, state, self.unit(summary), frequencies)
        return learned, climbed / summary.answers

    @override
    def qualities(
        self, summary: Summary, tally: CrowdTally, state: CrowdState | None
    ) -> dict[str, npt.NDArray[Any]]:
        """Return what is found of the workers: nothing, where reports are no answers."""
        assert state is not None
        if summary.other_reports:
            names = ("agreement", "quality", "quality_low", "quality_high")
            nothing = {name: np.full(summary.workers, np.nan) for name in names}
            return {**nothing, "flag": np.full(summary.workers, None, object)}
        found = accuracies(summary, tally.histograms, medians=True)
        flags = worker_flags(
            WorkerReports.of(summary),
            tally.counts,
            self.unit(summary),
            state.constancy[:-1],
            found.pop("median"),
            answers_worth(summary),
        )
        return {"agreement": self.agreement(summary, tally), **found, "flag": flags}

    @override
    def extend_tally(self, tally: CrowdTally, extension: Extension) -> CrowdTally:
        entropy = extension.total(np.array([tally.entropy]), self.unit)
        histograms = tally.histograms
        return CrowdTally(
            counts=extension.sums(tally.counts, self.unit),
            classes=extension.total(tally.classes, self.unit),
            entropy=int(entropy[0]),
            report_counts=tally.report_counts,
            calibration=tally.calibration,
            compared=tally.compared,
            agreed=extension.sums(tally.agreed),
            histograms=extension.sums(histograms) if histograms.ndim else histograms,
        )


def _way_out(summary: Summary) -> str:
    """Return what to do where there are too many workers and labels."""
    if summary.other_reports:
        return "Take fewer labels: no other method reads such reports."
    return (
        "Take WeightedVote, one number per worker (on the command line: --method weighted-vote), "
        "or fewer labels."
    )
