"""Laws that a worker draws its own, secret weight from: the first of the two layers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.mechanisms.beta_weights import STEPS, beta_weights
from quietcrowd.mechanisms.channel import TOTAL, other_weight_for
from quietcrowd.mechanisms.randomness import WordSource, uniform_integers
from quietcrowd.privacy.loss_law import LossLaw
from quietcrowd.privacy.shared_flip import (
    MAX_DELTA_ANSWERS,
    cell_epsilon,
    cell_law,
    listed_cell_law,
    row_chances,
    row_epsilon,
)
from quietcrowd.privacy.shared_row import RowChances
from quietcrowd.privacy.shared_weight import (
    MAX_ROW,
    SharedWeight,
    drawn_cell_epsilon,
    drawn_row_epsilon,
)

__all__ = ["BetaFlips", "TableLaw", "UniformEpsilons", "UniformFlips", "WorkerLaw"]

MAX_LISTED = 2**16
"""So many answers, times 1,024 weights, are summed for the law of the loss."""


class WorkerLaw(ABC):
    """The law of the weight, out of 2^32, that a worker gives each value that it does not keep."""

    @property
    @abstractmethod
    def mean(self) -> int:
        """The mean weight: a whole number, so that one report has an exact channel."""

    @abstractmethod
    def draw(self, words: WordSource, count: int) -> npt.NDArray[np.uint64]:
        """Return the weights of `count` workers."""

    @abstractmethod
    def at(self, share: float) -> float:
        """Return the weight that a share of all draws, from 0 to 1, lies below."""

    @abstractmethod
    def cell_epsilon(self, answers: int) -> float:
        """Return the loss about one of the cells that share a weight, given the others."""

    @abstractmethod
    def row_epsilon(self, answers: int) -> float:
        """Return the loss about all cells of a worker together."""

    @abstractmethod
    def row_chances(self, answers: int) -> RowChances | None:
        """Return how likely each row of reports is; None where it is not computed."""

    def cell_law(self, answers: int) -> LossLaw | None:  # noqa: ARG002
        """Return the law of the loss about one of the cells; None where a coin stands for it."""
        return None

    @property
    @abstractmethod
    def public(self) -> dict[str, list[int]]:
        """The public numbers of the law, JSON-ready."""


@frozen(kw_only=True, slots=False)
class UniformFlips(WorkerLaw):
    """The flip probability is uniform from `low` to `high`.

    Attributes
    ----------
    size : int
        How many values a report can have.
    low, high : float
        Flip probabilities.
    """

    size: int
    low: float
    high: float

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Bounds of the weight, rounded up; their sum is even, so that their mean is whole."""
        others = self.size - 1
        largest = TOTAL // others
        low, high = (
            min(math.ceil(Fraction(flip) * TOTAL / others), largest)
            for flip in (self.low, self.high)
        )
        if (low + high) % 2:
            low, high = (low, high + 1) if high < largest else (low + 1, high)
        return low, high

    @property
    @override
    def mean(self) -> int:
        return sum(self.bounds) // 2

    @override
    def draw(self, words: WordSource, count: int) -> npt.NDArray[np.uint64]:
        return uniform_integers(words, *self.bounds, count)

    @override
    def at(self, share: float) -> float:
        low, high = self.bounds
        return low + share * (high - low)

    @override
    def cell_epsilon(self, answers: int) -> float:
        low, high = self.bounds
        return cell_epsilon(answers, labels=self.size, low=low, high=high)

    @override
    def row_epsilon(self, answers: int) -> float:
        low, high = self.bounds
        return row_epsilon(answers, labels=self.size, low=low, high=high)

    @override
    def row_chances(self, answers: int) -> RowChances | None:
        low, high = self.bounds
        return row_chances(answers, labels=self.size, low=low, high=high)

    @override
    def cell_law(self, answers: int) -> LossLaw | None:
        if answers > MAX_DELTA_ANSWERS:
            return None
        low, high = self.bounds
        return cell_law(answers, labels=self.size, low=low, high=high)

    @property
    def public(self) -> dict[str, list[int]]:
        """The bounds of the weight; see `WorkerLaw.public`."""
        return {"other_weights": list(self.bounds)}


class TableLaw(WorkerLaw):
    """The weight is one of 1,024 of a public table, all equally likely.

    Attributes
    ----------
    size : int
        How many values a report can have.
    table : tuple of int
        The weights, in order; their mean is whole.
    null : bool
        Whether one of the values is NULL, with a draw of its own.
    """

    size: int
    null: bool

    @property
    @abstractmethod
    def table(self) -> tuple[int, ...]:
        """The weights."""

    @property
    @override
    def mean(self) -> int:
        return sum(self.table) // STEPS

    @override
    def draw(self, words: WordSource, count: int) -> npt.NDArray[np.uint64]:
        places = uniform_integers(words, 0, STEPS - 1, count)
        return np.array(self.table, np.uint64)[places.astype(np.intp)]

    @override
    def at(self, share: float) -> float:
        return sorted(self.table)[min(int(share * STEPS), STEPS - 1)]

    @override
    def cell_epsilon(self, answers: int) -> float:
        return drawn_cell_epsilon(answers, weights=self.table, others=self.size - 1)

    @override
    def row_epsilon(self, answers: int) -> float:
        return drawn_row_epsilon(answers, weights=self.table, others=self.size - 1, null=self.null)

    def row_chances(self, answers: int) -> RowChances | None:
        """Return how likely each row of reports is; None with NULL, which has a second draw."""
        if self.null or answers > MAX_ROW:
            return None
        law = SharedWeight.listed(
            np.array(self.table, np.float64), others=self.size - 1, null=False
        )
        logs, margin = law.log_row(answers), 5e-12 * answers
        return RowChances(
            lower=logs - margin,
            upper=logs + margin,
            labels=self.size,
            epsilon=self.row_epsilon(answers),
        )

    @property
    def public(self) -> dict[str, list[int]]:
        """The smallest and largest weight of the table; see `WorkerLaw.public`."""
        return {"other_weights": [min(self.table), max(self.table)]}


@frozen(kw_only=True, slots=False)
class BetaFlips(TableLaw):
    """The flip probability has a beta law, truncated to `low` to `high`, on 1,024 weights.

    Attributes
    ----------
    size : int
        How many values a report can have.
    low, high : float
        Flip probabilities.
    alpha, beta : int
        Shapes of the beta law, at least 1; of 1 and 1 it is uniform.
    """

    size: int
    low: float
    high: float
    alpha: int
    beta: int
    null = False

    @cached_property
    def table(self) -> tuple[int, ...]:
        """The weights; an answer is kept with a weight of at least 1."""
        others = self.size - 1
        most = (TOTAL - 1) // others
        low, high = (
            min(math.ceil(Fraction(flip) * TOTAL / others), most) for flip in (self.low, self.high)
        )
        return beta_weights(others, low, high, self.alpha, self.beta)

    @override
    def cell_law(self, answers: int) -> LossLaw | None:
        if answers > MAX_LISTED:
            return None
        epsilon = self.cell_epsilon(answers)
        return listed_cell_law(answers, labels=self.size, weights=self.table, epsilon=epsilon)


@frozen(kw_only=True, slots=False)
class UniformEpsilons(TableLaw):
    """The worker's epsilon is one of 1,024 equidistant numbers between 0 and twice the mean.

    Attributes
    ----------
    size : int
        How many values a report can have.
    epsilon : float
        The mean.
    null : bool
        Whether one of the values is NULL, with a draw of its own.
    """

    size: int
    epsilon: float
    null: bool

    @cached_property
    def table(self) -> tuple[int, ...]:
        """The weights, rounded up; the largest by a little more, so that their mean is whole.

        None is above 2^32 over `size`: what is kept has at least the weight of any other value.
        """
        most = TOTAL // self.size
        weights = [
            min(other_weight_for(self.size, self.epsilon * (2 * i + 1) / STEPS), most)
            for i in reversed(range(STEPS))
        ]
        missing = -sum(weights) % STEPS
        for place in reversed(range(STEPS)):
            added = min(most - weights[place], missing)
            weights[place] += added
            missing -= added
        return tuple(weights) if not missing else (most,) * STEPS
