"""How likely a loss is exceeded, where a worker draws one noise variance for all of its numbers.

Two observers are looked at: one who learns the worker's variance besides the reports, and one who
sees the reports alone. Neither's tail bounds the other's: with few answers the second may exceed a
small loss more often. A tail here is that of the one for whom it is larger. Derivation, bounds and
checks: ``docs/theory/sampled-variance.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.privacy.sampled_variance import CUT, VarianceLaw, gaussian_delta, log_normal_tail

__all__ = ["variance_tail", "variance_tail_epsilon"]

_MOST_EPSILON = 2.0**60

_CROSSING = 2.0
"""From so many pure losses of one answer on, who learns the variance knows more."""

_VARIANCES, _LENGTHS = 1200, 4000
"""Nodes of the quadrature."""

_MOST_ANSWERS = 400
"""More answers tell the variance so well that small losses are no likelier than with these."""

_OF_QUADRATURE = 1e-5


def variance_tail(law: VarianceLaw, loss: float, *, differing: int = 1, answers: int = 1) -> float:
    """Return the probability that reports lose more than `loss`, at most.

    Parameters
    ----------
    law : VarianceLaw
        Of the variance.
    loss : float
        At least 0.
    differing : int
        In how many answers two rows differ, each by the largest distance.
    answers : int
        How many answers there are, at least `differing`.

    Notes
    -----
    For who learns the variance the loss given V is normal, ``N(m / 2, m)`` with ``m = D^2 / V``,
    and its tail over V follows from `VarianceLaw.delta_at` without the grid:
    ``P(loss > x) = delta(x) - delta'(x)``.
    """
    known = _known(law, loss, differing)
    if loss >= _CROSSING * _pure(law, differing):
        return known
    if differing > _MOST_ANSWERS:
        return 1.0
    return max(known, _unknown(law, loss, differing, min(answers, _MOST_ANSWERS)))


def variance_tail_epsilon(
    law: VarianceLaw, probability: float, *, differing: int = 1, answers: int = 1
) -> float:
    """Return the least loss found that `variance_tail` exceeds with `probability` at most."""

    def exceeded(loss: float) -> bool:
        return variance_tail(law, loss, differing=differing, answers=answers) > probability

    if not exceeded(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeded(high):
        low, high = high, 2 * high
        if high > _MOST_EPSILON:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) else (low, middle)
    return high


def _pure(law: VarianceLaw, differing: int) -> float:
    return law.steps * math.sqrt(2 * law.rate * differing)


def _known(law: VarianceLaw, loss: float, differing: int) -> float:
    """Return the tail for who learns the variance.

    The sum of what differs is one number with `differing` times the distance and the variance. On
    the grid it exceeds a threshold by half a step less than a normal number would, at most: as if
    the distance were a step larger.
    """
    wider = evolve(law, steps=differing * law.steps + 1, rate=law.rate / differing)
    least = differing * law.least
    share = wider.steps / (wider.steps - 1)
    tail = _normal_tail(wider, loss * share, least)
    return min(1.0, tail + _of_the_grid(law, differing))


def _normal_tail(law: VarianceLaw, loss: float, least: float) -> float:
    """Return ``delta - delta'`` at a loss, for one answer and normal noise."""
    pure = law.steps * math.sqrt(2 * law.rate)
    root = math.hypot(loss, pure)
    exponent = -(pure * (pure / (loss + root))) / 2
    turn = (1 - loss / root) / 2
    if not least:
        return -math.expm1(exponent) + math.exp(exponent) * turn
    away = law.steps / math.sqrt(least)
    lift = law.rate * least + exponent
    here = gaussian_delta(loss, away) + _falls(loss, away)
    later = (1 - turn) * gaussian_delta(root, away, lift) + loss / root * _falls(root, away, lift)
    return max(0.0, here - later)


def _falls(epsilon: float, distance: float, log_factor: float = 0.0) -> float:
    """Return by how much `gaussian_delta` falls at an epsilon: minus its derivative."""
    return math.exp(log_factor + epsilon + log_normal_tail(epsilon / distance + distance / 2))


def _of_the_grid(law: VarianceLaw, differing: int) -> float:
    """Return by how much the tail on the grid may exceed that of normal noise, half a step wider.

    Sums over whole steps differ from integrals by an eighth of the total variation of the slope of
    the density, ``0.968 / v``; variances below `CUT` count as lost.
    """
    small = CUT * law.rate if law.least < CUT else 0.0
    bends = 0.121 * law.rate / differing * math.log1p(1 / (CUT * law.rate))
    return small + bends + 1e-12


def _mixture(law: VarianceLaw) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return variances, in squared steps, and ln of what each of them counts."""
    amounts = np.geomspace(1e-9, 60.0, _VARIANCES)
    logs = np.log(amounts) - amounts + math.log(math.log(amounts[1] / amounts[0]))
    return law.least + amounts / law.rate, logs


@frozen
class _Reports:
    """The law of the length of all noise of a worker, and ln of the density at each length."""

    squares: npt.NDArray[np.float64]
    chances: npt.NDArray[np.float64]
    log_density: npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def _reports(law: VarianceLaw, answers: int) -> _Reports:
    """Return the law of ``r^2``, the sum of squared noise; all in squared steps."""
    variances, logs = _mixture(law)
    shortest = (law.least + 1e-7 / law.rate) * 1e-12
    longest = (law.least + 60 / law.rate) * 2 * max(answers, 60)
    squares = np.geomspace(shortest, longest, _LENGTHS)
    density = np.empty(_LENGTHS)
    for begin in range(0, _LENGTHS, 500):
        block = slice(begin, begin + 500)
        terms = logs - answers / 2 * np.log(variances) - squares[block, None] / (2 * variances)
        top = terms.max(axis=1)
        density[block] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    masses = answers / 2 * np.log(squares) + density
    chances = np.exp(masses - masses.max())
    return _Reports(squares, chances / chances.sum(), density)


def _unknown(law: VarianceLaw, loss: float, differing: int, answers: int) -> float:
    """Return the tail for who sees the reports alone, by quadrature.

    The density of the reports depends on the length r of the noise alone. A report loses more than
    x where the length from the other row is so much larger that the density is less by ``exp(x)``:
    where the noise points towards the other row by a cosine of at least c(r).
    """
    from scipy.special import betainc  # a worker's device loads SciPy for this law alone

    if answers == 1:
        return min(1.0, _of_one_report(law, loss) + _of_the_grid(law, 1) + _OF_QUADRATURE)
    reports = _reports(law, answers)
    lengths = np.sqrt(reports.squares)
    distance = law.steps * math.sqrt(differing)
    farther = np.exp(
        np.interp(
            loss - reports.log_density,
            -reports.log_density,
            np.log(reports.squares),
            right=math.inf,
        )
    )
    half_a_step = 0.5 / math.sqrt(differing)
    cosines = (farther - reports.squares - distance**2) / (2 * lengths * distance)
    cosines = np.clip(cosines - half_a_step / lengths, -1.0, 1.0)
    beyond = betainc((answers - 1) / 2, 0.5, 1 - cosines**2) / 2
    beyond = np.where(cosines >= 0, beyond, 1 - beyond)
    tail = float((reports.chances * beyond).sum())
    return min(1.0, tail + _of_the_grid(law, differing) + _OF_QUADRATURE)


def _of_one_report(law: VarianceLaw, loss: float) -> float:
    """Return the tail of a worker with one answer: the loss grows with the noise of the report."""
    from scipy.special import ndtr

    variances, logs = _mixture(law)
    logs = logs - np.log(variances) / 2

    def log_density(noise: float) -> float:
        terms = logs - noise * noise / (2 * variances)
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum()))

    low, high = -law.steps / 2, 0.0
    while log_density(high) - log_density(high + law.steps) <= loss:
        low, high = high, 2 * high + law.steps
        if high > 1e3 * math.sqrt(float(variances[-1])):
            return 0.0
    while high - low > 1e-9 * law.steps:
        middle = (low + high) / 2
        above = log_density(middle) - log_density(middle + law.steps) > loss
        low, high = (low, middle) if above else (middle, high)
    weights = np.exp(logs + np.log(variances) / 2)
    return float((weights * ndtr((0.5 - low) / np.sqrt(variances))).sum() / weights.sum())
