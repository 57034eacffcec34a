"""Answers to tasks with options, in groups of tasks with equally many.

In a group answers are positions among the options, so each group has a model like any other labels.
Statistics of the groups are parts of one tally, from which the model learns about the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, fields_dict, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import AnswerError
from quietcrowd.gold import UNKNOWN, KnownTruthError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import Accuracies, no_histograms
from quietcrowd.inference.labels.model import CategoricalModel
from quietcrowd.inference.model import MethodT, Model, State, Tally
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.task_options import TaskOptions


@frozen(kw_only=True, eq=False)
class GroupPartition(Partition):
    """Answers of a group, or of a part of its tasks."""

    group: int


@frozen(kw_only=True, eq=False)
class OptionGroup:
    """Tasks with equally many options: their positions, and their answers."""

    tasks: npt.NDArray[np.intp]
    partition: GroupPartition
    summary: Summary


@frozen(kw_only=True, eq=False)
class OptionGroups:
    """All groups of tasks with two options or more; `options` are those of all tasks.

    A task with one option needs no inference.
    """

    options: TaskOptions
    groups: tuple[OptionGroup, ...]

    @classmethod
    def of(cls, answers: Answers, mechanism: Any, known: npt.NDArray[np.int32]) -> Self:
        """Group answers, or the reports of a mechanism; `known` are codes of known truths."""
        options = answers.options
        assert options is not None
        sizes = [size for size in np.unique(options.sizes).tolist() if size > 1]
        if not sizes:
            raise AnswerError("inference.single-options")
        positions = options.positions(answers.task_codes, answers.values)
        truths = _known_positions(options, known)
        channel_for: Callable[[int], Any] = getattr(mechanism, "channel_for", lambda _: None)
        groups = []
        for group, size in enumerate(sizes):
            tasks = np.flatnonzero(options.sizes == size)
            own = _some_tasks(answers, tasks, positions, size)
            found = Partition.of(own, truths[tasks])
            groups.append(
                OptionGroup(
                    tasks=tasks,
                    partition=GroupPartition(
                        **{name: getattr(found, name) for name in fields_dict(Partition)},
                        group=group,
                    ),
                    summary=Summary.of(own, channel_for(size)),
                )
            )
        return cls(options=options, groups=tuple(groups))

    @cached_property
    def tasks(self) -> npt.NDArray[np.intp]:
        """Positions of the tasks, group by group."""
        return np.concatenate([group.tasks for group in self.groups])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of options in each group."""
        return tuple(group.summary.labels for group in self.groups)

    @cached_property
    def answers_per_worker(self) -> npt.NDArray[np.int64]:
        """Number of each worker's answers to tasks of the groups."""
        total: npt.NDArray[np.int64] = sum(
            (group.summary.answers_per_worker for group in self.groups),
            np.zeros_like(self.groups[0].summary.answers_per_worker),
        )
        return total


def _some_tasks(
    answers: Answers, tasks: npt.NDArray[np.intp], positions: npt.NDArray[np.int64], size: int
) -> Answers:
    """Return the answers to some tasks, as positions among their options."""
    counts = answers.answers_per_task
    wanted = np.zeros(len(counts), bool)
    wanted[tasks] = True
    rows = np.repeat(wanted, counts)
    domain = Categorical(range(size))
    return Answers(
        domain=domain,
        tasks=answers.tasks.take(pa.array(tasks)),
        workers=answers.workers,
        offsets=np.concatenate([[0], np.cumsum(counts[tasks])]),
        worker_codes=answers.worker_codes[rows],
        values=positions[rows].astype(domain.dtype),
    )


def _known_positions(options: TaskOptions, known: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the positions of known truths among the options of their tasks, or `UNKNOWN`."""
    tasks = np.flatnonzero(known != UNKNOWN)
    truths = np.full(len(known), UNKNOWN, np.int32)
    truths[tasks] = options.positions(tasks, known[tasks])
    outside = tasks[truths[tasks] < 0]
    if len(outside):
        task = int(outside[0])
        raise KnownTruthError(
            "answers.gold-outside-options",
            task=options.tasks[task].as_py(),
            value=options.domain.labels[known[task]],
            options=options.describe(task),
        )
    return truths


@frozen(kw_only=True, eq=False)
class GroupTally(Tally):
    """The tally of each group, None for a group that was not swept."""

    parts: tuple[Any, ...]

    @override
    def __add__(self, other: Self) -> Self:
        both = zip(self.parts, other.parts, strict=True)
        return type(self)(parts=tuple(_sum(one, another) for one, another in both))

    __iadd__ = __add__


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one if other is None else other
    return one + other


@frozen(kw_only=True, eq=False)
class GroupState(State):
    """The state of the model of each group; `crowd` is that of a model of all, if there is one."""

    parts: tuple[Any, ...]
    crowd: Any = None

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        return evolve(self, parts=tuple(part.take(positions) for part in self.parts))


@frozen(kw_only=True, eq=False, slots=False)
class OptionsModel(Model[MethodT, GroupState, GroupTally]):
    """A method bound to tasks with options: a model for each group.

    `summary` is that of all answers, and its domain that of all labels.
    """

    groups: OptionGroups
    parts: tuple[CategoricalModel[Any, Any, Any], ...]

    @property
    def partitions(self) -> list[GroupPartition]:
        """The answers of each group, for `sweep`."""
        return [group.partition for group in self.groups.groups]

    @override
    def unknown(self, tasks: int) -> npt.NDArray[np.int32]:
        return np.full(tasks, UNKNOWN, np.int32)

    @override
    def empty(self, tasks: int) -> LabelEstimates:
        return LabelEstimates.empty(tasks, np.min_scalar_type(max(self.groups.sizes)))

    @override
    def sweep(
        self, partition: Partition, state: GroupState | None, estimates: LabelEstimates | None
    ) -> GroupTally:
        """Pass over the answers of one group; estimates are positions among options."""
        assert isinstance(partition, GroupPartition)
        group, tasks = partition.group, partition.tasks
        part = self.parts[group]
        own = None if estimates is None else part.empty(tasks)
        tally = part.sweep(partition, None if state is None else state.parts[group], own)
        if own is not None and estimates is not None:
            for given, found in zip(estimates.arrays, own.arrays, strict=True):
                given[:] = found
        return GroupTally(
            parts=tuple(tally if one == group else None for one in range(len(self.parts)))
        )

    @override
    def finish(self, estimates: Any, known: npt.NDArray[Any]) -> LabelEstimates:
        """Return labels in the order of the tasks; a single option is certain."""
        tasks, options = self.groups.tasks, self.groups.options
        positions = np.zeros(len(options), np.int64)
        confidence, tied = np.ones(len(options)), np.zeros(len(options), bool)
        positions[tasks], confidence[tasks] = estimates.truths, estimates.confidence
        tied[tasks] = estimates.tied
        truths = options.at(np.arange(len(options)), positions)
        return LabelEstimates(truths=truths, confidence=confidence, tied=tied)

    @override
    def workers(self, tally: GroupTally, state: GroupState | None) -> dict[str, npt.NDArray[Any]]:
        agreed = sum(part.agreed for part in tally.parts)
        with np.errstate(invalid="ignore"):
            agreement = integer_sums.from_shares(agreed) / self.groups.answers_per_worker
        found = self.accuracies.estimate(sum_of_histograms(tally))
        return {"agreement": agreement, **found}

    @cached_property
    def accuracies(self) -> Accuracies:
        """Estimator of accuracies: as if all tasks had as many options as most answers.

        The nodes of all groups are equal, because their channels have the same loss.
        """
        main = max(self.parts, key=lambda part: part.summary.answers)
        counts = self.groups.answers_per_worker
        return evolve(
            main.accuracies,
            summary=evolve(main.summary, answers_per_worker=counts, tasks=len(self.groups.tasks)),
        )

    def posterior(
        self,
        partition: Partition,  # noqa: ARG002
        state: Any,
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels); 0 if it is not an option."""
        options = self.groups.options
        chances = np.zeros((len(options), options.domain.size))
        alone = np.flatnonzero(options.sizes == 1)
        chances[alone, options.at(alone, np.zeros(len(alone)))] = 1.0
        for place, (group, part) in enumerate(zip(self.groups.groups, self.parts, strict=True)):
            model: Any = part
            found = model.posterior(group.partition, None if state is None else state.parts[place])
            tasks = group.tasks[:, np.newaxis]
            positions = np.broadcast_to(np.arange(found.shape[1]), found.shape)
            chances[tasks, options.at(tasks, positions)] = found
        return chances


def sum_of_histograms(tally: GroupTally) -> npt.NDArray[np.int64]:
    """Return the sum of the histograms of all groups."""
    total: npt.NDArray[np.int64] = sum((part.histograms for part in tally.parts), no_histograms())
    return total
