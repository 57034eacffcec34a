"""Mechanisms for numbers with bounded reports; one word draws a report exactly."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.bounded_law import MOST_EPSILON, BoundedLaw
from quietcrowd.mechanisms.channels.grid import Grid, bounded_domain
from quietcrowd.mechanisms.channels.weights import BoundedChannel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import Randomness, Secret, word_source
from quietcrowd.mechanisms.taskwise import (
    TaskwiseMechanism,
    cell_name,
    cells_of,
    fixed_table,
)
from quietcrowd.privacy.guarantee import Tasks, check_counts
from quietcrowd.privacy.loss import ReleaseLoss
from quietcrowd.report_domains import Numbers
from quietcrowd.validation import number, optional_number


def _check_epsilon(_: Any, __: Any, epsilon: float) -> None:
    if not 0 < epsilon <= MOST_EPSILON:
        raise ParameterError(
            "mechanisms.epsilon-out-of-range", most_epsilon=MOST_EPSILON, epsilon=epsilon
        )


@frozen(kw_only=True, slots=False)
class BoundedNumbers(TaskwiseMechanism):
    """Mechanism for numbers with reports between two public numbers.

    An answer is clipped to the domain and rounded to a public grid. A report is drawn from the
    integer weights of its place; its mean is the rounded answer. Missing answers are not reported,
    so participation is not protected. For the attributes see a subclass.
    """

    no_memo: ClassVar[None] = None
    freshness: ClassVar[str] = "randomised once, with fresh random words"
    source: ClassVar[str] = "docs/theory/bounded-number-mechanisms.md"

    domain: Ordinal | Interval = field(validator=bounded_domain)
    epsilon: float = field(converter=number, validator=_check_epsilon)
    step: float | None = field(default=None, converter=optional_number)

    def __attrs_post_init__(self) -> None:
        _ = self.channel  # rejects an epsilon that is too small for the grid

    @property
    @abstractmethod
    def window_share(self) -> Fraction:
        """Probability of the part of the distribution with the window, 0 to 1."""

    @cached_property
    def grid(self) -> Grid:
        """Public grid that answers are rounded to."""
        return Grid.over(self.domain, self.step)

    @cached_property
    def channel(self) -> BoundedChannel:
        """Distribution of a report given its answer, the same for every worker."""
        law = BoundedLaw.for_loss(self.grid, self.epsilon, self.window_share)
        return BoundedChannel(law=law)

    @property
    def report_domain(self) -> Numbers:
        """Domain of the reports."""
        return self.channel.law.numbers

    @property
    @override
    def claimed_epsilon(self) -> float:
        """Requested loss; that of the integer weights is slightly less."""
        return self.epsilon

    @override
    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        count = check_counts(answers, tasks, every_task=False)
        law = self.channel.law.loss
        return ReleaseLoss(answer=law, each=law, count=count)

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        places = self.grid.places(self.domain.numbers(answers.values))
        reports = self.channel.law.drawn(places, word_source(rng)(len(places)))
        table = answers.with_values(self.report_domain, reports)
        return Reports(table=table, mechanism=self, simulated=isinstance(rng, np.random.Generator))

    @override
    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        """Draw each report by the word of its task and place; see `Mechanism.fixed_reports`."""
        places = self.grid.places(self.domain.numbers(answers.values))
        cells = cells_of(answers, places, null=0)
        words = [
            secret.word("report", task, cell_name(cell))
            for task, cell in zip(answers.tasks.to_pylist(), cells, strict=True)
        ]
        reports = self.channel.law.drawn(cells, np.array(words, np.uint32))
        return Reports(table=fixed_table(answers, self, reports), mechanism=self)

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "step": self.step,
            "grid_step": self.grid.step,
            "steps": self.grid.steps,
            **self.channel.law.describe(),
        }
