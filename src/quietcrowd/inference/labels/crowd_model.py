"""What the two models of labels in `NoiseAware` share: by labels that are reported, and by sets."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.domains import check_finite
from quietcrowd.exceptions import NoSignalWarning
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import answers_worth
from quietcrowd.inference.labels.crowd import first_frequencies, fixed_logarithms
from quietcrowd.inference.labels.flags import LEAST_ANSWERS
from quietcrowd.inference.labels.learning import LEAST_KNOWN_TRUTHS
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.inference.method import IterativeInference, StateT, TallyT
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, Scatter
from quietcrowd.label_frequencies import label_frequencies
from quietcrowd.validation import at_least, plain, whole_number

__all__ = ["LabelModel"]

LEAST_GAIN = 0.9
"""The noise hides the truths where estimates are expected to be wrong in more than this part of
the cases that the best constant guess is wrong in."""

LEAST_WRONG = 0.05
"""Where fewer estimates are expected to be wrong, nothing is hidden, though truths are alike."""


FEW_TASKS, FEW_ANSWERS = 200, 3.5
"""Of fewer tasks with fewer answers each the crowd cannot be learnt well: docs/noise-aware.md."""


@frozen(kw_only=True, slots=False)
class LabelModel(CategoricalMethod[StateT, TallyT], IterativeInference[StateT, TallyT]):
    """A model of labels whose noise is known: frequencies of truths, confidences, what it says.

    Its states have ``log_priors``, ``guesses`` and ``sharpness``, and its tallies ``classes`` and
    ``compared``, as those of `CrowdState` and `CrowdTally`.
    """

    name: ClassVar[str] = "noise-aware"
    prior: Mapping[str, float] | None = None
    max_iterations: int = field(default=30, converter=plain, validator=whole_number(1))
    tolerance: float = field(default=1e-5, converter=plain, validator=at_least(0))

    @override
    def start_from(self, state: StateT, earlier: Any, summary: Summary) -> StateT:
        """Take over what is known of workers; frequencies of truths too, if the prior is the same.

        Otherwise they are those of `prior`, or start as they do without an earlier estimate.
        """
        if _as_pairs(earlier.prior) == _as_pairs(self.prior):
            return state
        believed: Any = state
        frequencies = first_frequencies(believed.guesses, self._frequencies(summary))
        changed: StateT = evolve(believed, log_priors=fixed_logarithms(frequencies))
        return changed

    @override
    def judge(
        self, partition: Partition, summary: Summary, state: StateT | None
    ) -> npt.NDArray[np.int64]:
        assert state is not None
        return self._tell(partition, summary, state)

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: StateT
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels), as the last pass does."""
        room = self.room(partition.tasks, summary)
        posterior = np.zeros((partition.tasks, summary.labels))
        self._infer(partition, summary, state, room, posterior, self._empty_tally(summary))
        return posterior

    @override
    def beliefs(
        self, partition: Partition, summary: Summary, state: StateT
    ) -> npt.NDArray[np.float64]:
        return self.posterior(partition, summary, state)

    @abstractmethod
    def _infer(
        self,
        partition: Partition,
        summary: Summary,
        state: StateT,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
        tally: TallyT,
    ) -> TallyT:
        """Find posteriors, and return the tally of it; fill in estimates where there is room."""

    @abstractmethod
    def _tell(self, partition: Partition, summary: Summary, state: StateT) -> npt.NDArray[np.int64]:
        """Return what reports tell of workers' accuracies, by the votes of the last pass."""

    @abstractmethod
    def _empty_tally(self, summary: Summary) -> TallyT:
        """Return a tally of nothing; refuse where it would be too large."""

    @override
    def notes(self, summary: Summary, state: StateT | None, tally: TallyT) -> tuple[str, ...]:
        assert state is not None
        believed: Any = state
        told: Any = tally
        found = []
        if told.compared >= LEAST_KNOWN_TRUTHS:
            found.append(
                f"Confidences are corrected by {told.compared:,} known truths: their log-odds "
                f"are multiplied by {believed.sharpness:.2f}."
            )
        else:
            found.append(
                "Where workers err together, confidences are too high: only known truths (gold) "
                f"can tell. There are {told.compared:,}; from {LEAST_KNOWN_TRUTHS} on they "
                "correct it."
            )
        worth = answers_worth(summary)
        if summary.labels > 1 and np.sort(worth)[len(worth) // 2] < LEAST_ANSWERS:
            found.append(
                "For half of the workers all reports together tell less than "
                f"{LEAST_ANSWERS:.0f} plain answers would: an honest worker among them cannot be "
                "told from one who guesses."
            )
        if _is_small(summary):
            found.append(
                f"Few answers: {summary.tasks:,} tasks with {summary.answers / summary.tasks:.1f} "
                "answers each, of two labels. On drawn crowds of this size MajorityVote (on the "
                "command line: --method majority) had errors that were smaller by .01 to .04; on "
                "parts of real ones as often larger ones."
            )
        return tuple(found)

    def _frequencies(self, summary: Summary) -> npt.NDArray[np.float64] | None:
        """Return known frequencies of the labels; those without one share the rest."""
        if self.prior is None:
            return None
        return label_frequencies(check_finite(summary.domain, "NoiseAware"), self.prior)

    def unit(self, summary: Summary) -> float:
        """Return what a probability of 1 is stored as in tallies."""
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        return integer_sums.unit_for(summary.most_answers + tasks)

    @override
    def signal_warnings(
        self, summary: Summary, tally: TallyT, state: StateT | None, scatter: Scatter
    ) -> list[Warning]:
        """Warn where the posterior expects hardly more of the estimates than of one same guess."""
        told: Any = tally
        total = int(told.classes.sum())
        if summary.channel is None and summary.report_law is None:
            return []
        if not scatter.labels or not total:
            return []
        likeliest = int(told.classes.argmax())
        guessed = 1.0 - int(told.classes[likeliest]) / total
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


def _as_pairs(prior: Any) -> Any:
    """Return what a prior is compared by: a mapping, or (label, frequency) pairs."""
    return None if prior is None else dict(prior)


def _is_small(summary: Summary) -> bool:
    """Return whether answers are plain, and too few to learn a crowd from."""
    plain = summary.channel is None and summary.report_law is None
    few = summary.tasks < FEW_TASKS and summary.answers < FEW_ANSWERS * summary.tasks
    return plain and few and summary.labels == 2
