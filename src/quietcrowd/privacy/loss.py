"""Distributions of the privacy loss of single releases.

If a report has the distribution P under one row of answers and Q under another, its loss is
``ln(P / Q)``, distributed under P. A pair P, Q with the largest delta at every epsilon dominates
all pairs, also in compositions. Derivation and checks: ``research/docs/theory/accounting.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt
from attrs import Factory, field, frozen

from quietcrowd.exceptions import ParameterError

_UNIT = 2.0**-52
_MOST_TERMS = 2**17
"""Largest number of pairs of rows, times reports, that is enumerated."""

_PIECES = 64
"""Pieces of equal length between the losses 0 and epsilon, for many different pairs of rows."""

_MOST_STEPS = 2**22


def _array(numbers: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    array = np.array(numbers, np.float64)
    array.flags.writeable = False
    return array


def _pure(distribution: LossDistribution) -> float:
    return math.inf if distribution.lost else distribution.epsilon


@frozen(kw_only=True, eq=False)
class LossDistribution:
    """Upper bounds on the distribution of a privacy loss in the worst case.

    `masses` and `losses`, shape (losses,), are probabilities and natural logarithms, in no order.
    `lost` is the probability of an infinite loss, and `epsilon` bounds the finite ones. The pure
    loss is `epsilon`, or infinity if `lost` is positive; it may be finite if `lost` only covers the
    rounding of the masses. `is_of_all_pairs` states that any two different answers have exactly
    this distribution, not one it dominates.
    """

    masses: npt.NDArray[np.float64] = field(converter=_array)
    losses: npt.NDArray[np.float64] = field(converter=_array)
    lost: float = 0.0
    epsilon: float
    pure_epsilon: float = field(default=Factory(_pure, takes_self=True))
    is_of_all_pairs: bool = False

    def is_same_as(self, other: LossDistribution) -> bool:
        """Return whether both distributions are equal."""
        return (
            np.array_equal(self.masses, other.masses)
            and np.array_equal(self.losses, other.losses)
            and self.lost == other.lost
        )

    @property
    def is_even(self) -> bool:
        """Whether every loss is 0, epsilon or its negative, up to rounding."""
        sizes = np.abs(self.losses)
        return bool(np.minimum(sizes, np.abs(sizes - self.epsilon)).max() <= 1e-9 * self.epsilon)

    @classmethod
    def of_pair(
        cls,
        first: npt.NDArray[np.float64],
        second: npt.NDArray[np.float64],
        epsilon: float,
        rounding: float = 0.0,
        *,
        is_of_all_pairs: bool = False,
    ) -> LossDistribution:
        """Return the distribution of ``ln(first / second)`` under `first`.

        Both are probabilities of shape (reports,). `epsilon` bounds every loss, and `rounding`
        bounds how much rounding these probabilities changes a delta.
        """
        likely = first > 0
        with np.errstate(divide="ignore"):
            losses = np.log(first[likely]) - np.log(second[likely])
        losses[losses != 0] += 8 * _UNIT * (64 + np.abs(losses[losses != 0]))
        return cls(
            masses=first[likely] * (1 + 8 * _UNIT),
            losses=np.minimum(losses, epsilon),
            lost=rounding,
            epsilon=epsilon,
            pure_epsilon=epsilon,
            is_of_all_pairs=is_of_all_pairs,
        )


@frozen(kw_only=True, eq=False)
class ReleaseLoss:
    """Loss distributions of everything that a worker reports to one campaign.

    `answer` is about one answer, given all others of the worker; `each` is about one of `count`
    independent releases. A release is an answer or task with independent noise, or all of them if
    one draw serves all.
    """

    answer: LossDistribution
    each: LossDistribution
    count: int


def pure_distribution(epsilon: float, delta: float = 0.0) -> LossDistribution:
    """Return the distribution that dominates every (epsilon, delta)-private release.

    With probability delta everything is disclosed; otherwise a bit is reported, correct with odds
    ``exp(epsilon)``. `epsilon` may be infinite. Source: P. Kairouz, S. Oh, P. Viswanath, "The
    Composition Theorem for Differential Privacy", ICML 2015, Theorem 3.3 and its proof.
    """
    if math.isinf(epsilon):
        return LossDistribution(masses=[], losses=[], lost=1.0, epsilon=math.inf)
    right = 1 / (1 + math.exp(-epsilon))
    wrong = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    masses = [part * (1 - delta) * (1 + 8 * _UNIT) for part in (right, wrong)]
    losses = [epsilon, -epsilon * (1 - 8 * _UNIT)]
    return LossDistribution(masses=masses, losses=losses, lost=delta, epsilon=epsilon)


def laplace_distribution(steps: int, scale: float, epsilon: float) -> LossDistribution:
    """Return the distribution of the loss with discrete Laplace noise.

    `steps` is the largest distance of two numbers and `scale` that of the noise, both in grid
    steps. The noise is log-concave, so the farthest two numbers are the worst at every epsilon.
    `epsilon` is the pure loss ``steps / scale``, rounded up.
    """
    if steps > _MOST_STEPS:
        return pure_distribution(epsilon)
    between = np.arange(1, steps, dtype=np.float64)
    ratio = math.exp(-1 / scale)
    masses = -math.expm1(-1 / scale) / (1 + ratio) * np.exp(-between / scale)
    losses = (steps - 2 * between) / scale
    ends = np.array([1 / (1 + ratio), math.exp(-steps / scale) / (1 + ratio)])
    every = np.concatenate([losses, [epsilon, -epsilon * (1 - 8 * _UNIT)]])
    return LossDistribution(
        masses=np.concatenate([masses, ends]) * (1 + 16 * _UNIT * (1 + steps / scale)),
        losses=np.minimum(every + 8 * _UNIT * np.abs(every), epsilon),
        epsilon=epsilon,
    )


def channel_distribution(weights: npt.NDArray[np.uint64], epsilon: float) -> LossDistribution:
    """Return a distribution of the loss that dominates all pairs of answers of a finite channel.

    `weights` has shape (answers, reports), and its rows have one sum. `epsilon` is ln of the
    largest ratio in a column, rounded up; raise `ParameterError` if it is infinite.

    If all ordered pairs of rows contain the same pairs of weights, as in randomized response, any
    of them represents all. Otherwise the largest delta of all pairs is computed at some epsilons
    and interpolated linearly in ``exp(epsilon)``. Every delta is convex there, so the result
    dominates all pairs. Large tables with many different pairs get `pure_distribution`.
    """
    if not math.isfinite(epsilon):
        raise ParameterError("privacy.loss-infinite")
    if epsilon == 0:
        return LossDistribution(masses=[1.0], losses=[0.0], epsilon=0.0)
    profile = _only_profile(weights)
    if profile is not None:
        total = int(weights[0].sum())
        return LossDistribution.of_pair(
            profile[0] / total, profile[1] / total, epsilon, is_of_all_pairs=True
        )
    answers, reports = weights.shape
    if answers * (answers - 1) * reports > _MOST_TERMS:
        return pure_distribution(epsilon)
    pairs = {
        _profile(one, other).tobytes(): (one, other) for one, other in permutations(weights, 2)
    }
    return _largest_of([(list(map(int, a)), list(map(int, b))) for a, b in pairs.values()], epsilon)


def _profile(one: npt.NDArray[np.uint64], other: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the pairs of weights of two rows, sorted, shape (2, reports)."""
    order = np.lexsort((other, one))
    return np.array([one[order], other[order]])


def _only_profile(weights: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64] | None:
    answers, reports = weights.shape
    first = _profile(weights[0], weights[1])
    if is_randomized_response(weights):
        return first.astype(np.float64)
    if answers * (answers - 1) * reports > _MOST_TERMS:
        return None
    for one, other in permutations(weights, 2):
        if not np.array_equal(_profile(one, other), first):
            return None
    return first.astype(np.float64)


def is_randomized_response(weights: npt.NDArray[np.uint64]) -> bool:
    """Return whether a square table is constant on its diagonal, and constant elsewhere."""
    answers, reports = weights.shape
    if answers != reports or answers < 2:
        return False
    kept = np.eye(answers, dtype=bool)
    return not np.ptp(weights[kept]) and not np.ptp(weights[~kept])


def _largest_of(pairs: list[tuple[list[int], list[int]]], epsilon: float) -> LossDistribution:
    """Return a distribution with a piecewise linear delta of at least that of all pairs."""
    total = sum(pairs[0][0])
    reach = epsilon * (1 + 1e-9) + 1e-12
    edges = [reach * place / _PIECES for place in range(-_PIECES, _PIECES + 1)]
    # A factor is slightly below exp(edge), so that no loss is rounded down.
    factors = [Fraction(math.exp(edge)) * (1 - Fraction(1, 2**50)) for edge in edges]

    def delta(factor: Fraction) -> Fraction:
        top, bottom = factor.numerator, factor.denominator
        most = max(
            sum(max(0, bottom * a - top * b) for a, b in zip(one, other, strict=True))
            for one, other in pairs
        )
        return Fraction(most, bottom * total)

    deltas = [delta(factor) for factor in factors]
    slopes = [Fraction(-1)]
    for place in range(1, len(edges)):
        run = factors[place] - factors[place - 1]
        slopes.append((deltas[place] - deltas[place - 1]) / run)
    slopes.append(Fraction(0))
    masses = [
        factor * (after - before)
        for factor, before, after in zip(factors, slopes, slopes[1:], strict=False)
    ]
    return LossDistribution(
        masses=[float(mass) * (1 + _UNIT) for mass in masses],
        losses=edges,
        epsilon=reach,
        pure_epsilon=epsilon,
    )
