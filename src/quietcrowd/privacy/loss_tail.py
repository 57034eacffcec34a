"""How likely independent releases together exceed a loss; what `tail_bound` says of many.

A pair of laws that dominates all others bounds every delta, and no tail: among mechanisms that
lose 1 at most, one exceeds 0.5 with probability 0.81 where randomised response does with 0.73. So
tails come from the laws of the rows themselves, where all rows that differ have one law; else from
the curve of deltas. Derivation and checks: ``docs/theory/tail-bounds.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from quietcrowd.privacy.loss_distribution import LossDistribution, compose_laws, sum_losses
from quietcrowd.privacy.loss_law import LossLaw
from quietcrowd.privacy.tail_bound import tail_at

__all__ = ["composed_tail", "own_tail"]

_UNIT = 2.0**-52

_MOST_RELEASES = 4096
"""So many releases of one law are added up one by one."""

_CURVE = 256
"""Points of the curve of deltas that are looked at."""


def composed_tail(parts: Sequence[tuple[LossLaw, int]], probability: float) -> float:
    """Return what independent releases lose together, but for a probability; rounded up.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        Each law, and how many releases have it.
    probability : float
        q, 0 to 1: the loss about one alternative that is fixed beforehand, one row of answers to
        all releases, exceeds what is returned with a probability of at most q.

    Returns
    -------
    float
        Never more than the sum of the pure losses.
    """
    pure = sum_losses([(law.pure_epsilon, times) for law, times in parts])
    useful = [(law, times) for law, times in parts if times and (law.epsilon or law.lost)]
    if probability <= 0 or not useful:
        return pure
    if probability >= 1:
        return 0.0
    law, count = useful[0][0], sum(times for _, times in useful)
    if count == 1 and law.is_of_all_pairs:
        return min(pure, own_tail(law, probability))
    alike = all(other.is_same_as(law) for other, _ in useful)
    if alike and law.is_of_all_pairs and law.is_even and count <= _MOST_RELEASES:
        return min(pure, _even_tail(law, count, probability))
    together = compose_laws(useful)
    return pure if together is None else min(pure, _tail_of_distribution(together, probability))


def own_tail(law: LossLaw, probability: float) -> float:
    """Return the least loss found that a law exceeds with a probability at most.

    Parameters
    ----------
    law : LossLaw
        Of the very two rows that are told apart; one that only dominates it bounds no tail.
    probability : float
        q, 0 to 1.
    """
    order = np.argsort(law.losses)
    losses, masses = law.losses[order], law.masses[order]
    above = law.lost + np.cumsum(masses[::-1])[::-1] * (1 + len(masses) * _UNIT)
    likely = np.append(above[1:], law.lost) > probability  # whether more than each is
    place = int(np.count_nonzero(likely))
    return max(0.0, float(losses[place])) if place < len(losses) else math.inf


def _even_tail(law: LossLaw, count: int, probability: float) -> float:
    """Return the tail where every answer that differs adds 0, epsilon or its negative.

    Rows may differ in any number of answers, and fewer may tell more: with one the loss epsilon
    has the probability p, with two losses of 0 or 2 epsilon have p(1 - p) and p^2. All numbers are
    gone through.
    """
    step = law.epsilon
    turns = np.rint(law.losses / step).astype(np.intp)
    one = np.bincount(turns + 1, weights=law.masses, minlength=3)
    sums: npt.NDArray[np.float64] = np.ones(1)
    largest = 0
    for differing in range(1, count + 1):
        sums = np.convolve(sums, one) * (1 + 8 * _UNIT)
        above = np.cumsum(sums[::-1])[::-1]  # above[i]: a loss of at least i - differing steps
        place = int(np.searchsorted(-above, -probability))  # the first that is no likelier
        largest = max(largest, place - 1 - differing)
    return largest * step * (1 + 4 * _UNIT)


def _tail_of_distribution(together: LossDistribution, probability: float) -> float:
    """Return the least tail that the curve of deltas proves."""
    low, high = together.epsilon(probability), together.epsilon(probability / 1000)
    if not math.isfinite(high):
        high = together.last_loss
    if not math.isfinite(low):
        return math.inf
    places = np.linspace(low, max(low, high), _CURVE)
    return min(tail_at(float(at), together.delta(float(at)), probability) for at in places)
