"""Privacy loss when a worker draws one noise variance for all of its numbers.

A worker draws a variance V, which exceeds a public least one by an exponential amount of a given
rate, and adds to each of its n answers, up to D steps of a grid apart, discrete Gaussian noise of
that variance. With one answer the loss is pure: ``D sqrt(2 rate)``. With more it is not, and what
is bounded here is the loss to somebody who learns V besides. Derivation, bounds and checks:
``docs/theory/sampled-variance.md``. (Li et al., ICDCS 2020, claim the pair (epsilon, delta) of
`claimed_rate`.)

How likely a loss is exceeded is reckoned for two observers: one who learns V besides the reports,
and one who sees the reports alone. Neither's tail bounds the other's: with few answers the second
may exceed a small loss more often. `variance_tail` is that of the one for whom it is larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.exceptions import ParameterError

__all__ = [
    "MAX_ANSWERS",
    "MEAN",
    "VarianceLaw",
    "claimed_epsilon",
    "claimed_rate",
    "gaussian_delta",
    "log_normal_tail",
    "variance_tail",
    "variance_tail_epsilon",
]

MEAN = 2**42
"""How many units the mean of the exponential part is; the variance is a whole number of them."""

MAX_ANSWERS = 10**7
_MOST_EPSILON = 2.0**60

_CUT = 8.0
"""Below this variance, in squared steps, everything counts as lost."""

_CROSSING = 2.0
"""From so many pure losses of one answer on, who learns the variance knows more."""

_VARIANCES, _LENGTHS = 1200, 4000
"""Nodes of the quadrature."""

_MOST_ANSWERS = 400
"""More answers tell the variance so well that small losses are no likelier than with these."""

_OF_QUADRATURE = 1e-5


def claimed_rate(epsilon: float, delta: float, distance: float) -> float:
    """Return the rate for which (epsilon, delta) is claimed: ``2 epsilon L / distance**2``.

    ``L = ln(1 / (1 - delta))``; below it lies a variance under ``distance**2 / (2 epsilon)`` with
    probability delta. (Li et al., ICDCS 2020, their bound on c, with a public distance in place of
    one that holds with high probability.)
    """
    return 2 * epsilon * -math.log1p(-delta) / distance**2


def claimed_epsilon(rate: float, delta: float, distance: float) -> float:
    """Return the epsilon that is claimed for a rate and a delta; see `claimed_rate`."""
    return rate * distance**2 / (2 * -math.log1p(-delta))


def log_normal_tail(x: float) -> float:
    """Return ln of the probability that a standard normal number exceeds `x`."""
    if x < 36:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    square = 1 / (x * x)
    series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + math.log(series)


def gaussian_delta(epsilon: float, distance: float, log_factor: float = 0.0) -> float:
    """Return the least delta at `epsilon` of Gaussian noise, times ``exp(log_factor)``.

    Parameters
    ----------
    epsilon : float
        At least 0.
    distance : float
        Of the two numbers to hide, in standard deviations of the noise; above 0.
    log_factor : float
        The product is computed without overflow.

    References
    ----------
    B. Balle, Y.-X. Wang, ICML 2018, theorem 8.
    """
    half, other = distance / 2, epsilon / distance
    more = math.exp(log_factor + log_normal_tail(other - half))
    return more - math.exp(log_factor + epsilon + log_normal_tail(other + half))


@frozen(kw_only=True)
class VarianceLaw:
    """What answers on a grid lose to noise of one drawn variance; all in steps of the grid.

    Attributes
    ----------
    steps : int
        Largest distance of two answers.
    rate : float
        The variance exceeds the least one by an exponential amount of this rate; at most 1/2.
    least : float
        Least variance.
    mean : int
        How many units the mean of the exponential part is: the variance is a whole number of
        units, rounded up.
    """

    steps: int
    rate: float
    least: float = 0.0
    mean: int = MEAN

    @property
    def one_answer_epsilon(self) -> float:
        """Upper bound on the pure loss of a worker with one answer.

        It is ``steps * sqrt(2 rate)``, as of Laplace noise, which Gaussian noise of an exponential
        variance is, and what the grid and the units may add.
        """
        inverse = math.sqrt(2 * self.rate)
        of_units = 16 / (self.mean * math.sqrt(self.rate))
        of_steps = inverse * math.exp(-5.0 * self.steps)
        return self.steps * inverse + of_units + of_steps + 1e-9

    def pure_epsilon(self, count: int = 1) -> float:
        """Return the loss about the sum of so many answers, without grid and units."""
        return self.steps * math.sqrt(2 * self.rate * count)

    def delta_at(self, epsilon: float, count: int = 1) -> float:
        """Return an upper bound on delta at `epsilon`, for one who learns the variance as well.

        Parameters
        ----------
        epsilon : float
            At least 0.
        count : int
            In how many answers two rows may differ.

        Notes
        -----
        With ``R = sqrt(epsilon**2 + 2 rate count steps**2)`` it is ``1 - exp((epsilon - R) / 2)``
        where nothing is least, else ``G(epsilon) - exp(rate least + (epsilon - R) / 2) G(R)``,
        where G is `gaussian_delta` of the least variance; and what the grid may add. That part may
        rise with epsilon, which no delta does: the least bound of all smaller epsilons is returned.
        """
        here = self._bound_at(epsilon, count)
        return min([here, *(bound for turn, bound in _turns(self, count) if turn <= epsilon)])

    def _bound_at(self, epsilon: float, count: int) -> float:
        """Return an upper bound on delta at `epsilon`, which may rise with it."""
        pure = self.pure_epsilon(count)
        root = math.hypot(epsilon, pure)
        exponent = -(pure * (pure / (epsilon + root))) / 2
        if self.least:
            away = self.steps * math.sqrt(count / self.least)
            delta = gaussian_delta(epsilon, away)
            delta -= gaussian_delta(root, away, self.rate * self.least + exponent)
        else:
            delta = -math.expm1(exponent)
        rounding = 1e-12 + 1e-14 * root
        return min(1.0, max(0.0, delta) + self._of_the_grid(epsilon, count) + rounding)

    def _of_the_grid(self, epsilon: float, count: int) -> float:
        """Return by how much sums over the grid may exceed the integrals in their place."""
        small = 0.0
        if self.least < _CUT:
            away = self.steps * math.sqrt(count / _CUT)
            small = _CUT * self.rate * (1 - gaussian_delta(epsilon, away))
        rate = self.rate / count  # of the variance of the sum of what differs
        bends = rate * (0.33 * math.log1p(1 / (_CUT * self.rate)) + 0.375)
        return small + bends + 0.09 * epsilon * math.sqrt(rate) / (self.steps * count)

    def epsilon_at(self, delta: float, count: int = 1) -> float:
        """Return the least epsilon at which `delta_at` is at most `delta`; or infinity."""
        if count > MAX_ANSWERS:
            raise ParameterError(f"answers must be at most {MAX_ANSWERS:,}; got {count:,}")
        return _least_loss(lambda epsilon: self.delta_at(epsilon, count) > delta, 1e-12)


def _least_loss(exceeded: Callable[[float], bool], precision: float) -> float:
    """Return the least loss found that is not exceeded, up to a relative error; or infinity."""
    if not exceeded(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while exceeded(high):
        low, high = high, 2 * high
        if high > _MOST_EPSILON:
            return math.inf
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(middle) else (low, middle)
    return high


@lru_cache(maxsize=256)
def _turns(law: VarianceLaw, count: int) -> tuple[tuple[float, float], ...]:
    """Return the epsilons from which on the bound on delta rises, and the bounds there."""

    def bound_at(epsilon: float) -> float:
        return law._bound_at(epsilon, count)

    places = [0.0, *(2.0 ** (power / 8) for power in range(-80, 8 * 60 + 1))]
    bounds = [bound_at(place) for place in places]
    turns = [(0.0, bounds[0])]
    for low, high, *three in zip(places, places[2:], bounds, bounds[1:], bounds[2:], strict=False):
        if three[0] > three[1] <= three[2]:
            left, right = low, high
            for _ in range(40):
                third = (right - left) / 3
                if bound_at(left + third) <= bound_at(right - third):
                    right -= third
                else:
                    left += third
            turns.append((right, bound_at(right)))
    return tuple(turns)


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
    known = _tail_if_known(law, loss, differing)
    if loss >= _CROSSING * law.pure_epsilon(differing):
        return known
    if differing > _MOST_ANSWERS:
        return 1.0
    return max(known, _tail_if_unknown(law, loss, differing, min(answers, _MOST_ANSWERS)))


def variance_tail_epsilon(
    law: VarianceLaw, probability: float, *, differing: int = 1, answers: int = 1
) -> float:
    """Return the least loss found that `variance_tail` exceeds with `probability` at most."""

    def exceeded(loss: float) -> bool:
        return variance_tail(law, loss, differing=differing, answers=answers) > probability

    return _least_loss(exceeded, 1e-9)


def _tail_if_known(law: VarianceLaw, loss: float, differing: int) -> float:
    """Return the tail for who learns the variance.

    The sum of what differs is one number with `differing` times the distance and the variance. On
    the grid it exceeds a threshold by half a step less than a normal number would, at most: as if
    the distance were a step larger.
    """
    wider = evolve(law, steps=differing * law.steps + 1, rate=law.rate / differing)
    least = differing * law.least
    share = wider.steps / (wider.steps - 1)
    tail = _normal_tail(wider, loss * share, least)
    return min(1.0, tail + _tail_of_the_grid(law, differing))


def _normal_tail(law: VarianceLaw, loss: float, least: float) -> float:
    """Return ``delta - delta'`` at a loss, for one answer and normal noise."""
    pure = law.pure_epsilon()
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


def _tail_of_the_grid(law: VarianceLaw, differing: int) -> float:
    """Return by how much the tail on the grid may exceed that of normal noise, half a step wider.

    Sums over whole steps differ from integrals by an eighth of the total variation of the slope of
    the density, ``0.968 / v``; variances below `_CUT` count as lost.
    """
    small = _CUT * law.rate if law.least < _CUT else 0.0
    bends = 0.121 * law.rate / differing * math.log1p(1 / (_CUT * law.rate))
    return small + bends + 1e-12


def _mixture(law: VarianceLaw) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return variances, in squared steps, and ln of what each of them counts."""
    amounts = np.geomspace(1e-9, 60.0, _VARIANCES)
    logs = np.log(amounts) - amounts + math.log(math.log(amounts[1] / amounts[0]))
    return law.least + amounts / law.rate, logs


@frozen
class _NoiseLengths:
    """The law of the length of all noise of a worker, and ln of the density at each length."""

    squares: npt.NDArray[np.float64]
    chances: npt.NDArray[np.float64]
    log_density: npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def _noise_lengths(law: VarianceLaw, answers: int) -> _NoiseLengths:
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
    return _NoiseLengths(squares, chances / chances.sum(), density)


def _tail_if_unknown(law: VarianceLaw, loss: float, differing: int, answers: int) -> float:
    """Return the tail for who sees the reports alone, by quadrature.

    The density of the reports depends on the length r of the noise alone. A report loses more than
    x where the length from the other row is so much larger that the density is less by ``exp(x)``:
    where the noise points towards the other row by a cosine of at least c(r).
    """
    from scipy.special import betainc  # a worker's device loads SciPy for this law alone

    if answers == 1:
        return min(1.0, _of_one_report(law, loss) + _tail_of_the_grid(law, 1) + _OF_QUADRATURE)
    noise = _noise_lengths(law, answers)
    lengths = np.sqrt(noise.squares)
    distance = law.steps * math.sqrt(differing)
    farther = np.exp(
        np.interp(
            loss - noise.log_density,
            -noise.log_density,
            np.log(noise.squares),
            right=math.inf,
        )
    )
    half_a_step = 0.5 / math.sqrt(differing)
    cosines = (farther - noise.squares - distance**2) / (2 * lengths * distance)
    cosines = np.clip(cosines - half_a_step / lengths, -1.0, 1.0)
    beyond = betainc((answers - 1) / 2, 0.5, 1 - cosines**2) / 2
    beyond = np.where(cosines >= 0, beyond, 1 - beyond)
    tail = float((noise.chances * beyond).sum())
    return min(1.0, tail + _tail_of_the_grid(law, differing) + _OF_QUADRATURE)


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
