"""`NoiseAware` for tasks with options: one crowd of workers, and a block of labels per group.

A label of the crowd's model is a position among a number of options, such as the first of three.
Each group of tasks with the same number of options has a block: frequencies of truths, mistakes and
a channel. The community of a worker is estimated from all groups.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.domains import Categorical
from quietcrowd.exceptions import NoSignalWarning
from quietcrowd.inference.labels.accuracies import Accuracies
from quietcrowd.inference.labels.crowd import CrowdState, CrowdTally
from quietcrowd.inference.labels.noise_aware import LabelModel
from quietcrowd.inference.labels.option_groups import (
    GroupState,
    GroupTally,
    OptionGroups,
    OptionsModel,
    sum_of_histograms,
)
from quietcrowd.inference.labels.reports import Blocks, WorkerReports, blocks_of
from quietcrowd.inference.labels.truth_map import KnownTally, TruthMap
from quietcrowd.inference.model import LearningModel, add_up
from quietcrowd.inference.partition import Summary
from quietcrowd.inference.shared_errors import SharedErrors
from quietcrowd.inference.task_estimates import Scatter
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution


@frozen(kw_only=True, eq=False, slots=False)
class BlockModel(LabelModel):
    """`LabelModel` of the options of all groups; `pooled` estimates the workers' accuracies."""

    sizes: tuple[int, ...]
    pooled: Accuracies

    @override
    @cached_property
    def reports(self) -> WorkerReports:
        """Distributions of the workers' reports, in blocks."""
        return evolve(WorkerReports.of(self.summary), sizes=self.sizes)

    @override
    @cached_property
    def accuracies(self) -> Accuracies:
        """Estimator of workers' accuracies."""
        return self.pooled

    @property
    @override
    def first_map(self) -> TruthMap:
        """The map without a tilt, because positions of options mean nothing."""
        return TruthMap.first(self.method.shared_errors, 0)

    @override
    def guess(self, classes: npt.NDArray[np.int64]) -> float:
        """Return the error rate of the best constant position in each block."""
        right = sum(int(classes[block].max()) for block in self.reports.blocks)
        return 1.0 - right / int(classes.sum())

    @override
    def no_signal(
        self, classes: npt.NDArray[np.int64], *, error_rate: float, guessed: float
    ) -> NoSignalWarning:
        return NoSignalWarning(
            "inference.noise-hides-options", error_rate=error_rate, guessed=guessed
        )


@frozen(kw_only=True, eq=False, slots=False)
class OptionCrowdModel(OptionsModel[Any], LearningModel[Any, GroupState, GroupTally]):
    """`NoiseAware` bound to tasks with options."""

    parts: tuple[LabelModel, ...]

    @classmethod
    def of(cls, method: Any, summary: Summary, groups: OptionGroups) -> Self:
        """Bind the method to groups of tasks."""
        parts = tuple(LabelModel(method=method, summary=one.summary) for one in groups.groups)
        model = cls(method=method, summary=summary, groups=groups, parts=parts)
        model.crowd.check_size()
        return model

    @cached_property
    def crowd(self) -> BlockModel:
        """The model that learns about the workers."""
        summaries = [group.summary for group in self.groups.groups]
        names = [f"option {n + 1} of {size}" for size in self.groups.sizes for n in range(size)]
        summary = Summary(
            domain=Categorical(names),
            answers_per_worker=self.groups.answers_per_worker,
            tasks=len(self.groups.tasks),
            longest_task=max(one.longest_task for one in summaries),
            report_distribution=_in_blocks(summaries, self.blocks),
        )
        return BlockModel(
            method=self.method, summary=summary, sizes=self.groups.sizes, pooled=self.accuracies
        )

    @cached_property
    def blocks(self) -> Blocks:
        """The labels of each group in the crowd's model."""
        return blocks_of(self.groups.sizes)

    @override
    def first_state(self, tally: GroupTally) -> GroupState:
        return self._of_groups(self.crowd.first_state(self._of_crowd(tally)))

    @override
    def update(self, tally: GroupTally, state: GroupState | None) -> tuple[GroupState, float]:
        """Learn workers and crowd from all groups."""
        found, objective = self.crowd.updated(
            self._of_crowd(tally), None if state is None else state.crowd, all_rows=True
        )
        known = [part.known for part in tally.parts]
        logs = sum(
            one.log_likelihood(size) for one, size in zip(known, self.groups.sizes, strict=True)
        )
        return self._of_groups(self.crowd.mapped(found, add_up(known), logs)), objective

    @override
    def workers(self, tally: GroupTally, state: GroupState | None) -> dict[str, npt.NDArray[Any]]:
        assert state is not None
        return self.crowd.workers(self._of_crowd(tally), state.crowd)

    @override
    def notes(self, tally: GroupTally, state: GroupState | None) -> tuple[str, ...]:
        assert state is not None
        return self.crowd.notes(self._of_crowd(tally), state.crowd)

    @override
    def shared_errors(self, state: GroupState | None) -> SharedErrors | None:
        return None if state is None else self.crowd.shared_errors(state.crowd)

    @override
    def warnings(
        self, tally: GroupTally, state: GroupState | None, scatter: Scatter
    ) -> list[Warning]:
        assert state is not None
        return self.crowd.warnings(self._of_crowd(tally), state.crowd, scatter)

    def _of_crowd(self, tally: GroupTally) -> CrowdTally:
        """Return the tally of all groups in the unit of the crowd's model."""
        labels = sum(self.groups.sizes)
        counts = np.zeros((self.summary.workers, labels, labels), np.int64)
        entropy = 0
        classes, reports = [], []
        for block, model, part in zip(self.blocks, self.parts, tally.parts, strict=True):
            factor = self.crowd.unit / model.unit
            counts[:, block, block] = _scaled(part.counts, factor)
            classes.append(_scaled(part.classes, factor))
            reports.append(part.report_counts)
            entropy += part.entropy if factor == 1.0 else round(part.entropy * factor)
        return CrowdTally(
            counts=counts,
            classes=np.concatenate(classes),
            entropy=entropy,
            report_counts=np.concatenate(reports),
            known=KnownTally.empty(0, 0),
            sources=np.zeros((0, labels, labels), np.int64),
            agreed=np.sum([part.agreed for part in tally.parts], axis=0),
            histograms=sum_of_histograms(tally),
        )

    def _of_groups(self, state: CrowdState) -> GroupState:
        parts = tuple(
            evolve(
                state,
                log_odds=np.ascontiguousarray(state.log_odds[:, block, block]),
                votes=np.ascontiguousarray(state.votes[:, block, block]),
                log_priors=state.log_priors[block],
            )
            for block in self.blocks
        )
        return GroupState(parts=parts, crowd=state)


def _scaled(sums: npt.NDArray[np.int64], factor: float) -> npt.NDArray[np.int64]:
    return sums if factor == 1.0 else np.rint(sums * factor).astype(np.int64)


def _in_blocks(summaries: list[Summary], blocks: Blocks) -> ReportDistribution | None:
    """Return the distribution of the reports of all groups; None for answers."""
    found = [summary.report_distribution for summary in summaries]
    if found[0] is None:
        return None
    labels = blocks[-1].stop
    tables, losses = np.zeros((1, labels, labels)), [0.0]
    for block, one in zip(blocks, found, strict=True):
        assert one is not None
        assert isinstance(one.loss, float)
        tables[:, block, block] = one.tables
        losses.append(one.loss)
    return ReportDistribution(chances=np.ones(1), tables=tables, loss=max(losses))
