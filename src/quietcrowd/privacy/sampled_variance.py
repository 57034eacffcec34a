"""Privacy loss when a worker draws one noise variance for all of its numbers.

A worker draws a variance V, which exceeds a public least one by an exponential amount of a given
rate, and adds to each of its n answers, up to D steps of a grid apart, discrete Gaussian noise of
that variance. With one answer the loss is pure: ``D sqrt(2 rate)``. With more it is not, and what
is bounded here is the loss to somebody who learns V besides. Derivation, bounds and checks:
``docs/theory/sampled-variance.md``. (Li et al., ICDCS 2020, claim the pair (epsilon, delta) of
`claimed_rate`.)
"""

from __future__ import annotations

import math
from functools import lru_cache

from attrs import frozen

from quietcrowd.exceptions import ParameterError

__all__ = [
    "CUT",
    "MAX_ANSWERS",
    "MEAN",
    "VarianceLaw",
    "claimed_epsilon",
    "claimed_rate",
    "gaussian_delta",
    "log_normal_tail",
]

MEAN = 2**42
"""How many units the mean of the exponential part is; the variance is a whole number of them."""

MAX_ANSWERS = 10**7
_MOST_EPSILON = 2.0**60
CUT = 8.0
"""Below this variance, in squared steps, everything counts as lost."""


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
        pure = self.steps * math.sqrt(2 * self.rate * count)
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
        if self.least < CUT:
            away = self.steps * math.sqrt(count / CUT)
            small = CUT * self.rate * (1 - gaussian_delta(epsilon, away))
        rate = self.rate / count  # of the variance of the sum of what differs
        bends = rate * (0.33 * math.log1p(1 / (CUT * self.rate)) + 0.375)
        return small + bends + 0.09 * epsilon * math.sqrt(rate) / (self.steps * count)

    def epsilon_at(self, delta: float, count: int = 1) -> float:
        """Return the least epsilon at which `delta_at` is at most `delta`; or infinity."""
        if count > MAX_ANSWERS:
            raise ParameterError(f"answers must be at most {MAX_ANSWERS:,}; got {count:,}")
        if self.delta_at(0.0, count) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta_at(high, count) > delta:
            low, high = high, 2 * high
            if high > _MOST_EPSILON:
                return math.inf
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if self.delta_at(middle, count) <= delta:
                high = middle
            else:
                low = middle
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
