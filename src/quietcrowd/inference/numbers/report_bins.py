"""Distributions on bins: of a worker's reports given a truth, and of the truths.

The unit of length is the width of the binned range; truths lie in [0, 1]. An answer is the truth
plus a worker's own error, clipped to the range, so near the ends the distribution of a report
depends on more than its distance from the truth. Reports beyond an end are equivalent, and have one
distribution. Within the range, a few cells of reports near each end have a factor on the
distribution by distance.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy import special

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

Floats: TypeAlias = npt.NDArray[np.float64]

CELLS = 4
"""Most cells at each end, within the range."""

PER_SCALE = 1.0
"""Cells per scale of the noise."""

MOST_SCALE = 1.0
"""Largest scale of the noise at which the model includes clipping.

Beyond it, the model with clipping is more accurate, but the estimates were not:
``research/docs/theory/noise-aware-numbers.md``.
"""

POINTS = 6
"""Quadrature points for the mean density over a cell."""


def end_cells(scale: float, step: float) -> tuple[float, int]:
    """Return the width of the cells, at least a bin's `step`, and their number at each end."""
    width = max(scale / PER_SCALE, step)
    if 2 * CELLS * width < 1.0:
        return width, CELLS
    half = math.ceil(0.5 / width)
    return 0.5 / half, half


def cells_of(reports: Floats, scale: float, step: float) -> npt.NDArray[np.int64]:
    """Return the cell of each report; -1 if only its distance from the truth matters.

    Cell 0 contains reports below the range, and cell 1 those above. The next cells go up from the
    lower end, and as many go down from the upper end.
    """
    width, count = end_cells(scale, step)
    upper = reports > 0.5
    apart = np.where(upper, 1.0 - reports, reports)
    cells = np.maximum(np.floor(apart / width), -1.0).astype(np.int64)
    return np.where(cells < 0, upper, np.where(cells < count, 2 + cells + upper * count, -1))


def beyond_logs(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return log densities at an end, for reports beyond it, shape (2 bins, distributions).

    Let ``K(x)`` be what clipping adds to the likelihood at an end, for a truth at distance x. A
    report y has the density of normal error plus noise, plus ``exp(-|y - end| / b) K(x) / 2b`` for
    each end, with the scale b of the noise. Beyond an end, it decays as ``exp(-|y - end| / b)``,
    whatever the truth. `sigma` has shape (distributions,).
    """
    distribution, more = _at(0.0, sigma, scale, bins)
    logs = distribution + np.log1p(more)
    return np.concatenate([logs, logs[::-1]])


def cell_ratios(sigma: Floats, scale: float, bins: int) -> Floats:
    """Return the log of the mean ratio in a cell to the density by distance, by cell and bin."""
    width, count = end_cells(scale, 1.0 / (bins - 1))
    points, shares = np.polynomial.legendre.leggauss(POINTS)
    lower = []
    for cell in range(count):
        inside = (cell + (points + 1.0) / 2.0) * width
        more = sum(s * _at(y, sigma, scale, bins)[1] for s, y in zip(shares, inside, strict=True))
        lower.append(np.log1p(more / 2.0))
    return np.concatenate([*lower, *(logs[::-1] for logs in lower)])


def _at(report: float, sigma: Floats, scale: float, bins: int) -> tuple[Floats, Floats]:
    """Return a report's log density by its distance, and the ends' contribution relative to it."""
    truths = np.linspace(0.0, 1.0, bins)[:, np.newaxis]
    below = _cut_off(truths, sigma, scale)
    logs = NormalLaplace(sigma, scale).log_density(report - truths)
    extra = math.exp(-report / scale) * below + math.exp((report - 1.0) / scale) * below[::-1]
    return logs, extra / (2.0 * scale) * np.exp(-logs)


def _cut_off(truths: Floats, sigma: Floats, scale: float) -> Floats:
    """Return K(x): P(answer < 0) less the mean of exp(answer / b) over such answers."""
    far = truths / sigma
    root = math.sqrt(0.5)
    tails = special.erfcx(far * root) - special.erfcx((far + sigma / scale) * root)
    cut: Floats = 0.5 * np.exp(-0.5 * far**2) * tails
    return np.maximum(cut, 0.0)


def clipped_plain_logs(width: Floats, tail: float, margin: float, bins: int) -> Floats:
    """Return log probabilities of non-private answers at the ends, shape (2 bins, distributions).

    The distributions are normal, then as many of Student's with `tail` degrees of freedom, of
    scales `width`. Answers within `margin`, half of a step, of an end also count as clipped.
    """
    apart = (margin - np.linspace(0.0, 1.0, bins)[:, np.newaxis]) / width
    student = special.stdtr(tail, apart)
    with np.errstate(divide="ignore"):
        logs = np.hstack([special.log_ndtr(apart), np.log(student)])
    return np.concatenate([logs, logs[::-1]])


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
class ErrorDistributions:
    """Candidate distributions of a worker's reports.

    `logs`, shape (columns, distributions), has up to three blocks (see `bounded_distributions` for
    its blocks). First, of a report's bin at each of `DISTANCES` from the truth. Then, given each
    bin of the truth, of a report below and of one above the range. Last, what clipping adds to the
    first block for reports in each cell near the ends. Without clipping, the last two are absent.
    `sigma` are standard deviations of the worker's own errors; `variance`, shape (parts,
    distributions), includes the noise of each mechanism; `share` is the prior. In a mixture, the
    blocks of each mechanism begin at its row of `starts`.
    """

    logs: Floats
    sigma: Floats
    variance: Floats
    share: Floats
    starts: tuple[int, ...] = (0,)

    @property
    def columns(self) -> list[slice]:
        """Rows of `logs` of each mechanism."""
        return [slice(*ends) for ends in pairwise((*self.starts, len(self.logs)))]

    @classmethod
    def side_by_side(cls, parts: "Sequence[ErrorDistributions]") -> "ErrorDistributions":
        """Return the distributions of a worker who uses several mechanisms."""
        return cls(
            logs=np.concatenate([part.logs for part in parts]),
            sigma=parts[0].sigma,
            variance=np.concatenate([part.variance for part in parts]),
            share=parts[0].share,
            starts=tuple(accumulate((len(part.logs) for part in parts[:-1]), initial=0)),
        )


def usual_sigmas() -> Floats:
    """Return the grid of a worker's own standard deviation, shape (SIGMAS,)."""
    sigma: Floats = np.geomspace(LEAST_SIGMA, MOST_SIGMA, SIGMAS)
    return sigma


@lru_cache(maxsize=16)
def answer_distributions(scale: float, margin: float = math.nan) -> ErrorDistributions:
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
    return ErrorDistributions(
        logs=np.concatenate([logs, ratios]),
        sigma=sigma,
        variance=variance[np.newaxis],
        share=share,
    )


def _student(distances: Floats, width: Floats) -> Floats:
    constant = math.lgamma((TAIL + 1.0) / 2.0) - math.lgamma(TAIL / 2.0)
    spread = np.log(width) + math.log(TAIL * math.pi) / 2.0
    logs: Floats = (
        constant - spread - (TAIL + 1.0) / 2.0 * np.log1p((distances / width) ** 2 / TAIL)
    )
    return logs


def filling_distribution(fillings: Floats, scale: float) -> Floats:
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
        shares: Floats = distribution_shares([self])[0]
        return shares

    @property
    def log_prior(self) -> float:
        """Log prior of this distribution: as if one more truth came uniformly from the range."""
        return -math.exp(-2.0 * self.log_spread) / 24.0 - self.log_spread

    def with_counts(self, counts: Floats) -> Floats:
        """Return the posterior distribution of truths, given expected counts per bin."""
        mixed = counts + TRUST * self.shares
        distribution: Floats = mixed / mixed.sum()
        return distribution

    def penalty(self, distribution: Floats) -> float:
        """Return the log prior of a distribution on bins, including `log_prior`."""
        shares = self.shares
        return float(TRUST * np.sum(shares * np.log(distribution / shares))) + self.log_prior

    def value(self, counts: Floats) -> float:
        """Return the log posterior of the best distribution on bins under this prior."""
        return _values([self], counts)[0]

    def moved(self, mean: float, log_spread: float) -> "NormalTruths":
        """Return this distribution after a step, within bounds."""
        return NormalTruths(
            mean=min(max(self.mean + mean, 0.0), 1.0),
            log_spread=min(max(self.log_spread + log_spread, _LEAST_SPREAD), _MOST_SPREAD),
        )

    def climbed(self, counts: Floats) -> "NormalTruths":
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


def distribution_shares(distributions: Sequence[NormalTruths]) -> Floats:
    """Return the probability of each bin under each distribution, shape (distributions, bins)."""
    mean = np.array([[distribution.mean] for distribution in distributions])
    spread = np.array([[math.exp(distribution.log_spread)] for distribution in distributions])
    apart = (_MIDDLES - mean) / spread
    heights = np.exp(-0.5 * (apart**2 - np.min(apart**2, axis=1, keepdims=True)))
    shares: Floats = (1.0 - FLAT) * heights / heights.sum(axis=1, keepdims=True) + FLAT / BINS
    return shares


def _values(distributions: list[NormalTruths], counts: Floats) -> list[float]:
    shares = distribution_shares(distributions)
    mixed = counts + TRUST * shares
    found = mixed / mixed.sum(axis=1, keepdims=True)
    fit = np.sum(mixed * np.log(found) - TRUST * shares * np.log(shares), axis=1)
    return [
        value + distribution.log_prior
        for value, distribution in zip(fit.tolist(), distributions, strict=True)
    ]


_MIDDLES = np.linspace(0.0, 1.0, BINS)
_LEAST_SPREAD, _MOST_SPREAD = math.log(0.003), math.log(0.7)
_SEARCHES = 10
