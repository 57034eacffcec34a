"""`NoiseAware` for labels: truths and accuracies from reports whose channel is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.domains import check_finite
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference.accuracies import (
    OwnVotes,
    accuracies,
    accuracy_histograms,
    answers_worth,
    no_histograms,
)
from quietcrowd.inference.categorical import CategoricalMethod, reads_by_table
from quietcrowd.inference.dawid_skene import MOST_CELLS
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.kernels.noisy_labels import (
    LabelCounts,
    LabelRoom,
    noisy_label_kernel,
)
from quietcrowd.inference.label_learning import LEAST_KNOWN_TRUTHS, learn_crowd
from quietcrowd.inference.label_state import (
    ACCURACY_STEPS,
    CALIBRATION_ONE,
    FRACTION_BITS,
    TEMPERATURES,
    CrowdState,
    CrowdTally,
    first_frequencies,
    fixed_logarithms,
    prior_crowd,
)
from quietcrowd.inference.method import IterativeInference, LabelEstimates, Scatter
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.worker_flags import LEAST_ANSWERS, worker_flags
from quietcrowd.inference.worker_reports import KINDS, WorkerReports
from quietcrowd.known_truths import UNKNOWN
from quietcrowd.validation import at_least, plain, whole_number

__all__ = ["NoiseAwareLabels"]

MOST_LAWS = 2**24
"""Most numbers in the laws of reports: 128 MiB, and a few such arrays are needed."""

_LARGEST_LOG = 64.0
"""No log-probability of a report is larger."""

LEAST_GAIN = 0.9
"""The noise hides the truths where estimates are expected to be wrong in more than this part of
the cases that the best constant guess is wrong in."""

LEAST_WRONG = 0.05
"""Where fewer estimates are expected to be wrong, nothing is hidden, though truths are alike."""


@frozen(kw_only=True, slots=False)
class NoiseAwareLabels(
    CategoricalMethod[CrowdState, CrowdTally], IterativeInference[CrowdState, CrowdTally]
):
    """The part of `NoiseAware` that infers labels: ``docs/theory/noise-aware-labels.md``."""

    name: ClassVar[str] = "noise-aware"
    prior: Mapping[str, float] | None = None
    max_iterations: int = field(default=30, converter=plain, validator=whole_number(1))
    tolerance: float = field(default=1e-5, converter=plain, validator=at_least(0))

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
    def start_from(self, state: CrowdState, earlier: Any, summary: Summary) -> CrowdState:
        """Take over what is known of workers; frequencies of truths too, if the prior is the same.

        Otherwise they are those of `prior`, or start as they do without an earlier estimate.
        """
        if _as_pairs(earlier.prior) == _as_pairs(self.prior):
            return state
        frequencies = first_frequencies(state.guesses, self._frequencies(summary))
        return evolve(state, log_priors=fixed_logarithms(frequencies))

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
    def judge(
        self, partition: Partition, summary: Summary, state: CrowdState | None
    ) -> npt.NDArray[np.int64]:
        assert state is not None
        return self._tell(partition, summary, state)

    def posterior(
        self, partition: Partition, summary: Summary, state: CrowdState
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels), as the last pass does."""
        room = self.room(partition.tasks, summary)
        posterior = np.zeros((partition.tasks, summary.labels))
        tally = self._empty_tally(summary)
        self._infer(partition, summary, state, room, posterior, tally)
        return posterior

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
        nothing = np.zeros((0, labels))
        entropy = noisy_label_kernel(labels, reports)(
            *partition.labels,
            state.log_odds.reshape(-1),
            state.votes.reshape(-1),
            2.0**-FRACTION_BITS,
            state.log_priors / integer_sums.ONE,
            estimates is not None,
            state.sharpness,
            TEMPERATURES,
            self.unit(summary),
            CALIBRATION_ONE,
            integer_sums.shares(labels),
            np.uint64(self.seed),
            LabelCounts(tally.counts.reshape(-1), tally.classes, tally.calibration, tally.agreed),
            LabelRoom(
                room.truths,
                room.confidence,
                room.tied,
                nothing if posterior is None else posterior,
            ),
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
    def notes(
        self, summary: Summary, state: CrowdState | None, tally: CrowdTally
    ) -> tuple[str, ...]:
        assert state is not None
        found = []
        if tally.compared >= LEAST_KNOWN_TRUTHS:
            found.append(
                f"Confidences are corrected by {tally.compared:,} known truths: their log-odds "
                f"are multiplied by {state.sharpness:.2f}."
            )
        else:
            found.append(
                "Where workers err together, confidences are too high: only known truths (gold) "
                f"can tell. There are {tally.compared:,}; from {LEAST_KNOWN_TRUTHS} on they "
                "correct it."
            )
        worth = answers_worth(summary)
        if summary.labels > 1 and np.sort(worth)[len(worth) // 2] < LEAST_ANSWERS:
            found.append(
                "For half of the workers all reports together tell less than "
                f"{LEAST_ANSWERS:.0f} plain answers would: an honest worker among them cannot be "
                "told from one who guesses."
            )
        return tuple(found)

    def _frequencies(self, summary: Summary) -> npt.NDArray[np.float64] | None:
        """Return known frequencies of the labels; those without one share the rest."""
        if self.prior is None:
            return None
        names = [str(label) for label in check_finite(summary.domain, "NoiseAware").labels]
        unknown = sorted(self.prior.keys() - set(names))
        if unknown:
            raise ParameterError(f"prior: {unknown[0]!r} is no label; labels are {names}")
        given = np.array([self.prior.get(name, np.nan) for name in names])
        rest = 1.0 - np.nansum(given)
        if rest > 1e-9 and not np.isnan(given).any():
            raise ParameterError(
                f"prior must sum to 1 where it names all labels; {dict(self.prior)} sums to "
                f"{1.0 - rest:g}"
            )
        return np.where(np.isnan(given), rest / max(np.isnan(given).sum(), 1), given)

    def unit(self, summary: Summary) -> float:
        """Return what a probability of 1 is stored as in tallies."""
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        return integer_sums.unit_for(summary.most_answers + tasks)

    @override
    def signal_warnings(
        self, summary: Summary, tally: CrowdTally, state: CrowdState | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn where the posterior expects hardly more of the estimates than of one same guess."""
        total = int(tally.classes.sum())
        if summary.report_law is None or not scatter.labels or not total:
            return []
        likeliest = int(tally.classes.argmax())
        guessed = 1.0 - int(tally.classes[likeliest]) / total
        if scatter.error_rate < max(LEAST_WRONG, LEAST_GAIN * guessed):
            return []
        label = check_finite(summary.domain, "NoiseAware").labels[likeliest]
        return [
            NoSignalWarning(
                f"the noise hides the truths: {scatter.error_rate:.0%} of the estimates are "
                f"expected to be wrong, and of a guess that is always {label!r} "
                f"{guessed:.0%}. It takes more workers, or a larger epsilon. Known truths of some "
                "tasks help (gold=, on the command line --gold), and known frequencies of the "
                "labels (prior=)."
            )
        ]

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


def _as_pairs(prior: Any) -> Any:
    """Return what a prior is compared by: a mapping, or (label, frequency) pairs."""
    return None if prior is None else dict(prior)


def _way_out(summary: Summary) -> str:
    """Return what to do where there are too many workers and labels."""
    if summary.other_reports:
        return "Take fewer labels: no other method reads such reports."
    return (
        "Take WeightedVote, one number per worker (on the command line: --method weighted-vote), "
        "or fewer labels."
    )
