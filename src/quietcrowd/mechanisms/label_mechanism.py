"""Mechanisms for labels: each report is drawn from a row of a table of integers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import MAX_EPSILON
from quietcrowd.mechanisms.channels.table import MAX_SIZE, TableChannel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import (
    Randomness,
    Secret,
    WordSource,
    word_source,
    words_in_turn,
)
from quietcrowd.mechanisms.taskwise import (
    TaskwiseMechanism,
    cell_name,
    cells_of,
    check_cells,
    dense_blocks,
    dense_table,
    fixed_table,
)
from quietcrowd.privacy.guarantee import Tasks, check_counts
from quietcrowd.privacy.loss import ReleaseLoss, channel_distribution
from quietcrowd.report_domains import OrNull
from quietcrowd.validation import one_of

Missing: TypeAlias = Literal["category"] | None


def check_epsilon(_: Any, attribute: Any, value: Any) -> None:
    """Validate an optional privacy loss of a finite channel."""
    if value is not None:
        require_epsilon(attribute.name, value)


def require_epsilon(name: str, value: float) -> None:
    """Raise ParameterError unless `value` is a privacy loss of a finite channel: 0 to 16."""
    if not 0 <= value <= MAX_EPSILON:
        raise ParameterError(
            "parameters.out-of-range", name=name, low=0, high=MAX_EPSILON, value=value
        )


def check_probability(_: Any, attribute: Any, value: Any) -> None:
    """Validate an optional probability."""
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise ParameterError(
            "parameters.out-of-range", name=attribute.name, low=0, high=1, value=value
        )


def at_least_two_labels(domain: Domain) -> FiniteDomain:
    """Return the domain of a finite channel; raise ParameterError if it is invalid."""
    if not isinstance(domain, FiniteDomain):
        raise ParameterError("mechanisms.domain-not-labels", domain=domain)
    if not 2 <= domain.size <= MAX_SIZE:
        raise ParameterError("mechanisms.domain-size", max_size=MAX_SIZE, size=domain.size)
    return domain


def _fits(mechanism: Any, _: Any, missing: Missing) -> None:
    if missing is not None and mechanism.domain.size >= MAX_SIZE:
        raise ParameterError(
            "mechanisms.domain-size-with-null", max_size=MAX_SIZE - 1, size=mechanism.domain.size
        )


@frozen(kw_only=True, slots=False)
class LabelMechanism(TaskwiseMechanism):
    """Mechanism with labels as reports.

    A subclass defines a `name`, its parameters and its `channel`, a table with a row for each label
    and one for NULL if that is a label. By default every answer is replaced by an independent draw
    from its row. `missing` determines whether a task without an answer has no report, or NULL is
    one more label.
    """

    no_memo: ClassVar[str | None] = None
    freshness: ClassVar[str] = "randomised once, with fresh random words"

    domain: FiniteDomain = field(converter=at_least_two_labels)
    missing: Missing = field(default=None, validator=[one_of(None, "category"), _fits])

    @property
    @override
    def every_task(self) -> bool:
        return self.missing is not None

    @property
    def report_domain(self) -> Domain:
        """Domain of the reports: labels, and NULL if that is one."""
        return self.domain if self.missing is None else OrNull(domain=self.domain)

    @property
    def size(self) -> int:
        """Number of possible answers, including NULL if that is a label."""
        return self.domain.size + (self.missing is not None)

    @property
    @abstractmethod
    def channel(self) -> TableChannel:
        """Distribution of one report given its answer."""

    @override
    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        if self.worker_channel is None:
            return super().loss(answers, tasks)
        count = check_counts(answers, tasks, every_task=self.every_task)
        distribution = channel_distribution(self.channel.weights, self.channel.epsilon)
        return ReleaseLoss(answer=distribution, each=distribution, count=count)

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        words = word_source(rng)
        if self.every_task:
            table = self._randomize_every_task(answers, drawn, words)
        else:
            reports = self.replace(answers.values, answers.worker_codes, drawn, words)
            table = answers.with_values(self.report_domain, reports)
        return Reports(table=table, mechanism=self, simulated=isinstance(rng, np.random.Generator))

    def _randomize_every_task(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, words: WordSource
    ) -> Answers:
        check_cells(len(answers.tasks), len(answers.workers))
        codes = np.arange(len(answers.workers))[:, np.newaxis]
        reports = np.empty((len(answers.tasks), len(answers.workers)), self.domain.dtype)
        for workers, cells in dense_blocks(answers, answers.values, null=self.domain.size):
            reports[:, workers] = self.replace(cells, codes[workers], drawn, words).T
        return dense_table(answers, self.report_domain, reports)

    def replace(
        self,
        cells: npt.NDArray[Any],
        workers: npt.NDArray[Any],  # noqa: ARG002
        drawn: npt.NDArray[Any] | None,  # noqa: ARG002
        words: WordSource,
    ) -> npt.NDArray[Any]:
        """Return a report for each answer, with one word each.

        `cells` are codes of answers; NULL follows the labels. `workers`, of a shape that broadcasts
        to that of `cells`, index `drawn`, the result of `draw_workers`.
        """
        shape, reports = self.channel.weights.shape, self.report_domain
        assert isinstance(reports, FiniteDomain | OrNull)
        if shape != (self.size, reports.size):
            raise ParameterError(
                "mechanisms.table-shape",
                type_name=type(self).__name__,
                size=self.size,
                columns=reports.size,
                shape=shape,
            )
        return self.channel.sample(cells.reshape(-1), words).reshape(cells.shape)

    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        """Draw each report by the word of its task and answer; see `Mechanism.fixed_reports`."""
        cells = cells_of(answers, answers.values, null=self.domain.size if self.missing else 0)
        words = words_in_turn(fixed_words(answers, cells, secret))
        reports = self.replace(cells, np.zeros_like(cells), self.fixed_draws(secret), words)
        return Reports(table=fixed_table(answers, self, reports), mechanism=self)

    def fixed_draws(self, secret: Secret) -> npt.NDArray[Any] | None:  # noqa: ARG002
        """Return one worker's draws from a secret, in place of `draw_workers`."""
        return None


def fixed_words(
    answers: Answers, cells: npt.NDArray[np.int64], secret: Secret
) -> npt.NDArray[np.uint32]:
    """Return the random word of each task and its answer, shape (tasks,)."""
    named = zip(answers.tasks.to_pylist(), cells, strict=True)
    drawn = [secret.word("report", task, cell_name(cell)) for task, cell in named]
    return np.array(drawn, np.uint32)
