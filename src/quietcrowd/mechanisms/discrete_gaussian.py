"""Whole-numbered Gaussian noise, drawn exactly, with a variance that each worker draws.

``P(Z = z)`` is proportional to ``exp(-z**2 / (2 V))``. The variance V is a whole number of public
units, and exponential: an exact, geometric number of units beyond a public least one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.channel import Floats, Noise
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.exact_coins import decaying, shows_heads
from quietcrowd.mechanisms.randomness import Randomness, WordSource, word_source
from quietcrowd.privacy.sampled_variance import MEAN

__all__ = ["MOST_LEAST", "DrawnGaussian", "gaussian_noise"]

BLOCK = 2**16
MOST_LEAST = 2**46
"""The largest least variance, in units."""

_UNSURE = 1.0
"""A word so near to a chance that is found in floats, in units of 2^-32, is compared exactly."""

_LARGEST = 2**49
"""The largest number of units beyond the least; the square root of a float tells them apart."""

_LOG_ROOTS = np.arange(-40.0, 3.0, 1 / 16)
"""Logarithms of square roots of what is drawn, in means, that a law is summed over."""

_NARROW = 64
"""Gaussian noise of a variance below it ends within as many steps, but for e^-32."""


@frozen(kw_only=True)
class DrawnGaussian(Noise):
    """Gaussian noise on the whole numbers, of one drawn variance per worker.

    Parameters
    ----------
    unit : float
        Unit of the variance, in squared steps; the exponential part has a mean of 2^42 units.
    least : int
        Least variance, in units, at most 2^46.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS
    2020, algorithm 3.
    """

    unit: float
    least: int = 0

    @property
    def rate(self) -> float:
        """Rate of the exponential part of the variance, in 1 over squared steps."""
        return 1 / (self.unit * MEAN)

    @property
    def least_variance(self) -> float:
        """Least variance, in squared steps."""
        return self.unit * self.least

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise that the exponential part alone amounts to, in steps."""
        return 1 / math.sqrt(2 * self.rate)

    @property
    def variance(self) -> float:
        """Mean variance, in squared steps."""
        return self.least_variance + 2 * self.scale**2

    def log_mass(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``ln P(Z = z)`` for a worker of whom nothing else is known; see `Noise.log_mass`.

        Summed over the variance, relative error below 10^-9; `steps` of many values take long.
        """
        away, places = np.unique(np.abs(steps), return_inverse=True)
        variances, log_chances = self._variances
        log_chances = log_chances - _log_theta(variances)
        logs = np.empty(len(away))
        for place, distance in enumerate(away.astype(np.float64)):
            terms = log_chances - distance**2 / (2 * variances)
            logs[place] = terms.max() + math.log(np.exp(terms - terms.max()).sum())
        return logs[places].reshape(np.shape(steps))

    def below(self, steps: npt.NDArray[Any]) -> Floats:
        """Return ``P(Z < z)`` likewise, to 10^-8; see `Noise.below`."""
        variances, log_chances = self._variances
        chances, narrow = np.exp(log_chances), variances < _NARROW
        numbers = np.arange(-_NARROW, _NARROW + 1)
        powers = -(numbers**2) / (2 * variances[narrow, np.newaxis])
        masses = np.exp(powers - _log_theta(variances[narrow])[:, np.newaxis])
        sums = np.concatenate([[0.0], np.cumsum(chances[narrow] @ masses)])
        found: Floats = sums[np.clip(np.asarray(steps) + _NARROW, 0, len(numbers))]
        for chance, variance in zip(chances[~narrow], variances[~narrow], strict=True):
            found = found + chance * _normal_below(np.asarray(steps, np.float64), variance)
        return found

    @property
    def _variances(self) -> tuple[Floats, Floats]:
        """Variances, in squared steps, and ln of the chances of each, for sums over the law."""
        amounts = np.exp(2 * _LOG_ROOTS)
        log_chances = np.log(2 * (_LOG_ROOTS[1] - _LOG_ROOTS[0]) * amounts) - amounts
        return self.least_variance + amounts / self.rate, log_chances

    def draw(self, count: int, rng: Randomness) -> npt.NDArray[np.float64]:
        """Return the standard deviations of `count` workers, rounded up, in steps.

        Parameters
        ----------
        count : int
            How many workers.
        rng : Randomness
            A generator is for a simulation in floats; all else draws exactly.
        """
        if isinstance(rng, np.random.Generator):
            units = rng.standard_exponential(count) * MEAN
        else:
            units = _geometric(count, word_source(rng)).astype(np.float64)
        deviations = np.sqrt((units + self.least) * self.unit)
        return np.nextafter(np.nextafter(deviations, np.inf), np.inf)

    def sample(
        self,
        deviations: npt.NDArray[np.float64],
        codes: npt.NDArray[np.int32],
        rng: Randomness,
    ) -> npt.NDArray[np.int64]:
        """Draw one independent number of noise for each of `codes`.

        Parameters
        ----------
        deviations : ndarray of float, shape (workers,)
            What `draw` gave; each taken as the exact rational number that the float is.
        codes : ndarray of int, shape (n,)
            Whose deviation each number has.
        rng : Randomness
            A generator is for a fast simulation in floats; all else draws exactly.
        """
        if not isinstance(rng, np.random.Generator):
            return _sample_exactly(deviations, codes, word_source(rng))
        noise = np.empty(len(codes), np.int64)
        for start in range(0, len(codes), BLOCK):
            block = slice(start, start + BLOCK)
            own = deviations[codes[block]]
            noise[block] = np.rint(rng.standard_normal(len(own)) * own)
        return noise


def _log_theta(variances: Floats) -> Floats:
    """Return ``ln sum exp(-j**2 / (2 V))`` over all whole j, to a relative error of 10^-15."""
    small = np.minimum(variances, 1.0)
    among = np.exp(-(np.arange(1, 10) ** 2) / (2 * small[:, np.newaxis])).sum(axis=1)
    large = np.maximum(variances, 1.0)
    wide = np.log(2 * math.pi * large) / 2 + np.log1p(2 * np.exp(-2 * math.pi**2 * large))
    logs: Floats = np.where(variances < 1.0, np.log1p(2 * among), wide)
    return logs


def _normal_below(steps: Floats, variance: float) -> Floats:
    """Return ``P(Z < z)`` of wide discrete Gaussian noise, by Euler and Maclaurin's formula."""
    away = (steps - 0.5) / math.sqrt(variance)
    below = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in away.reshape(-1)])
    slope = away * np.exp(-(away**2) / 2) / (math.sqrt(2 * math.pi) * variance)
    corrected: Floats = below.reshape(away.shape) + slope / 24
    return corrected


def _geometric(count: int, words: WordSource) -> npt.NDArray[np.int64]:
    """Return whole numbers k from 1 with probabilities proportional to ``exp(-k / MEAN)``.

    Zeros are drawn again, and so is what is above the largest: once in e^128 times.
    """
    law = DiscreteLaplace(scale=float(MEAN))
    drawn = np.zeros(count, np.int64)
    while len(open_places := np.flatnonzero((drawn < 1) | (drawn > _LARGEST))):
        drawn[open_places] = np.abs(law.draw(len(open_places), words))
    return drawn


def gaussian_noise(deviation: float, count: int, words: WordSource) -> npt.NDArray[np.int64]:
    """Draw `count` independent values of discrete Gaussian noise exactly, from random words.

    In rounds: each open place gets Laplace noise of a whole scale t, the first above the deviation,
    and keeps it with a chance of ``exp(-(|y| - V / t)^2 / 2 V)``.

    Parameters
    ----------
    deviation : float
        Root of V, in steps; taken as the exact rational number that the float is.
    count : int
        How many.
    words : WordSource
        Where the randomness comes from: in each round the words of the Laplace noise, one for each
        place, and then, in order, more for those that this does not settle.
    """
    law = DiscreteLaplace(scale=float(math.floor(deviation) + 1))
    noise, open_places = np.zeros(count, np.int64), np.arange(count)
    while len(open_places):
        drawn = law.draw(len(open_places), words)
        kept = _kept(drawn, deviation, int(law.scale), words)
        noise[open_places[kept]] = drawn[kept]
        open_places = open_places[~kept]
    return noise


def _kept(
    drawn: npt.NDArray[np.int64], deviation: float, scale: int, words: WordSource
) -> npt.NDArray[np.bool_]:
    """Return which values are kept.

    Their chances are first found in floats, to 2^-38: only where a word is too near to that the
    exact one counts.
    """
    given = words(len(drawn)).astype(np.float64)
    apart = (np.abs(drawn) - deviation * deviation / scale) / deviation
    near = np.exp(-0.5 * apart * apart) * 2.0**32
    kept: npt.NDArray[np.bool_] = given < near
    for place in np.flatnonzero(np.abs(given + 0.5 - near) < _UNSURE):
        variance = Fraction(deviation) ** 2
        rate = (abs(int(drawn[place])) - variance / scale) ** 2 / (2 * variance)
        kept[place] = not rate or shows_heads(int(given[place]), decaying(rate), words)
    return kept


def _sample_exactly(
    deviations: npt.NDArray[np.float64], codes: npt.NDArray[np.int32], words: WordSource
) -> npt.NDArray[np.int64]:
    """Return noise of each code's deviation; one worker after the other."""
    noise = np.empty(len(codes), np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=1))[:-1]
    for worker, places in enumerate(np.split(np.argsort(codes, kind="stable"), ends)):
        if len(places):
            noise[places] = gaussian_noise(float(deviations[worker]), len(places), words)
    return noise
