"""When to stop, where it depends on earlier reports what comes next: a privacy filter.

The loss of a schedule that is fixed beforehand is composed exactly. A device that looks at what it
has spent, and then decides whether and where to answer, follows no such schedule: at delta 0 the
sum of its losses is a bound all the same, at a delta above 0 the exact composition is none. What
holds is a filter: a rule, fixed beforehand, for when to stop. Theorem, proof and checks:
``docs/theory/budgets.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from quietcrowd.privacy.loss_distribution import sum_losses
from quietcrowd.privacy.loss_law import LossLaw, pure_law

__all__ = ["filter_used"]

_ORDERS = 1 + np.geomspace(1e-3, 1e6, 2000)
"""Of Renyi divergences; one of them is chosen, by the budget and its delta alone."""

_SLACK = 1e-9
"""More than the relative rounding error of the sums below."""


def filter_used(parts: Sequence[tuple[LossLaw, int]], budget: float, delta: float) -> float:
    """Return how much of a budget releases use, which may have been chosen one after the other.

    Parameters
    ----------
    parts : sequence of (LossLaw, int)
        The law of each release, and how many releases have it.
    budget, delta : float
        Epsilon and delta of the whole, fixed before the first release.

    Returns
    -------
    float
        Whoever makes a release only where this stays at most `budget` is (budget, delta)-private,
        however the releases are chosen. Never more than the sum of the pure losses.

    References
    ----------
    R. Rogers et al., "Privacy Odometers and Filters", NeurIPS 2016; V. Feldman, T. Zrnic,
    "Individual Privacy Accounting via a Renyi Filter", NeurIPS 2021; J. Whitehouse et al., "Fully
    Adaptive Composition in Differential Privacy", ICML 2023. ``docs/theory/budgets.md``.

    Examples
    --------
    >>> law = pure_law(0.1)
    >>> round(filter_used([(law, 100)], budget=5.0, delta=1e-5), 2)
    4.78
    >>> round(filter_used([(law, 10)], budget=5.0, delta=1e-5), 2)
    1.0
    """
    pure = sum_losses([(law.pure_epsilon, times) for law, times in parts])
    if delta == 0:
        return pure
    lost = sum((times * Fraction(_delta_of(law)) for law, times in parts), Fraction(0))
    if lost > Fraction(delta) / 2:
        return pure
    order = _order(budget, delta)
    renyi = math.fsum(times * _renyi(law, order) for law, times in parts)
    by_order = (renyi + _price(order, delta)) * (1 + _SLACK)
    return min(sum_losses([(law.epsilon, times) for law, times in parts]), by_order)


def _delta_of(law: LossLaw) -> float:
    """Return what is lost of a law; nothing, where that stands for its rounding alone."""
    return law.lost if math.isinf(law.pure_epsilon) else 0.0


def _renyi(law: LossLaw, order: float) -> float:
    """Return the Renyi divergence of what is not lost, of all pairs of rows at most."""
    if law.lost:  # a coin of its loss, exactly
        law = pure_law(law.epsilon)
    exponents = (order - 1) * law.losses
    top = float(exponents.max(initial=-math.inf))
    if math.isinf(top):
        return top if top > 0 else 0.0
    mean = float((law.masses * np.exp(exponents - top)).sum())
    return max(0.0, (top + math.log(mean)) / (order - 1))


def _price(order: float, delta: float) -> float:
    """Return what a Renyi divergence is short of an epsilon at half of a delta."""
    largest = -math.log(order) + (order - 1) * math.log1p(-1 / order)
    return (largest - math.log(delta / 2)) / (order - 1)


@lru_cache(maxsize=256)
def _order(budget: float, delta: float) -> float:
    """Return the order at which most small releases fit into a budget; of public facts alone."""
    room = [(budget - _price(float(order), delta)) / order for order in _ORDERS]
    return float(_ORDERS[int(np.argmax(room))])
