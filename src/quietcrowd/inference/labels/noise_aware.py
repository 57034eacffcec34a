"""`NoiseAware` for labels: truths and accuracies from reports with a table as channel."""

import math
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd._core import infer_noisy_labels
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference import integer_sums
from quietcrowd.inference.further_report import FurtherLabel
from quietcrowd.inference.labels.accuracies import OwnVotes
from quietcrowd.inference.labels.confusion import MOST_CELLS
from quietcrowd.inference.labels.crowd import (
    FRACTION_BITS,
    LEAST,
    MANY_LABELS,
    PRIOR_TASKS,
    CrowdState,
    CrowdTally,
    Grid,
    fixed_logarithms,
    normalised,
    prior_crowd,
)
from quietcrowd.inference.labels.crowd_model import CrowdModel, compared_in
from quietcrowd.inference.labels.flags import CONSTANT, UNRANDOMIZED, worker_flags
from quietcrowd.inference.labels.groups.finding import Group, find_groups
from quietcrowd.inference.labels.groups.messages import (
    Sources,
    divergence,
    expected_logs,
    group_messages,
    prior_counts,
    source_counts,
)
from quietcrowd.inference.labels.groups.reports import GroupReports, busiest
from quietcrowd.inference.labels.learning import learn_crowd
from quietcrowd.inference.labels.model import check_labels, task_rows
from quietcrowd.inference.labels.reports import KINDS, WorkerReports
from quietcrowd.inference.labels.truth_map import DERIVATIVE_ONE
from quietcrowd.inference.model import Extension
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.rounds.transitions import Transitions
from quietcrowd.inference.task_estimates import LabelEstimates

HEARD_ONE = 2.0**20
"""Representation of a message of 1."""

MOST_PROBABILITIES = 2**24
"""Largest number of cells in the distributions of reports: 128 MiB, in several arrays."""

_LARGEST_LOG = 64.0
"""Limit of log-probabilities of reports."""


@frozen(kw_only=True, eq=False, slots=False)
class LabelModel(CrowdModel[CrowdState, CrowdTally]):
    """`NoiseAware` bound to labels: ``research/docs/theory/noise-aware-labels.md``.

    Members of the `groups` do not vote; the messages of their `sources` do, and they teach nothing
    about the crowd. `task_priors`, at [task, label], are log-priors of the truths if they follow
    time.
    """

    groups: tuple[Group, ...] = ()
    sources: Sources | None = None
    task_priors: npt.NDArray[np.float64] | None = None

    @cached_property
    def reports(self) -> WorkerReports:
        """Distributions of the workers' reports."""
        return WorkerReports.of(self.summary)

    @cached_property
    @override
    def accuracy_grid(self) -> npt.NDArray[np.float64]:
        """Accuracies to which the state gives probabilities, those of opposed workers last."""
        return Grid.of(self.summary.labels).accuracies

    @override
    def first_state(self, tally: CrowdTally) -> CrowdState:
        found = prior_crowd(self.reports, tally.report_counts, self.frequencies)
        return self._with_sources(evolve(found, truth_map=self.first_map), 0)

    @override
    def start_from(self, state: CrowdState, earlier: Any) -> CrowdState:
        """Keep the workers; reset the sources, since other groups may have been found."""
        state = super().start_from(state, earlier)
        return self._with_sources(evolve(state, sources=state.sources[:0]), 0)

    def _with_sources(self, state: CrowdState, answers: Any) -> CrowdState:
        """Return the state with expected answers of the sources; the members do not vote."""
        if self.sources is None:
            return state
        members = np.append(self.sources.slot >= 0, False)
        for table in (state.log_odds, state.votes):
            table[members] = 0
        return evolve(state, sources=prior_counts(len(self.groups), self.summary.labels) + answers)

    @property
    @override
    def seeks_groups(self) -> bool:
        """Whether groups are searched: not if NULL is a label."""
        distribution, labels = self.summary.report_distribution, self.summary.labels
        without_null = distribution is None or distribution.tables.shape[1] == labels
        return bool(self.method.groups) and without_null and labels > 1

    @override
    def group_reports(self, partition: Partition) -> GroupReports:
        answers = self.summary.answers_per_worker
        return GroupReports.of(partition, busiest(answers), self.summary.answers)

    @override
    def with_groups(self, reports: GroupReports) -> Self:
        """Search groups among the reports of each mechanism: their agreement depends on it."""
        table = self.reports.mean_table
        groups: tuple[Group, ...] = ()
        for columns in self.reports.columns:
            known = np.concatenate([[], *(group.members for group in groups)])
            found = find_groups(reports.within(columns), table[:, columns])
            groups += tuple(one for one in found if not np.isin(one.members, known).any())
        if not groups:
            return self
        counts = np.zeros((self.summary.workers, table.shape[1]), np.int64)
        np.add.at(counts, (reports.workers, reports.values), 1)
        return evolve(self, groups=groups, sources=Sources.of(groups, table, counts))

    @override
    def continued(self, earlier: Self) -> Self:
        if earlier.sources is None:
            return self
        slot = np.full(self.summary.workers, -1, np.int32)
        slot[: len(earlier.sources.slot)] = earlier.sources.slot
        return evolve(self, groups=earlier.groups, sources=evolve(earlier.sources, slot=slot))

    @override
    def _count(self, partition: Partition) -> CrowdTally:
        tally = self._empty_tally()
        rows = slice(partition.offsets[0], partition.offsets[-1])
        reports = len(tally.report_counts)
        tally.report_counts[:] = np.bincount(partition.values[rows], minlength=reports)
        return tally

    def further_report(self, state: CrowdState, worker: int | None) -> FurtherLabel:
        """Return the distribution of a report for each truth, unless NULL is a label."""
        distribution = self.summary.report_distribution
        if distribution is not None and distribution.tables.shape[1] > self.summary.labels:
            raise ParameterError("inference.every-task-reported")
        row = -1 if worker is None else worker
        logs = state.votes[row].T * (2.0**-FRACTION_BITS * state.truth_map.slope)
        likely = np.exp(logs - logs.max(axis=1, keepdims=True)) * self._part_shares(worker)
        table = likely / likely.sum(axis=1, keepdims=True)
        return FurtherLabel(table=table, right=state.truth_map.right(self.summary.labels))

    def _part_shares(self, worker: int | None) -> npt.NDArray[np.float64]:
        """Return how often a worker uses the mechanism of each report, among all of a mixture."""
        distribution, counts = self.summary.report_distribution, self.summary.answers_per_part
        if distribution is None or counts is None:
            return np.ones(1)
        own = counts.sum(axis=0) if worker is None else counts[worker]
        widths = [part.tables.shape[2] for part in distribution.parts]
        shares: npt.NDArray[np.float64] = np.repeat(own / max(own.sum(), 1), widths)
        return shares

    @override
    def _infer(
        self,
        partition: Partition,
        state: CrowdState,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
        apparent: npt.NDArray[np.float64] | None = None,
    ) -> CrowdTally:
        labels, reports = self.summary.labels, state.log_odds.shape[1]
        tally = self._empty_tally(state)
        log_priors = state.log_priors / integer_sums.ONE
        messages = np.zeros((0, labels))
        if self.sources is not None:
            evidence, answered = self.sources.evidence(partition)
            logs = expected_logs(state.sources)
            messages = group_messages(evidence, answered, logs)
        if self.task_priors is not None:
            more = self.task_priors - log_priors
            messages = messages + more if len(messages) else more
        if apparent is None:
            apparent = np.zeros((len(messages), labels))
        entropy = infer_noisy_labels(
            partition.labels,
            reports,
            state.log_odds.reshape(-1),
            state.votes.reshape(-1),
            2.0**-FRACTION_BITS,
            log_priors,
            state.truth_map.arguments(labels),
            self.unit,
            DERIVATIVE_ONE,
            self.shares,
            self.method.random_state,
            tally.counts.reshape(-1),
            tally.classes,
            tally.known.sums,
            tally.agreed,
            messages,
            apparent,
            (estimates or LabelEstimates.empty(0, np.min_scalar_type(labels))).arrays,
            np.zeros((0, labels)) if posterior is None else posterior,
        )
        tally = evolve(tally, entropy=entropy, known=compared_in(tally.known, partition))
        if len(messages):
            heard = np.rint((apparent * messages).sum(axis=1) * HEARD_ONE).astype(np.int64)
            tally = evolve(tally, heard=int(heard.sum()))
        if self.sources is None:
            return tally
        return evolve(tally, sources=source_counts(apparent, evidence, answered, logs, self.unit))

    def transitions(self, tally: CrowdTally, state: CrowdState) -> Transitions:  # noqa: ARG002
        """Return candidates of the truths' change, with the frequencies of all rounds."""
        if self.frequencies is not None:
            return Transitions.of_labels(self.frequencies)
        return Transitions.of_labels(normalised(tally.classes / self.unit + PRIOR_TASKS))

    def next_round(self, partition: Partition, priors: npt.NDArray[np.float64]) -> Self:  # noqa: ARG002
        """Return the model of a round, with log-priors of the truths."""
        return evolve(self, task_priors=priors)

    def at_rest(self, tally: CrowdTally, state: CrowdState) -> tuple[CrowdTally, CrowdState]:
        """Return the state with the frequencies of the truths in all rounds."""
        rest = self.transitions(tally, state).rest
        return tally, evolve(state, log_priors=fixed_logarithms(rest))

    def messages(self, partition: Partition, state: CrowdState) -> npt.NDArray[np.float64]:
        """Return log-likelihoods of each task's reports, without prior and known truth."""
        apparent = np.zeros((partition.tasks, self.summary.labels))
        self._infer(partition, state, self.empty(partition.tasks), None, apparent)
        priors = (
            state.log_priors / integer_sums.ONE if self.task_priors is None else self.task_priors
        )
        messages = np.log(np.maximum(apparent, LEAST)) - priors
        tasks = task_rows(partition)
        messages[np.diff(partition.offsets) == 0] = 0.0
        known = partition.known_truths != UNKNOWN
        if known.any():
            messages[known] = 0.0
            rows = known[tasks]
            votes = state.votes[partition.worker_codes[rows], partition.values[rows]]
            np.add.at(messages, tasks[rows], votes * 2.0**-FRACTION_BITS)
        return messages

    def predicted(self, partition: Partition, state: CrowdState) -> LabelEstimates:
        """Return estimates of tasks by the prior of each, and by known truths."""
        chances = self.posterior(partition.without_answers(), state)
        estimates = self.empty(partition.tasks)
        estimates.truths[:] = chances.argmax(axis=1)
        estimates.confidence[:] = chances.max(axis=1)
        return estimates

    @override
    def histograms(self, partition: Partition, state: CrowdState | None) -> npt.NDArray[np.int64]:
        """Return evidence of workers' accuracies, by the votes of the last pass."""
        assert state is not None
        votes = OwnVotes(
            own=state.votes[:-1].reshape(-1),
            nats=2.0**-FRACTION_BITS,
            log_priors=state.log_priors / integer_sums.ONE,
            learnt_from=0.0,
        )
        return self.accuracies.histograms(partition, votes)

    def _empty_tally(self, state: CrowdState | None = None) -> CrowdTally:
        reports, labels, workers = self._report_count, self.summary.labels, self.summary.workers
        return CrowdTally(
            counts=np.zeros((workers, reports, labels), np.int64),
            classes=np.zeros(labels, np.int64),
            entropy=0,
            report_counts=np.zeros(reports, np.int64),
            known=self.empty_known(state),
            sources=np.zeros((len(self.groups), labels, labels), np.int64),
            agreed=np.zeros(workers, np.int64),
        )

    def check_size(self) -> None:
        """Raise ParameterError if tables are too large."""
        _ = self._report_count

    @cached_property
    def _report_count(self) -> int:
        """Number of possible reports without NULL; ParameterError if tables are too large."""
        summary, distribution, labels = (
            self.summary,
            self.summary.report_distribution,
            self.summary.labels,
        )
        reports, distributions = labels, 1
        if distribution is not None:
            null = distribution.tables.shape[1] - labels
            reports, distributions = (
                distribution.tables.shape[2] - null,
                math.prod(len(part.tables) for part in distribution.parts or (distribution,))
                * (KINDS if null else 1),
            )
        places = len(self.accuracy_grid)
        if distributions * labels * places * reports > MOST_PROBABILITIES:
            raise ParameterError(
                "inference.channels-too-many",
                labels=labels,
                reports=reports,
                tables=distributions,
                cells=labels * places * reports,
                most_distributions=MOST_PROBABILITIES,
                advice=self._advice,
            )
        if (summary.workers + 1) * reports * labels > MOST_CELLS:
            raise ParameterError(
                "inference.report-tables-too-large",
                workers=summary.workers,
                labels=labels,
                reports=reports,
                cells=summary.workers * reports * labels,
                most_cells=MOST_CELLS,
                advice=self._advice,
            )
        integer_sums.check_overflow(summary.longest_task + 1, _LARGEST_LOG)
        return reports

    @property
    def _advice(self) -> str:
        if self.summary.other_reports:
            return "Use fewer labels; no other method supports such reports."
        return (
            "Use WeightedVote, one number per worker (on the command line: --method "
            "weighted-vote), or fewer labels."
        )

    @override
    def update(self, tally: CrowdTally, state: CrowdState | None) -> tuple[CrowdState, float]:
        """Learn workers and crowd; the next sweep reads no row of a report not given."""
        return self.updated(tally, state, all_rows=self._few_labels)

    @override
    def completed(
        self, state: CrowdState, tally: CrowdTally, earlier: CrowdState | None
    ) -> CrowdState:
        return state if self._few_labels else self.updated(tally, earlier, all_rows=True)[0]

    @property
    def _few_labels(self) -> bool:
        return self.summary.labels <= MANY_LABELS

    def updated(
        self, tally: CrowdTally, state: CrowdState | None, *, all_rows: bool
    ) -> tuple[CrowdState, float]:
        """Update; unless `all_rows`, tables are 0 for reports that a worker has not given."""
        if state is None:
            state = self.first_state(tally)
        counted = tally
        if self.sources is not None:
            counts = np.where((self.sources.slot >= 0)[:, np.newaxis, np.newaxis], 0, tally.counts)
            counted = evolve(tally, counts=counts)
        frequencies = self.frequencies
        if self.task_priors is not None:
            frequencies = np.exp(state.log_priors / integer_sums.ONE)
        learned, bound = learn_crowd(
            self.reports, counted, state, self.unit, frequencies, all_rows=all_rows
        )
        bound += tally.heard / HEARD_ONE
        if self.sources is not None:
            bound -= divergence(state.sources)
        if self.task_priors is not None:
            learned = evolve(learned, log_priors=state.log_priors)
        learned = self._with_sources(learned, tally.sources / self.unit)
        return self.mapped(learned, tally.known), bound / self.summary.answers

    @override
    def workers(self, tally: CrowdTally, state: CrowdState | None) -> dict[str, npt.NDArray[Any]]:
        """Return agreement, accuracy and flags; no agreement if reports are not answers."""
        assert state is not None
        found = self.accuracies.estimate(tally.histograms, medians=True)
        flags = worker_flags(
            self.reports,
            tally.counts,
            self.unit,
            state.constancy[:-1],
            found.pop("median"),
            self.accuracies,
        )
        found = state.truth_map.accuracies(found, self.accuracies.summary.labels)
        for place, group in enumerate(self.groups, 1):
            named = [one for one in group.named if flags[one] not in (CONSTANT, UNRANDOMIZED)]
            flags[named] = f"group {place}"
        agreement = self.agreement(tally)
        if self.summary.other_reports:
            agreement = np.full_like(agreement, np.nan)
        return {"agreement": agreement, **found, "flag": flags}

    @override
    def notes(self, tally: CrowdTally, state: CrowdState | None) -> tuple[str, ...]:
        found = []
        for place, group in enumerate(self.groups, 1):
            found.append(
                f'{len(group.named):,} workers with the flag "group {place}" agree more than the '
                "truths explain. They share a source, or know what others do not; known truths "
                "decide. Their reports count like one source."
            )
        return (*super().notes(tally, state), *found)

    @override
    def extend_tally(self, tally: CrowdTally, extension: Extension) -> CrowdTally:
        unit = attrgetter("unit")
        entropy = extension.total(np.array([tally.entropy]), unit)
        histograms = tally.histograms
        return CrowdTally(
            counts=extension.sums(tally.counts, unit),
            classes=extension.total(tally.classes, unit),
            entropy=int(entropy[0]),
            report_counts=tally.report_counts,
            known=tally.known,
            sources=extension.total(tally.sources, unit),
            heard=tally.heard,
            agreed=extension.sums(tally.agreed),
            histograms=extension.sums(histograms) if histograms.ndim else histograms,
        )


def check_has_table(mechanism: Any) -> None:
    """Raise AnswerError unless the channel of a mechanism is a public table."""
    check_labels(mechanism.domain, "NoiseAware")
    if not mechanism.has_table:
        raise AnswerError("inference.channel-needed", type_name=type(mechanism).__name__)
