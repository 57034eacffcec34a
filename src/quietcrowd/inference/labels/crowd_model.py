"""Shared parts of the models of `NoiseAware` for labels and for sets of labels."""

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.domains import check_finite
from quietcrowd.exceptions import NoSignalWarning
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.crowd import (
    first_frequencies,
    fixed_logarithms,
    mean_accuracy,
)
from quietcrowd.inference.labels.flags import LEAST_ANSWERS
from quietcrowd.inference.labels.model import CategoricalModel
from quietcrowd.inference.labels.truth_map import (
    MOST_TILTED,
    KnownTally,
    TruthMap,
    learn_map,
    log_prior,
)
from quietcrowd.inference.model import LearningModel, StateT, TallyT
from quietcrowd.inference.partition import Partition
from quietcrowd.inference.shared_errors import LEARN, SharedErrors
from quietcrowd.inference.task_estimates import LabelEstimates, Scatter
from quietcrowd.label_frequencies import label_frequencies

Floats = npt.NDArray[np.float64]

LEAST_GAIN = 0.9
"""The noise hides the truths if the expected error rate exceeds this fraction of that of the best
constant guess."""

LEAST_WRONG = 0.05
"""Expected error rate below which nothing counts as hidden."""

FEW_TASKS, FEW_ANSWERS = 200, 3.5
"""Limits of tasks and of answers per task below which the crowd cannot be learned well:
research/docs/noise-aware.md."""


@frozen(kw_only=True, eq=False, slots=False)
class CrowdModel(CategoricalModel[Any, StateT, TallyT], LearningModel[Any, StateT, TallyT]):
    """A model of labels with known noise, for `NoiseAware`, with fields like `CrowdState`'s."""

    @override
    def start_from(self, state: StateT, earlier: Any) -> StateT:
        """Keep the workers; keep the frequencies of truths only if the prior is the same."""
        if _as_dict(earlier.prior) == _as_dict(self.method.prior):
            return state
        learned: Any = state
        frequencies = first_frequencies(learned.guesses, self.frequencies)
        changed: StateT = evolve(learned, log_priors=fixed_logarithms(frequencies))
        return changed

    @override
    def sweep(
        self, partition: Partition, state: StateT | None, estimates: LabelEstimates | None
    ) -> TallyT:
        """Find posteriors; in the very first pass only count reports."""
        if state is None:
            return self._count(partition)
        tally = self._infer(partition, state, estimates, None)
        if estimates is None:
            return tally
        changed: Any = tally
        found: TallyT = evolve(changed, histograms=self.histograms(partition, state))
        return found

    @abstractmethod
    def _count(self, partition: Partition) -> TallyT:
        """Count reports, for `first_state`."""

    @abstractmethod
    def _infer(
        self,
        partition: Partition,
        state: StateT,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
    ) -> TallyT:
        """Find posteriors, and fill the arrays that are given."""

    def posterior(self, partition: Partition, state: StateT) -> npt.NDArray[np.float64]:
        """Return the probability of each label in the last pass, shape (tasks, labels)."""
        posterior = np.zeros((partition.tasks, self.summary.labels))
        self._infer(partition, state, self.empty(partition.tasks), posterior)
        return posterior

    def beliefs(self, partition: Partition, state: StateT) -> npt.NDArray[np.float64]:
        """Return the probability that each label is the apparent truth, for `further_report`."""
        apparent: Any = state
        slope_only: StateT = evolve(apparent, truth_map=apparent.truth_map.only_slope())
        return self.posterior(partition, slope_only)

    @property
    @abstractmethod
    def accuracy_grid(self) -> Floats:
        """Accuracies to which the state gives probabilities."""

    @property
    def first_map(self) -> TruthMap:
        """The map before the first update."""
        labels = self.summary.labels
        return TruthMap.first(self.method.shared_errors, labels * (1 < labels <= MOST_TILTED))

    def empty_known(self, state: StateT | None) -> KnownTally:
        """Return sums over known truths; empty unless shared errors are learned."""
        learned: Any = state
        if learned is None or self.method.shared_errors != LEARN:
            return KnownTally.empty(0, 0)
        return KnownTally.empty(len(learned.truth_map.slopes), len(learned.truth_map.tilt))

    def mapped(self, state: StateT, known: KnownTally, logs: Floats | None = None) -> StateT:
        """Return the state with the map from known truths, by default those of all labels."""
        learned: Any = state
        if self.method.shared_errors != LEARN:
            return state
        summary = self.summary
        if logs is None:
            logs = known.log_likelihood(summary.labels)
        answers = summary.answers / summary.tasks * self.accuracies.kept
        prior = log_prior(answers, mean_accuracy(learned, self.accuracy_grid))
        changed: StateT = evolve(
            learned, truth_map=learn_map(learned.truth_map, known, logs, prior)
        )
        return changed

    @override
    def shared_errors(self, state: StateT | None) -> SharedErrors | None:
        learned: Any = state
        return None if learned is None else learned.truth_map.summary()

    @cached_property
    def unit(self) -> float:
        """Representation of a probability of 1 in tallies."""
        tasks = self.summary.tasks * (1.0 + math.log(self.summary.labels))
        return integer_sums.unit_for(self.summary.most_answers + tasks)

    @cached_property
    def frequencies(self) -> npt.NDArray[np.float64] | None:
        """Known frequencies of the labels among the truths."""
        if self.method.prior is None:
            return None
        return label_frequencies(check_finite(self.summary.domain, "NoiseAware"), self.method.prior)

    @override
    def notes(self, tally: TallyT, state: StateT | None) -> tuple[str, ...]:
        learned: Any = state
        summary = self.summary
        found = []
        if summary.labels > 1:
            found.append(learned.truth_map.note())
        worth = self.accuracies.worth
        if summary.labels > 1 and np.sort(worth)[len(worth) // 2] < LEAST_ANSWERS:
            found.append(
                "For half of the workers all reports together carry less information than "
                f"{LEAST_ANSWERS:.0f} non-private answers. Honest workers among them cannot be "
                "distinguished from guessers."
            )
        few = summary.tasks < FEW_TASKS and summary.answers < FEW_ANSWERS * summary.tasks
        if few and summary.labels == 2 and self._without_noise:
            found.append(
                f"Few answers: {summary.tasks:,} tasks with {summary.answers / summary.tasks:.1f} "
                "answers each, of two labels. On simulated crowds of this size, errors of "
                "MajorityVote (on the command line: --method majority) were smaller by up to .03. "
                "On parts of real crowds they were larger as often as smaller."
            )
        return tuple(found)

    def guess(self, classes: npt.NDArray[np.int64]) -> float:
        """Return the error rate of the best constant guess, given expected tasks of each label."""
        return 1.0 - int(classes.max()) / int(classes.sum())

    @property
    def _without_noise(self) -> bool:
        return self.summary.channel is None and self.summary.report_distribution is None

    @override
    def warnings(self, tally: TallyT, state: StateT | None, scatter: Scatter) -> list[Warning]:
        """Warn if the estimates are expected to be hardly better than a constant guess."""
        sums: Any = tally
        total = int(sums.classes.sum())
        if self._without_noise or not scatter.labels or not total:
            return []
        learned: Any = state
        same, other = learned.truth_map.right(self.accuracies.summary.labels)
        guessed = self.guess(sums.classes)
        wrong = (scatter.error_rate - 1.0 + same) / max(same - other, 0.1)
        if wrong < max(LEAST_WRONG, LEAST_GAIN * guessed):
            return []
        guessed = 1.0 - same * (1.0 - guessed) - other * guessed
        return [self.no_signal(sums.classes, error_rate=scatter.error_rate, guessed=guessed)]

    def no_signal(
        self, classes: npt.NDArray[np.int64], *, error_rate: float, guessed: float
    ) -> NoSignalWarning:
        """Return the warning that the noise hides the truths."""
        domain = check_finite(self.summary.domain, "NoiseAware")
        return NoSignalWarning(
            "inference.noise-hides-labels",
            error_rate=error_rate,
            label=domain.labels[int(classes.argmax())],
            guessed=guessed,
        )


def compared_in(known: KnownTally, partition: Partition) -> KnownTally:
    """Return the sums of a partition with the number of known truths of tasks with answers."""
    if not len(known.straight):
        return known
    compared = (np.diff(partition.offsets) > 0) & (partition.known_truths != UNKNOWN)
    return evolve(known, compared=int(compared.sum()))


def _as_dict(prior: Any) -> Any:
    """Return a comparable prior, from a mapping or (label, frequency) pairs."""
    return None if prior is None else dict(prior)
