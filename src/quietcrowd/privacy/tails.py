"""Tail bounds: with probability at least ``1 - q`` the loss is at most x.

They cover a worker's reports and one alternative that is fixed beforehand, another answer or row. A
pair (epsilon, delta) does not prove that a loss exceeds epsilon with a probability of at most
delta; this may happen several times as often. A dominating pair bounds every delta, but no tail. So
tails come from the distribution of the loss if all different rows share one, otherwise from the
curve of deltas. ``research/docs/theory/tail-bounds.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.loss_grid import LossGrid, compose_distributions, sum_losses
from quietcrowd.privacy.rounding import show_loss

_UNIT = 2.0**-52

_MOST_RELEASES = 4096
"""Largest number of releases with one distribution that are convolved one by one."""

_CURVE = 256
"""Number of points of the curve of deltas that are tried."""


@frozen(kw_only=True)
class TailBound:
    """Losses, natural logarithms, each exceeded with a probability of at most `probability`.

    They are about one answer given all others of the worker, about a fact that some answers share
    given the others (see `PrivacyGuarantee.linked`), and about all answers together.
    """

    probability: float
    epsilon: float
    linked_epsilon: float
    total_epsilon: float

    def __str__(self) -> str:
        return (
            f"Each with probability at least 1 - {show_loss(self.probability, 6)}, the loss is at "
            f"most {show_loss(self.epsilon)} about one answer, {show_loss(self.linked_epsilon)} "
            f"about a fact that linked answers share, and {show_loss(self.total_epsilon)} about "
            "all together."
        )

    @classmethod
    def of_pair(
        cls, epsilon: float, linked_epsilon: float, total_epsilon: float, delta: float
    ) -> TailBound:
        """Return the tail at twice a delta, proved by pairs (epsilon, delta) alone.

        Examples
        --------
        >>> bound = TailBound.of_pair(1.0, 1.0, 5.0, delta=0.01)
        >>> bound.probability, round(bound.epsilon, 4), round(bound.total_epsilon, 4)
        (0.02, 1.6931, 5.6931)
        """
        probability = min(1.0, 2 * delta)
        return cls(
            probability=probability,
            epsilon=tail_at(epsilon, delta, probability),
            linked_epsilon=tail_at(linked_epsilon, delta, probability),
            total_epsilon=tail_at(total_epsilon, delta, probability),
        )


def tail_at(epsilon: float, delta: float, probability: float) -> float:
    """Return a loss that an (epsilon, delta)-private report exceeds with at most a probability q.

    It is ``epsilon - ln(1 - delta / q)``, or infinite unless delta is below q. This follows from
    ``delta >= E[max(0, 1 - exp(epsilon - loss))] >= P(loss > x) (1 - exp(epsilon - x))``.

    Examples
    --------
    >>> tail_at(1.0, 0.01, 0.01), round(tail_at(1.0, 0.01, 0.1), 4), tail_at(1.0, 0.0, 0.0)
    (inf, 1.1054, 1.0)
    """
    if delta == 0:
        return epsilon
    if delta >= probability or math.isinf(epsilon):
        return math.inf
    return (epsilon - math.log1p(-delta / probability)) * (1 + 2**-50)


def tail_of_curve(curve: Iterable[tuple[float, float]], probability: float) -> float:
    """Return the least loss that pairs (epsilon, delta) of one mechanism prove; see `tail_at`."""
    bounds = (tail_at(epsilon, delta, probability) for epsilon, delta in curve)
    return min(bounds, default=math.inf)


def composed_tail(parts: Sequence[tuple[LossDistribution, int]], probability: float) -> float:
    """Return a bound on the total loss of independent releases at a probability q, rounded up.

    `parts` contains each distribution with its number of releases. The loss against one alternative
    row of answers to all releases, fixed beforehand, exceeds the result with a probability of at
    most q. The result never exceeds the sum of the pure losses.
    """
    pure = sum_losses([(distribution.pure_epsilon, times) for distribution, times in parts])
    useful = [
        (distribution, times)
        for distribution, times in parts
        if times and (distribution.epsilon or distribution.lost)
    ]
    if probability <= 0 or not useful:
        return pure
    if probability >= 1:
        return 0.0
    distribution, count = useful[0][0], sum(times for _, times in useful)
    if count == 1 and distribution.is_of_all_pairs:
        return min(pure, tail_of_distribution(distribution, probability))
    alike = all(other.is_same_as(distribution) for other, _ in useful)
    if alike and distribution.is_of_all_pairs and distribution.is_even and count <= _MOST_RELEASES:
        return min(pure, _even_tail(distribution, count, probability))
    together = compose_distributions(useful)
    return pure if together is None else min(pure, _tail_of_distribution(together, probability))


def tail_of_distribution(distribution: LossDistribution, probability: float) -> float:
    """Return the least loss found that is exceeded with at most a probability.

    `distribution` must be the distribution for exactly the two rows; a dominating one bounds no
    tail.
    """
    order = np.argsort(distribution.losses)
    losses, masses = distribution.losses[order], distribution.masses[order]
    above = distribution.lost + np.cumsum(masses[::-1])[::-1] * (1 + len(masses) * _UNIT)
    likely = (
        np.append(above[1:], distribution.lost) > probability
    )  # P(loss > losses[i]), strictly above
    place = int(np.count_nonzero(likely))
    return max(0.0, float(losses[place])) if place < len(losses) else math.inf


def _even_tail(distribution: LossDistribution, count: int, probability: float) -> float:
    """Return the tail if every differing answer adds 0, epsilon or its negative.

    Rows may differ in any number of answers, and fewer may be worse. With one, the loss epsilon
    has the probability p; with two, losses of 0 or 2 epsilon have p(1 - p) and p^2. So all numbers
    are tried.
    """
    step = distribution.epsilon
    turns = np.rint(distribution.losses / step).astype(np.intp)
    one = np.bincount(turns + 1, weights=distribution.masses, minlength=3)
    sums: npt.NDArray[np.float64] = np.ones(1)
    largest = 0
    for differing in range(1, count + 1):
        sums = np.convolve(sums, one) * (1 + 8 * _UNIT)
        above = np.cumsum(sums[::-1])[::-1]  # above[i]: a loss of at least i - differing steps
        place = int(np.searchsorted(-above, -probability))  # the first that is no likelier
        largest = max(largest, place - 1 - differing)
    return largest * step * (1 + 4 * _UNIT)


def _tail_of_distribution(together: LossGrid, probability: float) -> float:
    low, high = together.epsilon(probability), together.epsilon(probability / 1000)
    if not math.isfinite(high):
        high = together.last_loss
    if not math.isfinite(low):
        return math.inf
    places = np.linspace(low, max(low, high), _CURVE)
    return min(tail_at(float(at), together.delta(float(at)), probability) for at in places)
