"""`NoiseAware` for sets of labels: truths and accuracies from reports that are sets."""

import math
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd._core import infer_sets, set_cavities
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.further_report import FurtherSet
from quietcrowd.inference.labels.confusion import MOST_CELLS
from quietcrowd.inference.labels.crowd import ACCURACIES
from quietcrowd.inference.labels.crowd_model import CrowdModel, compared_in
from quietcrowd.inference.labels.flags import honest_flags
from quietcrowd.inference.labels.reports import CrowdUnits
from quietcrowd.inference.labels.truth_map import DERIVATIVE_ONE
from quietcrowd.inference.model import Extension
from quietcrowd.inference.partition import Partition
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
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution

_LARGEST_LOG = 32.0
"""Limit of log-likelihoods of sets."""


@frozen(kw_only=True, eq=False, slots=False)
class SetModel(CrowdModel[SetState, SetTally]):
    """`NoiseAware` bound to sets of labels: ``research/docs/theory/subset-selection.md``."""

    @cached_property
    def distribution(self) -> SetDistribution:
        """Distribution of a set for each answer."""
        channel = self.summary.channel
        assert channel is not None
        assert channel.sets is not None
        return channel.sets

    @property
    @override
    def accuracy_grid(self) -> npt.NDArray[np.float64]:
        """Accuracies to which the state gives probabilities."""
        return ACCURACIES

    @cached_property
    def units(self) -> CrowdUnits:
        """Units of sums over workers."""
        return CrowdUnits(summary=self.summary)

    @cached_property
    def unit(self) -> float:
        """Representation of a probability of 1 in tallies."""
        summary = self.summary
        reports = (1.0 + self.distribution.epsilon) * summary.most_answers
        return integer_sums.unit_for(reports + summary.tasks * (1.0 + math.log(summary.labels)))

    @cached_property
    def mistake_unit(self) -> float:
        """Representation of 1 in `SetTally.mistaken`."""
        return mistake_unit(self.units)

    @override
    def first_state(self, tally: SetTally) -> SetState:
        held = tally.held.sum(axis=0)
        found = first_sets(self.units, self.distribution, held, self.frequencies)
        return evolve(found, truth_map=self.first_map)

    @override
    def _count(self, partition: Partition) -> SetTally:
        # Any state will do: the labels are counted, and the rest is discarded.
        empty = self._empty_tally()
        counted = self._infer(partition, self.first_state(empty), None, None)
        return evolve(empty, held=counted.held)

    @override
    def _infer(
        self,
        partition: Partition,
        state: SetState,
        estimates: LabelEstimates | None,
        posterior: npt.NDArray[np.float64] | None,
    ) -> SetTally:
        labels, distribution = self.summary.labels, self.distribution
        tally = self._empty_tally(state)
        entropy = infer_sets(
            partition.sets,
            signs_of(distribution, state.mistakes),
            state.workers(distribution),
            state.constancy,
            state.log_priors / integer_sums.ONE,
            estimates is None and asks_for_mistakes(state),
            state.truth_map.arguments(labels),
            self.unit,
            self.mistake_unit,
            DERIVATIVE_ONE,
            self.shares,
            self.method.random_state,
            (
                tally.counts,
                tally.bases,
                tally.held,
                tally.mistaken,
                tally.classes,
                tally.known.sums,
                tally.agreed,
            ),
            (estimates or LabelEstimates.empty(0, np.min_scalar_type(labels))).arrays,
            np.zeros((0, labels)) if posterior is None else posterior,
        )
        return evolve(tally, entropy=entropy, known=compared_in(tally.known, partition))

    @override
    def histograms(self, partition: Partition, state: SetState | None) -> npt.NDArray[np.int64]:
        """Return evidence of workers' accuracies, by the state of the last pass."""
        assert state is not None
        distribution = self.distribution
        histograms = self.accuracies.empty(partition)
        if distribution.epsilon == 0.0:
            return histograms
        first, _ = partition.judged or (0, 0)
        set_cavities(
            partition.sets,
            signs_of(distribution, state.mistakes),
            state.workers(distribution),
            state.log_priors / integer_sums.ONE,
            self.accuracies.nodes,
            first,
            histograms,
        )
        return histograms

    def _empty_tally(self, state: SetState | None = None) -> SetTally:
        (workers, nodes), labels = self._table_shape, self.summary.labels
        return SetTally(
            counts=np.zeros((workers, nodes, labels), np.int64),
            bases=np.zeros(workers, np.int64),
            held=np.zeros((workers, labels), np.int64),
            mistaken=np.zeros((labels, labels), np.int64),
            classes=np.zeros(labels, np.int64),
            entropy=0,
            known=self.empty_known(state),
            agreed=np.zeros(workers, np.int64),
        )

    @cached_property
    def _table_shape(self) -> tuple[int, int]:
        """Workers and nodes; ParameterError if tables of them and the labels are too large."""
        labels, workers = self.summary.labels, self.summary.workers
        integer_sums.check_overflow(self.summary.longest_task + 1, _LARGEST_LOG)
        nodes = node_count(self.distribution)
        if (workers + 1) * nodes * labels > MOST_CELLS:
            raise ParameterError(
                "inference.set-tables-too-large",
                workers=workers,
                labels=labels,
                nodes=nodes,
                cells=workers * nodes * labels,
                most_cells=MOST_CELLS,
            )
        return workers, nodes

    @override
    def update(self, tally: SetTally, state: SetState | None) -> tuple[SetState, float]:
        """Learn workers and crowd."""
        if state is None:
            state = self.first_state(tally)
        learned, bound = learn_sets(
            self.units, self.distribution, tally, state, self.unit, self.frequencies
        )
        return self.mapped(learned, tally.known), bound / self.summary.answers

    @override
    def workers(self, tally: SetTally, state: SetState | None) -> dict[str, npt.NDArray[Any]]:
        """Return agreement (the fraction of sets that contain the estimate), accuracy and flags."""
        assert state is not None
        found = self.accuracies.estimate(tally.histograms, medians=True)
        flags = honest_flags(
            self.summary.labels, state.constancy[:-1], found.pop("median"), self.accuracies.worth
        )
        found = state.truth_map.accuracies(found, self.accuracies.summary.labels)
        return {"agreement": self.agreement(tally), **found, "flag": flags}

    def further_report(self, state: SetState, worker: int | None) -> FurtherSet:
        """Return the distribution of a set for each truth, with the slope of the map."""
        return FurtherSet(
            answers=state.answers(-1 if worker is None else worker),
            distribution=self.distribution,
            slope=state.truth_map.slope,
            right=state.truth_map.right(self.summary.labels),
        )

    @override
    def extend_tally(self, tally: SetTally, extension: Extension) -> SetTally:
        unit = attrgetter("unit")
        entropy = extension.total(np.array([tally.entropy]), unit)
        histograms = tally.histograms
        return SetTally(
            counts=extension.sums(tally.counts, unit),
            bases=extension.sums(tally.bases, unit),
            held=extension.sums(tally.held),
            mistaken=extension.total(tally.mistaken, attrgetter("mistake_unit")),
            classes=extension.total(tally.classes, unit),
            entropy=int(entropy[0]),
            known=tally.known,
            agreed=extension.sums(tally.agreed),
            histograms=extension.sums(histograms) if histograms.ndim else histograms,
        )
