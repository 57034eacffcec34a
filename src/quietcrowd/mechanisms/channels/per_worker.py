"""Secret weights that a worker draws once for all reports, and the reports that follow from them.

Truncated beta distributions are tables of 1,024 integer weights, computed exactly.

With ``p = others w / T`` for a weight w out of ``T = 2**32``, the beta distribution with integer
shapes has, up to a factor, the distribution function

    G(x) = sum over j of (-1)^j C(beta - 1, j) x^(alpha + j) T^(beta - 1 - j) / (alpha + j)

at ``x = others w``. Multiplied by the least common multiple of all alpha + j it is an integer, so
quantiles are exact and the same on every computer (``research/docs/theory/two-layer.md``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.mechanisms.channels.base import MAX_EPSILON, TOTAL, Channel, other_weight_for
from quietcrowd.mechanisms.channels.reading import check_members, invalid_member, real, whole
from quietcrowd.mechanisms.randomness import WordSource, uniform_integers
from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.two_layer.flips import (
    MAX_DELTA_ANSWERS,
    cell_distribution,
    cell_epsilon,
    listed_cell_distribution,
    row_chances,
    row_epsilon,
)
from quietcrowd.privacy.two_layer.rows import RowChances
from quietcrowd.privacy.two_layer.weights import (
    MAX_ROW,
    SharedWeight,
    drawn_cell_epsilon,
    drawn_row_epsilon,
)

MAX_LISTED = 2**16
"""Largest number of answers for which the loss distribution is summed over 1,024 weights."""


MAX_SHAPE = 16
"""Largest shape of a beta distribution: its numbers stay below 2^1100."""

STEPS = 1024
"""Number of equally likely weights in a table."""


class WorkerDistribution(ABC):
    """Distribution of the weight, out of 2^32, that a worker gives each value except the answer.

    `size` is the number of possible reports.
    """

    size: int

    @property
    @abstractmethod
    def mean(self) -> int:
        """Mean weight: a whole number, so that one report has an exact channel."""

    @abstractmethod
    def draw(self, words: WordSource, count: int) -> npt.NDArray[np.uint64]:
        """Return the weights of `count` workers."""

    @abstractmethod
    def at(self, share: float) -> float:
        """Return the quantile of the weight at `share`, 0 to 1."""

    @abstractmethod
    def cell_epsilon(self, answers: int) -> float:
        """Return the loss about one of the cells that share a weight, given the others."""

    @abstractmethod
    def row_epsilon(self, answers: int) -> float:
        """Return the loss about all cells of a worker together."""

    @abstractmethod
    def row_chances(self, answers: int) -> RowChances | None:
        """Return the probabilities of rows of reports; None if they are not computed."""

    def cell_distribution(self, answers: int) -> LossDistribution | None:  # noqa: ARG002
        """Return the loss distribution about one cell; None to use a coin of the same loss."""
        return None

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest weight."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the member ``per_worker`` of a channel document, JSON-ready."""


@frozen(kw_only=True, slots=False)
class UniformFlips(WorkerDistribution):
    """Uniform weight from `low` to `high`, whole numbers with an even sum: their mean is whole."""

    size: int
    low: int
    high: int

    @classmethod
    def of_flips(cls, size: int, low: float, high: float) -> UniformFlips:
        """Return the distribution for bounds of the flip probability; weights are rounded up."""
        largest = TOTAL // (size - 1)
        least, most = _weights_of_flips(size, low, high, largest)
        if (least + most) % 2:
            least, most = (least, most + 1) if most < largest else (least + 1, most)
        return cls(size=size, low=least, high=most)

    @property
    @override
    def bounds(self) -> tuple[int, int]:
        return self.low, self.high

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
    def cell_distribution(self, answers: int) -> LossDistribution | None:
        if answers > MAX_DELTA_ANSWERS:
            return None
        low, high = self.bounds
        return cell_distribution(answers, labels=self.size, low=low, high=high)

    @override
    def describe(self) -> dict[str, Any]:
        return {"kind": "uniform", "low": self.low, "high": self.high}


class TableDistribution(WorkerDistribution):
    """Uniform choice among the 1,024 weights of a public table with a whole mean.

    `null` is whether NULL is a report, with its own draw.
    """

    null: bool

    @property
    @abstractmethod
    def table(self) -> tuple[int, ...]:
        """Weights, in order."""

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
        """Return the probabilities of rows of reports; None with NULL, or too many answers.

        NULL has a second draw, which they do not include.
        """
        if self.null or answers > MAX_ROW:
            return None
        distribution = SharedWeight.listed(
            np.array(self.table, np.float64), others=self.size - 1, null=False
        )
        logs, margin = distribution.log_row(answers), 5e-12 * answers
        return RowChances(
            lower=logs - margin,
            upper=logs + margin,
            labels=self.size,
            epsilon=self.row_epsilon(answers),
        )

    @property
    @override
    def bounds(self) -> tuple[int, int]:
        return min(self.table), max(self.table)


@frozen(kw_only=True, slots=False)
class BetaFlips(TableDistribution):
    """Flip probability with a truncated beta distribution, on 1,024 weights from `low` to `high`.

    The shapes `alpha` and `beta` are at least 1; both 1 make it uniform.
    """

    size: int
    low: int
    high: int
    alpha: int
    beta: int
    null = False

    @classmethod
    def of_flips(cls, size: int, low: float, high: float, alpha: int, beta: int) -> BetaFlips:
        """Return the distribution for bounds of the flip probability.

        Weights are rounded up; an answer is kept with a weight of at least 1.
        """
        least, most = _weights_of_flips(size, low, high, (TOTAL - 1) // (size - 1))
        return cls(size=size, low=least, high=most, alpha=alpha, beta=beta)

    @cached_property
    def table(self) -> tuple[int, ...]:
        """Weights, in order."""
        return beta_weights(self.size - 1, self.low, self.high, self.alpha, self.beta)

    @override
    def describe(self) -> dict[str, Any]:
        bounds = {"low": self.low, "high": self.high}
        return {"kind": "beta", **bounds, "alpha": self.alpha, "beta": self.beta}

    @override
    def cell_distribution(self, answers: int) -> LossDistribution | None:
        if answers > MAX_LISTED:
            return None
        epsilon = self.cell_epsilon(answers)
        return listed_cell_distribution(
            answers, labels=self.size, weights=self.table, epsilon=epsilon
        )


@frozen(kw_only=True, slots=False)
class UniformEpsilons(TableDistribution):
    """Worker's epsilon, one of 1,024 equidistant numbers between 0 and twice the mean, `epsilon`.

    `null` is whether NULL is a report, with its own draw.
    """

    size: int
    epsilon: float
    null: bool

    @override
    def describe(self) -> dict[str, Any]:
        return {"kind": "epsilon", "epsilon": self.epsilon}

    @cached_property
    def table(self) -> tuple[int, ...]:
        """Weights, rounded up; the largest are raised slightly to make the mean whole.

        None exceeds 2^32 over `size`: the answer has at least the weight of any other value.
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


def _weights_of_flips(size: int, low: float, high: float, largest: int) -> tuple[int, int]:
    """Return the weights of each other label for two flip probabilities, rounded up."""
    least, most = (
        min(math.ceil(Fraction(flip) * TOTAL / (size - 1)), largest) for flip in (low, high)
    )
    return least, most


def read_worker_distribution(document: Any, size: int, *, null: bool) -> WorkerDistribution:
    """Return the distribution in a channel document; raise ParameterError if it is invalid."""
    kind = document.get("kind") if isinstance(document, Mapping) else None
    if kind == "epsilon":
        check_members(document, "kind epsilon")
        epsilon = real("epsilon", document["epsilon"], 0, MAX_EPSILON / 2)
        return UniformEpsilons(size=size, epsilon=epsilon, null=null)
    if kind not in ("uniform", "beta") or null:
        raise invalid_member(
            "per_worker", "of the kind uniform, beta or epsilon; NULL needs epsilon"
        )
    largest = (TOTAL - (kind == "beta")) // (size - 1)
    check_members(document, "kind low high" + " alpha beta" * (kind == "beta"))
    high = whole("high", document["high"], 0, largest)
    low = whole("low", document["low"], 0, high)
    if kind == "beta":
        alpha, beta = (whole(name, document[name], 1, MAX_SHAPE) for name in ("alpha", "beta"))
        return BetaFlips(size=size, low=low, high=high, alpha=alpha, beta=beta)
    if (low + high) % 2:
        raise invalid_member("low and high", "of an even sum")
    return UniformFlips(size=size, low=low, high=high)


def _distribution(others: int, alpha: int, beta: int) -> Callable[[int], int]:
    common = math.lcm(*range(alpha, alpha + beta))
    factors: list[int] = [
        (1, -1)[j % 2] * math.comb(beta - 1, j) * (common // (alpha + j)) * TOTAL ** (beta - 1 - j)
        for j in range(beta)
    ]

    def below(weight: int) -> int:
        x, total = others * weight, 0
        for factor in reversed(factors):
            total = total * x + factor
        return total * int(x**alpha)

    return below


@lru_cache(maxsize=64)
def beta_weights(others: int, low: int, high: int, alpha: int, beta: int) -> tuple[int, ...]:
    """Return the quantiles of a truncated beta distribution as integer weights, in order.

    Each is the least integer with at least ``(2 i + 1) / 2048`` of the distribution, truncated to
    ``low .. high``, below it. The largest are raised slightly to make the mean whole. `others` is
    the number of possible reports except the answer, ``low <= high <= 2^32 / others``. The shapes
    are at least 1.
    """
    below = _distribution(others, alpha, beta)
    start = below(low)
    whole = below(high) - start
    weights, least = [], low
    for i in range(STEPS):
        if whole:
            wanted = 2 * STEPS * start + (2 * i + 1) * whole
            room = range(least, high + 1)
            least += bisect_left(room, wanted, key=lambda weight: 2 * STEPS * below(weight))
        weights.append(least)
    missing = -sum(weights) % STEPS
    for place in reversed(range(STEPS)):
        added = min(high - weights[place], missing)
        weights[place] += added
        missing -= added
    return tuple(weights)


def beta_high(others: int, low: int, most: int, mean: float, alpha: int, beta: int) -> int | None:
    """Return the least upper bound, at most `most`, that makes the mean flip probability `mean`.

    The mean is that of the distribution truncated from `low` on, before it becomes a table. None if
    it stays below `mean`. For the other parameters see `beta_weights`.
    """
    below, moment = _distribution(others, alpha, beta), _distribution(others, alpha + 1, beta)
    # Each function has its own factor. The mean is moment over probability, in units of 1 / T.
    own = math.lcm(*range(alpha, alpha + beta))
    of_moment = math.lcm(*range(alpha + 1, alpha + 1 + beta)) * TOTAL
    over, under = float(mean).as_integer_ratio()

    def reaches(high: int) -> bool:
        distribution, first = below(high) - below(low), moment(high) - moment(low)
        return (
            first * own * under >= over * distribution * of_moment
            if distribution
            else others * high >= mean * TOTAL
        )

    place = bisect_left(range(low, most + 1), True, key=reaches)
    return low + place if low + place <= most else None


@frozen(kw_only=True, eq=False)
class ReportDistribution:
    """Possible tables of a worker, who secretly uses one for all reports.

    Attributes
    ----------
    chances : ndarray of float64, shape (channels,)
        Probability of each table.
    tables : ndarray of float64, shape (channels, answers, reports)
        Probability of each report given each answer; NULL is last in both if it is a label.
    loss : float or callable
        Largest loss about an answer, given the worker's others; if that depends on their number, a
        function of it.
    made_up : ndarray of float64, or None
        If NULL is a label with its own draw: equally likely probabilities that a task without an
        answer is reported as a label.
    parts : tuple of ReportDistribution
        Those of the parts of a mixture. `tables` is then one: their means, side by side.
    """

    chances: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]
    loss: float | Callable[[int], float]
    made_up: npt.NDArray[np.float64] | None = None
    parts: tuple[ReportDistribution, ...] = ()

    @classmethod
    def side_by_side(cls, parts: tuple[ReportDistribution, ...]) -> ReportDistribution:
        """Return the distribution of a worker who uses some of these parts."""
        means = [one.mean for one in parts]
        return cls(
            chances=np.ones(1), tables=np.hstack(means)[np.newaxis], loss=math.inf, parts=parts
        )

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        """Mean of the tables, shape (answers, reports)."""
        return np.tensordot(self.chances, self.tables, 1)

    def draws(self, used: npt.NDArray[np.bool_]) -> ReportDistribution:
        """Return all combinations of the draws of the parts that a worker uses, as one part.

        Draws of the others are irrelevant: their mean represents them.
        """
        chances, tables = np.ones(1), np.empty((1, self.tables.shape[1], 0))
        for part, mine in zip(self.parts, used, strict=True):
            one = part if mine else evolve(part, chances=np.ones(1), tables=part.mean[np.newaxis])
            own = np.tile(one.tables, (len(chances), 1, 1))
            tables = np.concatenate([np.repeat(tables, len(one.chances), axis=0), own], axis=2)
            chances = np.outer(chances, one.chances).ravel()
        return evolve(self, chances=chances, tables=tables, parts=())

    @classmethod
    def of(cls, channel: Channel | None) -> ReportDistribution | None:
        """Return the distribution of independent reports by a channel; None if it has no table."""
        if channel is None or channel.probabilities is None:
            return None
        return cls(
            chances=np.ones(1),
            tables=channel.probabilities[np.newaxis],
            loss=float(channel.epsilon),
        )

    def same_as(self, other: ReportDistribution | None) -> bool:
        """Return whether another distribution has the same tables and chances."""
        return (
            other is not None
            and np.array_equal(self.chances, other.chances)
            and np.array_equal(self.tables, other.tables)
            and len(self.parts) == len(other.parts)
            and all(one.same_as(two) for one, two in zip(self.parts, other.parts, strict=True))
        )
