"""Mechanisms that can report on some tasks separately from others.

If participation is hidden, every worker reports every task, and most reports may be of no answer.
They are made in blocks of workers and stored by task, one small number each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import Randomness
from quietcrowd.privacy.guarantee import (
    ABOUT_TASKS,
    PUBLIC_TASKS,
    PrivacyGuarantee,
    Tasks,
    add_losses,
    check_counts,
    check_linked,
)

MAX_CELLS = 10**9
BLOCK = 2**22


@frozen(kw_only=True, slots=False)
class TaskwiseMechanism(Mechanism):
    """Mechanism that draws noise cell by cell, given one draw per worker for all cells.

    So answers that do not fit into memory can be randomized in groups of tasks. Without such a
    draw, the loss of each report is that of the channel, and the total loss is the sum.
    """

    is_taskwise: ClassVar[bool] = True
    freshness: ClassVar[str] = "reported once, with fresh noise"
    """Assumption about each answer, or task."""

    source: ClassVar[str] = "docs/theory/finite-channels.md"
    """Theorem and paper, or page below ``research``, that proves the guarantee."""

    claimed_by_paper: ClassVar[bool] = False
    """Whether a paper claims `claimed_epsilon`; otherwise it was only requested."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        draws = cls.draw_workers is not TaskwiseMechanism.draw_workers
        if draws and cls.worker_channel is Mechanism.worker_channel:
            raise TypeError(
                f"{cls.__name__} samples once for all cells of a worker, so its worker_channel "
                "differs from its channel. Override worker_channel to return the distribution of "
                "one worker, or None"
            )
        super().__init_subclass__(**kwargs)

    @property
    @override
    def independent_reports(self) -> bool:
        return self.worker_channel is not None

    @property
    def claimed_epsilon(self) -> float:
        """Claimed or requested loss; by default that of the channel."""
        return self.channel.epsilon

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        if not self.independent_reports:
            raise NotImplementedError(
                f"{type(self).__name__} samples once for all answers of a worker, so its total "
                "loss is not the sum of the losses. Override guarantee()"
            )
        count = check_counts(answers, tasks, every_task=self.every_task)
        one = self.report_epsilon
        return PrivacyGuarantee(
            answers=answers,
            epsilon=one,
            total_epsilon=add_losses(one, count),
            linked=linked,
            linked_epsilon=add_losses(one, check_linked(linked, count)),
            participation_protected=self.every_task,
            tasks=count if self.every_task else None,
            claimed_epsilon=self.claimed_epsilon,
            claimed_by_paper=self.claimed_by_paper,
            assumptions=(
                f"every {'task' if self.every_task else 'answer'} is {self.freshness}",
                *(PUBLIC_TASKS if self.every_task else ABOUT_TASKS),
            ),
            source=self.source,
        )

    def draw_workers(
        self,
        workers: int,  # noqa: ARG002
        rng: Randomness,  # noqa: ARG002
    ) -> npt.NDArray[Any] | None:
        """Return the one draw of each worker for all of its reports, or None.

        The result, shape (..., workers), is as secret as the answers. `rng` is a generator for a
        simulation; words, or None, give reports that protect the worker.
        """
        return None

    @abstractmethod
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        """Return the reports on some of the tasks.

        `answers` include all workers, with tasks and workers sorted by id. `drawn` is the result of
        `draw_workers`, the same for all tasks. For `rng` see `draw_workers`.
        """

    def _randomize(self, answers: Answers, rng: Randomness) -> Reports:
        return self.randomize_tasks(answers, self.draw_workers(len(answers.workers), rng), rng)


def check_cells(tasks: int, workers: int, beside: int = 1) -> None:
    """Raise ParameterError if a number per worker and task would not fit into memory."""
    if max(workers, tasks) * beside > MAX_CELLS:
        raise ParameterError(
            "mechanisms.too-many-numbers",
            path=beside,
            workers=workers,
            tasks=tasks,
            max_cells=MAX_CELLS,
        )
    if workers * tasks > MAX_CELLS:
        raise ParameterError(
            "mechanisms.too-many-reports",
            workers=workers,
            tasks=tasks,
            cells=workers * tasks,
            max_cells=MAX_CELLS,
        )


def dense_blocks(
    answers: Answers, values: npt.NDArray[Any], null: int
) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield the answers of successive blocks of workers as full tables.

    Each item is a slice of the workers and their cells, shape (workers of the block, tasks). A cell
    is one of `values`, shape (answers,), or `null` without an answer.
    """
    tasks, workers = len(answers.tasks), len(answers.workers)
    ends, rows = answers.rows_by_worker
    task_codes = answers.task_codes
    size = max(1, BLOCK // max(tasks, 1))
    for start in range(0, workers, size):
        stop = min(start + size, workers)
        chosen = rows[ends[start] : ends[stop]]
        cells = np.full((stop - start, tasks), null, values.dtype)
        cells[answers.worker_codes[chosen] - start, task_codes[chosen]] = values[chosen]
        yield slice(start, stop), cells


def dense_table(answers: Answers, domain: Domain, values: npt.NDArray[Any]) -> Answers:
    """Return a table with a value for every task and worker of some answers.

    `values`, shape (tasks, workers), must not be written to afterwards.
    """
    tasks, workers = values.shape
    column = values.reshape(-1)
    worker_codes = np.tile(np.arange(workers, dtype=np.int32), tasks)
    for array in (column, worker_codes):
        array.flags.writeable = False  # spares a copy
    return Answers(
        domain=domain,
        tasks=answers.tasks,
        workers=answers.workers,
        offsets=np.arange(tasks + 1, dtype=np.int64) * workers,
        worker_codes=worker_codes,
        values=column,
    )


def cells_of(answers: Answers, values: npt.NDArray[Any], null: int) -> npt.NDArray[np.int64]:
    """Return the value of each task of one worker, shape (tasks,); `null` for no answer."""
    cells = np.full(len(answers.tasks), null, np.int64)
    cells[answers.task_codes] = values
    return cells


def cell_name(cell: np.int64) -> str:
    """Return a name of a cell; all names are equally long and take equally long."""
    return f"{int(cell):+09d}"


def fixed_table(answers: Answers, mechanism: Mechanism, reports: npt.NDArray[Any]) -> Answers:
    """Return the table that one worker sends, given a report for each task."""
    values = reports.astype(mechanism.report_domain.dtype)
    if mechanism.every_task:
        return dense_table(answers, mechanism.report_domain, values[:, np.newaxis])
    return answers.with_values(mechanism.report_domain, values[answers.task_codes])
