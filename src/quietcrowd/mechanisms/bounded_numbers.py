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
from quietcrowd.mechanisms.channels.bounded_distribution import (
    BITS,
    MOST_EPSILON,
    BoundedDistribution,
)
from quietcrowd.mechanisms.channels.coins import decaying
from quietcrowd.mechanisms.channels.grid import Grid, bounded_domain
from quietcrowd.mechanisms.channels.integer_weights import BoundedChannel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import Randomness, Secret, word_source
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism, cell_name, cells_of, fixed_table
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
    so participation is not protected.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Largest privacy loss of one answer, natural logarithm, above 0 and at most 16.
    step : float, optional
        Step of the grid, a power of two that makes at most 2^16 steps; see `Grid.over`.

    Raises
    ------
    ParameterError
        If an argument is invalid, or epsilon is too small for the grid.

    Guarantee
    ---------
    Pure and exact: the logarithm of a ratio of two integer weights, rounded up, slightly less than
    epsilon. It protects an answer against another one. Participation is not protected, since
    missing answers are not reported.
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
        distribution = BoundedDistribution.for_loss(self.grid, self.epsilon, self.window_share)
        return BoundedChannel(distribution=distribution)

    @property
    def report_domain(self) -> Numbers:
        """Domain of the reports."""
        return self.channel.distribution.numbers

    @property
    @override
    def claimed_epsilon(self) -> float:
        """Requested loss; that of the integer weights is slightly less."""
        return self.epsilon

    @override
    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        count = check_counts(answers, tasks, every_task=False)
        distribution = self.channel.distribution.loss
        return ReleaseLoss(answer=distribution, each=distribution, count=count)

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        places = self.grid.places(self.domain.numbers(answers.values))
        reports = self.channel.distribution.drawn(places, word_source(rng)(len(places)))
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
        reports = self.channel.distribution.drawn(cells, np.array(words, np.uint32))
        return Reports(table=fixed_table(answers, self, reports), mechanism=self)

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "step": self.step,
            "grid_step": self.grid.step,
            "steps": self.grid.steps,
            **self.channel.distribution.describe(),
        }


@frozen(kw_only=True, slots=False)
class DuchiMechanism(BoundedNumbers):
    """Duchi's mechanism: one of two numbers, one below the domain and one above it.

    For answers from -1 to 1 the report is C or -C, with
    ``C = (exp(epsilon) + 1) / (exp(epsilon) - 1)``, and C has the probability ``1/2 + x / (2 C)``
    for an answer x. A report is a single bit. Below an epsilon of 0.609 it has the smallest
    worst-case variance of the pure mechanisms for numbers here. Unbiased reports of more than two
    numbers can have slightly less.

    References
    ----------
    J. C. Duchi, M. I. Jordan, M. J. Wainwright, "Minimax Optimal Procedures for Locally Private
    Estimation", Journal of the American Statistical Association 113, 2018; N. Wang et al., ICDE
    2019, Algorithm 1. On the grid: ``research/docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = DuchiMechanism(domain=Interval(low=-1, high=1), epsilon=1.0)
    >>> round(mechanism.channel.variance, 3), mechanism.report_domain.count
    (4.683, 2)
    """

    name: ClassVar[str] = "duchi"

    @property
    @override
    def window_share(self) -> Fraction:
        return Fraction(0)


@frozen(kw_only=True, slots=False)
class PiecewiseMechanism(BoundedNumbers):
    """Piecewise mechanism: a number, more often from a window about the answer than elsewhere.

    For answers from -1 to 1 a report lies between -C and C, with
    ``C = (exp(epsilon / 2) + 1) / (exp(epsilon / 2) - 1)``. A window of width ``C - 1`` moves with
    the answer; a number in it is ``exp(epsilon)`` times as likely as one outside. Above an epsilon
    of about 1.3 the variance is less than that of Duchi's mechanism. Methods that use the
    distribution gain more, since the windows of many reports soon confine the truth.

    References
    ----------
    N. Wang et al., "Collecting and Analyzing Multidimensional Data with Local Differential
    Privacy", ICDE 2019, Algorithm 2. On the grid:
    ``research/docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = PiecewiseMechanism(domain=Interval(low=-1, high=1), epsilon=2.0)
    >>> round(mechanism.channel.variance, 3), round(mechanism.guarantee().epsilon, 4)
    (1.227, 2.0)
    """

    name: ClassVar[str] = "piecewise"

    @property
    @override
    def window_share(self) -> Fraction:
        return Fraction(1)


LEAST_EPSILON = 0.609352
"""From here on the coin helps: the largest variance with it equals that of Duchi's mechanism."""


@frozen(kw_only=True, slots=False)
class HybridMechanism(BoundedNumbers):
    """Hybrid mechanism: piecewise or, with probability ``exp(-epsilon / 2)``, Duchi's.

    The variance is nearly the same for all answers. In the worst case it is below that of either,
    on the default grid up to an epsilon of 8. Beyond, the windows of the piecewise mechanism are a
    few steps wide, and its variance is smaller. Duchi's two numbers move to the nearest ones of the
    piecewise mechanism, and all numbers shift together so that reports are unbiased. Up to an
    epsilon of 0.609 the mechanism is Duchi's.

    References
    ----------
    N. Wang et al., "Collecting and Analyzing Multidimensional Data with Local Differential
    Privacy", ICDE 2019, Section III-C. On the grid:
    ``research/docs/theory/bounded-number-mechanisms.md``.

    Examples
    --------
    >>> from quietcrowd.domains import Interval
    >>> mechanism = HybridMechanism(domain=Interval(low=-1, high=1), epsilon=1.0)
    >>> round(mechanism.channel.variance, 2)
    4.29
    """

    name: ClassVar[str] = "hybrid"

    @property
    @override
    def window_share(self) -> Fraction:
        if self.epsilon < LEAST_EPSILON:
            return Fraction(0)
        return 1 - Fraction(decaying(Fraction(self.epsilon) / 2)(BITS), 2**BITS)
