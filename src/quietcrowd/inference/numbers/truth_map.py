"""From apparent numbers to truths: ``research/docs/theory/noise-aware-numbers.md``."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import optimize, special

from quietcrowd.inference.numbers.report_bins import BINS
from quietcrowd.inference.shared_errors import LEARN, SharedErrors

Floats = npt.NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles of a truth's posterior."""

OMEGAS = np.geomspace(2.0**-12, 1.0, 73)
"""Grid of the standard deviation of shared errors, in widths of the range."""

SHARE = 0.5
"""Prior mean of the squared shared error, relative to the mean squared error of an answer."""

WORTH = 4.0
"""Number of known truths that this prior is worth."""

SHIFT_SHARE, SCALE_SPREAD = 0.25, 0.1
"""Prior variance of the shift, relative to the same, and prior standard deviation of the scale."""

LEAST_TILT = -0.9
"""Least slope less 1, so that the order of the truths stays."""

COST = 3.0
"""Log evidence that a shift and a scale must exceed."""

STATISTICS = 8
"""Number of sums of `compare`."""

_NODES = 9
"""Number of sizes of errors that represent their distribution."""

_LEAST = 1.0 / 12.0 / (BINS - 1) ** 2
"""Least variance of a posterior, in squared widths: that of a bin."""

_MOST_LOG = 32.0
"""Largest logarithm of a variance over the least."""


@frozen(kw_only=True, eq=False)
class TruthMap:
    """Distribution of the map: ``truth = apparent + shift + tilt * (apparent - centre) + error``.

    Lengths are in widths of the range. The error is normal with a standard deviation of `OMEGAS`,
    which has the probabilities `shares`, or the one of a `fixed` map. `means` and `covariance` are
    those of the shift and the tilt.
    """

    omegas: Floats
    shares: Floats
    means: Floats
    covariance: Floats
    centre: float = 0.5
    known_truths: int = 0

    @classmethod
    def first(cls, choice: Any, width: float) -> Self:
        """Return the map before the first update, by the parameter `shared_errors`."""
        learned = choice == LEARN
        omegas = OMEGAS if learned else np.array([choice / width])
        shares = np.full(len(omegas), 1.0 / len(omegas))
        return cls(omegas=omegas, shares=shares, means=np.zeros(2), covariance=np.zeros((2, 2)))

    @property
    def changes_nothing(self) -> bool:
        """Whether the truth is the apparent truth."""
        return len(self.omegas) == 1 and self.omegas[0] == 0.0

    @property
    def line(self) -> tuple[float, float]:
        """Shift at the lower end of the range, and scale."""
        shift, tilt = self.means.tolist()
        return shift - tilt * self.centre, 1.0 + tilt

    @property
    def variance(self) -> float:
        """Mean square of the shared error."""
        return float(self.shares @ self.omegas**2)

    def spread(self, truths: Floats) -> Floats:
        """Return the variance of the line at truths, as they are after the map."""
        shift, scale = self.line
        apart = np.stack([np.ones_like(truths), (truths - shift) / scale - self.centre], axis=-1)
        spread: Floats = np.einsum("...i,ij,...j->...", apart, self.covariance, apart)
        return spread

    def standard_error(self, apparent: Floats, truths: Floats) -> Floats:
        """Return the standard deviations of truths, given those of the apparent truths."""
        spread = self.variance + self.spread(truths)
        error: Floats = np.sqrt((self.line[1] * apparent) ** 2 + spread)
        return error

    def quantiles(self, mapped: Floats) -> Floats:
        """Return quantiles of truths, given those of the apparent truths on the line.

        Distances from the median add up like standard deviations. That is exact for normal
        posteriors, and leaves the median.
        """
        levels = np.array(LEVELS)
        middle = mapped[:, LEVELS.index(0.5), np.newaxis]
        reach = np.array([self._reach(level) for level in LEVELS])
        squares = (
            (mapped - middle) ** 2 + reach**2 + special.ndtri(levels) ** 2 * self.spread(middle)
        )
        found: Floats = middle + np.sign(levels - 0.5) * np.sqrt(squares)
        return np.clip(found, 0.0, 1.0)

    def _reach(self, level: float) -> float:
        """Return the quantile of the shared error."""
        most = float(self.omegas.max())
        if level == 0.5 or most == 0.0:
            return 0.0
        end = float(special.ndtri(level)) * most
        found: float = optimize.brentq(
            lambda error: float(self.shares @ special.ndtr(error / self.omegas)) - level, 0.0, end
        )
        return found

    def summary(self, width: float) -> SharedErrors | None:
        """Return the standard deviation of shared errors with its interval, for a range's width."""
        if self.changes_nothing:
            return None
        size, (low, high) = math.sqrt(self.variance), (self.omegas[0], self.omegas[0])
        if len(self.omegas) > 1:
            half = math.log(self.omegas[1] / self.omegas[0]) / 2.0
            edges = np.concatenate([[np.log(self.omegas[0]) - half], np.log(self.omegas) + half])
            below = np.concatenate([[0.0], np.cumsum(self.shares)])
            low, high = np.exp(np.interp([0.05, 0.95], below, edges)).tolist()
        return SharedErrors(
            size=size * width,
            low=float(low) * width,
            high=float(high) * width,
            known_truths=self.known_truths,
        )

    def note(self, width: float) -> str:
        """Return a sentence about shared errors for readers of the estimates."""
        shared = self.summary(width)
        if shared is None:
            return (
                "Workers are assumed to err independently. If they share errors, standard errors "
                "are too small."
            )
        about = f"{shared.size:.3g}"
        if len(self.omegas) == 1:
            return f"Standard errors include a shared error of {about}, as in shared_errors=."
        if not shared.known_truths:
            return (
                f"In other crowds of this kind truths differ by about {about} from what most "
                "workers agree on, and standard errors include that. These reports cannot show it; "
                "known truths (gold) can."
            )
        shift, scale = self.means[0] * width, self.line[1]
        return (
            f"By {shared.known_truths:,} known truths, truths differ by about {about} "
            f"({shared.low:.3g} to {shared.high:.3g}) from what most workers agree on, after a "
            f"shift of {shift:+.3g} and a scale of {scale:.3g}. Standard errors include that."
        )


def compare(apparent: Floats, known: Floats, unit: float) -> npt.NDArray[np.int64]:
    """Return sums over known truths in whole units, at [omega, statistic].

    `apparent`, shape (tasks, 2), has the median and the variance of the apparent truths, in widths
    of the range. The statistics are sums of log variances, and, weighted by inverse variances, of
    1, x, x^2, d, x d and d^2, for apparent truths x from the middle and differences d; and a count.
    """
    middle = apparent[:, 0] - 0.5
    apart = np.clip(known, 0.0, 1.0) - apparent[:, 0]
    variance = apparent[:, 1] + OMEGAS[:, np.newaxis] ** 2
    weight = _LEAST / variance
    terms = [np.log(variance / _LEAST) / _MOST_LOG, weight, weight * middle, weight * middle**2]
    terms += [weight * apart, weight * middle * apart, weight * apart**2, np.ones_like(weight)]
    counts: npt.NDArray[np.int64] = np.rint(np.stack(terms, axis=-1) * unit).astype(np.int64).sum(1)
    return counts


def learn_map(before: TruthMap, sums: Floats, size: float, unsure: float = 0.0) -> TruthMap:
    """Return the map from the sums of `compare`, and the mean squared error of an answer.

    The logarithm of that has the standard deviation `unsure`, which counts with known truths. The
    shift and the tilt are normal given omega, so their evidence has a closed form. It decides how
    much they count.
    """
    if len(before.omegas) == 1:
        return before
    logs, *weighted, counts = sums.T
    known, size = round(float(counts[0])), max(size, _LEAST)
    weight, first, second, apart, along, total = np.array(weighted) / _LEAST
    straight = _log_prior(size, unsure if known else 0.0) - 0.5 * (logs * _MOST_LOG + total)
    if not known:
        return evolve(before, shares=_shares(straight), means=np.zeros(2), known_truths=0)
    centre = first[-1] / weight[-1]
    second = second - 2.0 * centre * first + centre**2 * weight
    first, along = first - centre * weight, along - centre * apart
    prior = np.array([1.0 / (SHIFT_SHARE * size), 1.0 / SCALE_SPREAD**2])
    precision = np.moveaxis(np.array([[weight, first], [first, second]]), 2, 0) + np.diag(prior)
    covariance = np.linalg.inv(precision)
    pull = np.stack([apart, along], axis=1)
    means = np.einsum("oij,oj->oi", covariance, pull)
    gain = np.einsum("oi,oi->o", means, pull) + np.log(prior).sum()
    gain -= np.linalg.slogdet(precision)[1]
    shares = _shares(np.stack([straight, straight + gain / 2.0 - COST]))
    mean = np.maximum(shares[1] @ means, [-math.inf, LEAST_TILT])
    second_moment = np.einsum(
        "o,oij->ij", shares[1], covariance + means[:, :, None] * means[:, None]
    )
    return evolve(
        before,
        shares=shares.sum(axis=0),
        means=mean,
        covariance=second_moment - np.outer(mean, mean),
        centre=float(centre) + 0.5,
        known_truths=known,
    )


def _log_prior(size: float, unsure: float) -> Floats:
    """Return the log prior of omega: the mean over log-normal sizes of an inverse gamma density."""
    half = WORTH / 2.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES if unsure else 1)
    ratios = half * SHARE * size / OMEGAS**2 * np.exp(unsure * nodes[:, np.newaxis])
    logs = (half + 1.0) * np.log(ratios) - ratios
    found: Floats = special.logsumexp(logs, axis=0, b=weights[:, np.newaxis])
    return found


def _shares(logs: Floats) -> Floats:
    shares: Floats = np.exp(logs - special.logsumexp(logs))
    return shares
