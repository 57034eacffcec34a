"""Distributions on bins: of a worker's reports given a truth, and of the truths.

The unit of length is the width of the binned range; truths lie in [0, 1].
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

Floats: TypeAlias = npt.NDArray[np.float64]

BINS = 192
"""Number of bins of the truths; the centers of the outer bins are the ends of the range."""

CENTRE = 2 * BINS
"""Index of distance 0. Reports are clipped at one width beyond the range."""

DISTANCES = 2 * CENTRE + 1

LEAST_SIGMA, MOST_SIGMA, SIGMAS = 0.004, 0.7, 20
"""Grid of a worker's own standard deviation, with equal steps of the logarithm."""

LOG_FLOOR = 300.0
"""Largest drop of a log density below its peak, so that no report rules out a truth."""

TAIL = 10.0
"""Degrees of freedom of the heavy-tailed distribution, for reports without noise."""

TAIL_SHARE = 1 / 6
"""Prior probability that a worker's errors are heavy-tailed."""

TRUST = 300.0
"""Prior weight of the normal distribution of the truths, in tasks."""

FLAT = 0.02
"""Fraction of the distribution of the truths that is uniform over the range."""


@frozen(kw_only=True, eq=False)
class ErrorLaws:
    """Candidate distributions of a worker's reports.

    `logs`, shape (columns, distributions), has up to three blocks (see `bounded_laws` for its
    blocks). First, of a report's bin at each of `DISTANCES` from the truth. Then, given each bin of
    the truth, of a report below and of one above the range. Last, what clipping adds to the first
    block for reports in each cell near the ends. Without clipping, the last two are absent. `sigma`
    are standard deviations of the worker's own errors; `variance` includes noise; `share` is the
    prior.
    """

    logs: Floats
    sigma: Floats
    variance: Floats
    share: Floats


def usual_sigmas() -> Floats:
    """Return the grid of a worker's own standard deviation, shape (SIGMAS,)."""
    sigma: Floats = np.geomspace(LEAST_SIGMA, MOST_SIGMA, SIGMAS)
    return sigma


@lru_cache(maxsize=16)
def answer_laws(scale: float, margin: float = math.nan) -> ErrorLaws:
    """Return normal errors of several sizes, plus Laplace noise of the given scale.

    Without noise, the errors include rounding to bins, and half of the candidates have Student's
    distribution.
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
    constant = math.lgamma((TAIL + 1.0) / 2.0) - math.lgamma(TAIL / 2.0)
    spread = np.log(width) + math.log(TAIL * math.pi) / 2.0
    logs: Floats = (
        constant - spread - (TAIL + 1.0) / 2.0 * np.log1p((distances / width) ** 2 / TAIL)
    )
    return logs


def filling_law(fillings: Floats, scale: float) -> Floats:
    """Return the log probability of a report at each bin if there is no answer, shape (3 BINS,).

    `fillings` are the equally likely values that replace an answer; the first bin is one width
    below.
    """
    step = 1.0 / (BINS - 1)
    places = (np.arange(3 * BINS) - BINS)[:, np.newaxis] * step
    densities = np.exp(-np.abs(places - fillings) / scale).mean(axis=1)
    logs: Floats = np.log(densities) + math.log(step / 2.0 / scale)
    return logs


@frozen(kw_only=True)
class NormalTruths:
    """Normal distribution of the truths, truncated to the range [0, 1]."""

    mean: float
    log_spread: float

    @property
    def shares(self) -> Floats:
        """Probability of each bin, including the uniform part."""
        shares: Floats = law_shares([self])[0]
        return shares

    @property
    def log_prior(self) -> float:
        """Log prior of this distribution: as if one more truth came uniformly from the range."""
        return -math.exp(-2.0 * self.log_spread) / 24.0 - self.log_spread

    def with_counts(self, counts: Floats) -> Floats:
        """Return the posterior distribution of truths, given expected counts per bin."""
        mixed = counts + TRUST * self.shares
        law: Floats = mixed / mixed.sum()
        return law

    def penalty(self, law: Floats) -> float:
        """Return the log prior of a distribution on bins, including `log_prior`."""
        shares = self.shares
        return float(TRUST * np.sum(shares * np.log(law / shares))) + self.log_prior

    def value(self, counts: Floats) -> float:
        """Return the log posterior of the best distribution on bins under this prior."""
        return _values([self], counts)[0]

    def moved(self, mean: float, log_spread: float) -> NormalTruths:
        """Return this distribution after a step, within bounds."""
        return NormalTruths(
            mean=min(max(self.mean + mean, 0.0), 1.0),
            log_spread=min(max(self.log_spread + log_spread, _LEAST_SPREAD), _MOST_SPREAD),
        )

    def climbed(self, counts: Floats) -> NormalTruths:
        """Maximize `value` by coordinate search; it never decreases."""
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
    """Return the probability of each bin under each distribution, shape (distributions, bins)."""
    mean = np.array([[law.mean] for law in laws])
    spread = np.array([[math.exp(law.log_spread)] for law in laws])
    apart = (_MIDDLES - mean) / spread
    heights = np.exp(-0.5 * (apart**2 - np.min(apart**2, axis=1, keepdims=True)))
    shares: Floats = (1.0 - FLAT) * heights / heights.sum(axis=1, keepdims=True) + FLAT / BINS
    return shares


def _values(laws: list[NormalTruths], counts: Floats) -> list[float]:
    shares = law_shares(laws)
    mixed = counts + TRUST * shares
    found = mixed / mixed.sum(axis=1, keepdims=True)
    fit = np.sum(mixed * np.log(found) - TRUST * shares * np.log(shares), axis=1)
    return [value + law.log_prior for value, law in zip(fit.tolist(), laws, strict=True)]


_MIDDLES = np.linspace(0.0, 1.0, BINS)
_LEAST_SPREAD, _MOST_SPREAD = math.log(0.003), math.log(0.7)
_SEARCHES = 10
