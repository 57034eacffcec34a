"""Laws on bins: of a worker's reports about a truth, and of the truths themselves.

All lengths are in widths of the range that is cut into bins; the truths lie from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.numbers.clipped import (
    MOST_SCALE,
    beyond_logs,
    cell_ratios,
    clipped_plain_logs,
)
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

__all__ = [
    "BINS",
    "CENTRE",
    "DISTANCES",
    "LOG_FLOOR",
    "ErrorLaws",
    "NormalTruths",
    "answer_laws",
    "filling_law",
    "law_shares",
    "usual_sigmas",
]

Floats: TypeAlias = npt.NDArray[np.float64]

BINS = 192
"""Bins of the truths; the middles of the outer ones are the ends of the range."""

CENTRE = 2 * BINS
"""Where a distance of 0 stands: reports are cut off one width beyond the range."""

DISTANCES = 2 * CENTRE + 1

LEAST_SIGMA, MOST_SIGMA, SIGMAS = 0.004, 0.7, 20
"""What a worker's own errors may be, in equal steps of the logarithm."""

LOG_FLOOR = 300.0
"""A law's log density is at most so far below its peak: no report can rule out a truth."""

TAIL = 10.0
"""Degrees of freedom of the law with heavy tails, of reports without noise."""

TAIL_SHARE = 1 / 6
"""Share of the workers that are taken to have heavy tails beforehand."""

TRUST = 300.0
"""The law of the truths holds as much of a normal law as if so many tasks had told of it."""

FLAT = 0.02
"""Part of it that is even over the range."""


@frozen(kw_only=True, eq=False)
class ErrorLaws:
    """The laws that a worker's reports may follow.

    Attributes
    ----------
    logs : ndarray of float64, shape (columns, laws)
        Log probability of a bin at each of `DISTANCES` from the truth; given each bin of the truth,
        of a report below and of one above the range; what the ends add to the first for reports in
        each cell near them. The latter are absent where nothing is cut off.
    sigma : ndarray of float64, shape (laws,)
        Standard deviation of the worker's own errors; of heavy tails too.
    variance : ndarray of float64, shape (laws,)
        One over what a report counts: with the noise.
    share : ndarray of float64, shape (laws,)
        How likely each is beforehand.
    """

    logs: Floats
    sigma: Floats
    variance: Floats
    share: Floats


def usual_sigmas() -> Floats:
    """Return the sizes that a worker's own errors may have, shape (laws,)."""
    sigma: Floats = np.geomspace(LEAST_SIGMA, MOST_SIGMA, SIGMAS)
    return sigma


@lru_cache(maxsize=16)
def answer_laws(scale: float, margin: float = math.nan) -> ErrorLaws:
    """Return normal errors of several sizes with Laplace noise of a scale on top.

    Without noise, what rounding to bins adds is part of the errors, and there are errors with heavy
    tails, too; under Laplace noise all reports have them.
    """
    step = 1.0 / (BINS - 1)
    distances: Floats = (np.arange(DISTANCES, dtype=np.float64)[:, np.newaxis] - CENTRE) * step
    sigma = usual_sigmas()
    if scale > 0:
        logs = NormalLaplace(sigma, scale).log_density(distances)
        clipped = scale <= MOST_SCALE
        ends = beyond_logs(sigma, scale, BINS) if clipped else logs[:0]
        ratios = cell_ratios(sigma, scale, BINS) if clipped else logs[:0]
        share, variance = np.full(SIGMAS, 1.0 / SIGMAS), sigma**2 + 2.0 * scale**2
    else:
        wide: Floats = np.sqrt(sigma**2 + step**2 / 12.0)
        logs = np.hstack(
            [NormalLaplace(wide, 0.0).log_density(distances), _student(distances, wide)]
        )
        ends = logs[:0] if math.isnan(margin) else clipped_plain_logs(wide, TAIL, margin, BINS)
        ends, ratios = ends - math.log(step), logs[:0]
        share = np.repeat([1.0 - TAIL_SHARE, TAIL_SHARE], SIGMAS) / SIGMAS
        variance = np.concatenate([wide**2, wide**2])
        sigma = np.concatenate([sigma, sigma * math.sqrt(TAIL / (TAIL - 2.0))])
    least = logs.max(axis=0) - LOG_FLOOR
    logs = np.maximum(np.concatenate([logs, ends]), least) + math.log(step)
    return ErrorLaws(
        logs=np.concatenate([logs, ratios]),
        sigma=sigma,
        variance=variance,
        share=share,
    )


def _student(distances: Floats, width: Floats) -> Floats:
    """Return the log density of Student's law."""
    constant = math.lgamma((TAIL + 1.0) / 2.0) - math.lgamma(TAIL / 2.0)
    spread = np.log(width) + math.log(TAIL * math.pi) / 2.0
    logs: Floats = (
        constant - spread - (TAIL + 1.0) / 2.0 * np.log1p((distances / width) ** 2 / TAIL)
    )
    return logs


def filling_law(fillings: Floats, scale: float) -> Floats:
    """Return the log probability of a report at each place where there is no answer.

    Parameters
    ----------
    fillings : ndarray of float64
        What stands for no answer, one as likely as another.
    scale : float
        Of the noise.

    Returns
    -------
    ndarray of float64, shape (3 bins,)
        From one width below the range on.
    """
    step = 1.0 / (BINS - 1)
    places = (np.arange(3 * BINS) - BINS)[:, np.newaxis] * step
    densities = np.exp(-np.abs(places - fillings) / scale).mean(axis=1)
    logs: Floats = np.log(densities) + math.log(step / 2.0 / scale)
    return logs


@frozen(kw_only=True)
class NormalTruths:
    """A normal law of the truths, cut off at the ends of the range.

    Attributes
    ----------
    mean : float
        0 to 1.
    log_spread : float
        Logarithm of its standard deviation.
    """

    mean: float
    log_spread: float

    @property
    def shares(self) -> Floats:
        """Probability of each bin, with a part that is even."""
        shares: Floats = law_shares([self])[0]
        return shares

    @property
    def log_prior(self) -> float:
        """Of the law: as if one more task was drawn, from all of the range."""
        return -math.exp(-2.0 * self.log_spread) / 24.0 - self.log_spread

    def with_counts(self, counts: Floats) -> Floats:
        """Return the law of truths, of which so many were found in each bin."""
        mixed = counts + TRUST * self.shares
        law: Floats = mixed / mixed.sum()
        return law

    def penalty(self, law: Floats) -> float:
        """Return the log prior of a law of the truths, that of the normal law included."""
        shares = self.shares
        return float(TRUST * np.sum(shares * np.log(law / shares))) + self.log_prior

    def value(self, counts: Floats) -> float:
        """Return the log posterior of the best law of the truths given this normal law."""
        return _values([self], counts)[0]

    def moved(self, mean: float, log_spread: float) -> NormalTruths:
        """Return another one, within bounds."""
        return NormalTruths(
            mean=min(max(self.mean + mean, 0.0), 1.0),
            log_spread=min(max(self.log_spread + log_spread, _LEAST_SPREAD), _MOST_SPREAD),
        )

    def climbed(self, counts: Floats) -> NormalTruths:
        """Return the best normal law that a search along both numbers finds; never a worse one."""
        best, value, steps = self, self.value(counts), np.array([0.05, 0.3])
        for _ in range(_SEARCHES):
            tried = [best.moved(*(sign * side * steps)) for side in np.eye(2) for sign in (-1, 1)]
            values = _values(tried, counts)
            place = int(np.argmax(values))
            if values[place] > value:
                best, value = tried[place], values[place]
            else:
                steps /= 2.0
        return best


def law_shares(laws: Sequence[NormalTruths]) -> Floats:
    """Return the probability of each bin under each law, shape (laws, bins)."""
    mean = np.array([[law.mean] for law in laws])
    spread = np.array([[math.exp(law.log_spread)] for law in laws])
    apart = (_MIDDLES - mean) / spread
    heights = np.exp(-0.5 * (apart**2 - np.min(apart**2, axis=1, keepdims=True)))
    shares: Floats = (1.0 - FLAT) * heights / heights.sum(axis=1, keepdims=True) + FLAT / BINS
    return shares


def _values(laws: list[NormalTruths], counts: Floats) -> list[float]:
    """Return `NormalTruths.value` of several laws."""
    shares = law_shares(laws)
    mixed = counts + TRUST * shares
    found = mixed / mixed.sum(axis=1, keepdims=True)
    fit = np.sum(mixed * np.log(found) - TRUST * shares * np.log(shares), axis=1)
    return [value + law.log_prior for value, law in zip(fit.tolist(), laws, strict=True)]


_MIDDLES = np.linspace(0.0, 1.0, BINS)
_LEAST_SPREAD, _MOST_SPREAD = math.log(0.003), math.log(0.7)
_SEARCHES = 10
