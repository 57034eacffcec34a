"""`NoiseAware` for sets of labels: truths and accuracies from reports that are sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd._core import infer_sets, set_cavities
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference import integer_sums
from quietcrowd.inference.further_report import FurtherSet
from quietcrowd.inference.labels.accuracies import (
    accuracies,
    answers_worth,
    no_set_histograms,
    set_nodes,
)
from quietcrowd.inference.labels.confusion import MOST_CELLS
from quietcrowd.inference.labels.crowd import CALIBRATION_ONE, TEMPERATURES
from quietcrowd.inference.labels.crowd_model import LabelModel
from quietcrowd.inference.labels.flags import honest_flags
from quietcrowd.inference.labels.reports import CrowdUnits
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates
from quietcrowd.inference.sets.crowd import (
    SetState,
    SetTally,
    asks_for_mistakes,
    first_sets,
    learn_sets,
    mistake_unit,
    node_count,
    signs_of,
)
from quietcrowd.mechanisms.channels.set_law import SetLaw

__all__ = ["NoiseAwareSets"]

_LARGEST_LOG = 32.0
"""No log-likelihood of a set is larger."""


@frozen(kw_only=True, slots=False)
class NoiseAwareSets(LabelModel[SetState, SetTally]):
    """The part of `NoiseAware` that infers labels from sets: ``docs/theory/subset-selection.md``.

    The model of the crowd is that of `NoiseAwareLabels`; a set has the likelihood of its labels'
    mass among the answers that a worker may give.
    """

    @override
    def models_noise(self, mechanism: Any) -> bool:
        return mechanism.worker_channel is not None and mechanism.channel.sets is not None

    @override
    def refuse(self, mechanism: Any) -> None:
        """Refuse reports that are no sets of labels."""
        if not isinstance(mechanism.domain, FiniteDomain) or not self.models_noise(mechanism):
            raise AnswerError(
                f"NoiseAwareSets needs reports that are sets of labels; those of "
                f"{type(mechanism).__name__} are none. Take NoiseAware."
            )

    @override
    def truth_domain(self, mechanism: Any) -> FiniteDomain:
        return self._check_labels(mechanism.domain)

    @override
    def unit(self, summary: Summary) -> float:
        reports = (1.0 + _law(summary).epsilon) * summary.most_answers
        return integer_sums.unit_for(reports + summary.tasks * (1.0 + math.log(summary.labels)))

    @override
    def first_state(self, summary: Summary, tally: SetTally) -> SetState:
        held = tally.held.sum(axis=0)
        return first_sets(
            CrowdUnits(summary=summary), _law(summary), held, self._frequencies(summary)
        )

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: SetState | None,
        estimates: LabelEstimates | None,
    ) -> SetTally:
        """Find posteriors; in the very first pass count which labels sets hold."""
        tally = self._empty_tally(summary)
        if state is None:
            # What is believed then does not matter: labels are counted, all else is left behind.
            state = self.first_state(summary, tally)
            told = self._infer(partition, summary, state, None, None, tally)
            return evolve(self._empty_tally(summary), held=told.held)
        found = self._infer(partition, summary, state, estimates, None, tally)
        if estimates is None:
            return found
        return evolve(found, histograms=self._tell(partition, summary, state))

    @override
    def _infer(
        self,
        partition: Partition,
        summary: Summary,
        state: SetState,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
        tally: SetTally,
    ) -> SetTally:
        labels, law, units = summary.labels, _law(summary), CrowdUnits(summary=summary)
        room = estimates or LabelEstimates.empty(0, np.min_scalar_type(labels))
        entropy = infer_sets(
            partition.sets,
            signs_of(law, state.mistakes),
            state.workers(law),
            state.constancy,
            state.log_priors / integer_sums.ONE,
            estimates is None and asks_for_mistakes(state),
            state.sharpness,
            TEMPERATURES,
            self.unit(summary),
            mistake_unit(units),
            CALIBRATION_ONE,
            integer_sums.shares(labels),
            self.seed,
            (
                tally.counts,
                tally.bases,
                tally.held,
                tally.mistaken,
                tally.classes,
                tally.calibration,
                tally.agreed,
            ),
            room.arrays,
            np.zeros((0, labels)) if posterior is None else posterior,
        )
        answered = np.diff(partition.offsets) > 0
        compared = int((answered & (partition.known_truths != UNKNOWN)).sum())
        return evolve(tally, entropy=entropy, compared=compared)

    @override
    def _tell(
        self, partition: Partition, summary: Summary, state: SetState
    ) -> npt.NDArray[np.int64]:
        law = _law(summary)
        first, end = (0, summary.workers) if partition.judged is None else partition.judged
        histograms = no_set_histograms(end - first)
        if law.epsilon == 0.0:
            return histograms
        set_cavities(
            partition.sets,
            signs_of(law, state.mistakes),
            state.workers(law),
            state.log_priors / integer_sums.ONE,
            set_nodes(law),
            first,
            histograms,
        )
        return histograms

    @override
    def _empty_tally(self, summary: Summary) -> SetTally:
        labels, workers = summary.labels, summary.workers
        integer_sums.check_room(summary.longest_task + 1, _LARGEST_LOG)
        nodes = node_count(_law(summary))
        if (workers + 1) * nodes * labels > MOST_CELLS:
            raise ParameterError(
                f"{workers:,} workers, {labels:,} labels and {nodes} steps of their sets make "
                f"tables of {workers * nodes * labels:,} numbers, more than {MOST_CELLS:,}. Take "
                "fewer labels: no other method reads sets."
            )
        return SetTally(
            counts=np.zeros((workers, nodes, labels), np.int64),
            bases=np.zeros(workers, np.int64),
            held=np.zeros((workers, labels), np.int64),
            mistaken=np.zeros((labels, labels), np.int64),
            classes=np.zeros(labels, np.int64),
            entropy=0,
            calibration=np.zeros(len(TEMPERATURES), np.int64),
            compared=0,
            agreed=np.zeros(workers, np.int64),
        )

    @override
    def update(
        self, summary: Summary, tally: SetTally, state: SetState | None
    ) -> tuple[SetState, float]:
        """Weigh the workers, and learn of the crowd."""
        if state is None:
            state = self.first_state(summary, tally)
        learned, climbed = learn_sets(
            CrowdUnits(summary=summary),
            _law(summary),
            tally,
            state,
            self.unit(summary),
            self._frequencies(summary),
        )
        return learned, climbed / summary.answers

    @override
    def qualities(
        self, summary: Summary, tally: SetTally, state: SetState | None
    ) -> dict[str, npt.NDArray[Any]]:
        """Return what is found of the workers; agreement is how many sets hold the estimate."""
        assert state is not None
        found = accuracies(summary, tally.histograms, medians=True)
        flags = honest_flags(
            summary.labels, state.constancy[:-1], found.pop("median"), answers_worth(summary)
        )
        return {"agreement": self.agreement(summary, tally), **found, "flag": flags}

    @override
    def further_report(
        self, summary: Summary, state: SetState | None, worker: int | None
    ) -> FurtherSet:
        """Return the law of a set given the truth; read as sharply as estimates are."""
        assert state is not None
        return FurtherSet(
            answers=state.answers(-1 if worker is None else worker),
            law=_law(summary),
            sharpness=state.sharpness,
        )

    @override
    def extend_tally(self, tally: SetTally, extension: Extension) -> SetTally:
        entropy = extension.total(np.array([tally.entropy]), self.unit)
        histograms = tally.histograms

        def of_mistakes(summary: Summary) -> float:
            return mistake_unit(CrowdUnits(summary=summary))

        return SetTally(
            counts=extension.sums(tally.counts, self.unit),
            bases=extension.sums(tally.bases, self.unit),
            held=extension.sums(tally.held),
            mistaken=extension.total(tally.mistaken, of_mistakes),
            classes=extension.total(tally.classes, self.unit),
            entropy=int(entropy[0]),
            calibration=tally.calibration,
            compared=tally.compared,
            agreed=extension.sums(tally.agreed),
            histograms=extension.sums(histograms) if histograms.ndim else histograms,
        )


def _law(summary: Summary) -> SetLaw:
    """Return the law of the sets that were read."""
    assert summary.channel is not None
    assert summary.channel.sets is not None
    return summary.channel.sets
