"""Fractions of reports that are answers, and the grid search in the first sweeps.

The search is for the truths' distribution and, if all tasks are reported, the mean fraction.
"""

import math
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import special

from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.report_bins import NormalTruths

Floats: TypeAlias = npt.NDArray[np.float64]

FIRST_LIKENESS = 100.0
"""Initial concentration of the crowd's Beta distribution."""

MOST_LOGIT = math.log(999.0)
LEAST_LIKENESS, MOST_LIKENESS = math.log(1.0), math.log(1000.0)
SEARCHES = 12


@frozen(kw_only=True, eq=False)
class Answering:
    """Beta distributions of the fraction of a worker's reports that are answers.

    The crowd's has a mean with log-odds `logit` and a log concentration `log_likeness`. `own`,
    shape (workers, 2), has the parameters of posteriors: the crowd's plus expected counts.
    """

    logit: float
    log_likeness: float
    own: Floats

    @classmethod
    def first(cls, share: float, workers: int) -> Self:
        """Return the state before any report, for a given mean fraction."""
        distribution = cls(
            logit=math.log(share / (1.0 - share)),
            log_likeness=math.log(FIRST_LIKENESS),
            own=np.zeros((workers, 2)),
        )
        return evolve(distribution, own=np.tile(distribution.crowd, (workers, 1)))

    @property
    def crowd(self) -> Floats:
        """Parameters of the crowd's Beta distribution, shape (2,)."""
        share = 1.0 / (1.0 + math.exp(-self.logit))
        return math.exp(self.log_likeness) * np.array([share, 1.0 - share])

    @property
    def shares(self) -> Floats:
        """Mean fraction of each worker's reports that are answers, shape (workers,)."""
        shares: Floats = self.own[:, 0] / self.own.sum(axis=1)
        return shares

    @property
    def logs(self) -> Floats:
        """Mean log probability of an answer and of no answer, shape (workers, 2)."""
        logs: Floats = special.digamma(self.own)
        logs -= special.digamma(self.own.sum(axis=1, keepdims=True))
        return logs

    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Select workers by position; -1 is a new worker with the crowd's distribution."""
        own = self.own[positions]
        own[positions < 0] = self.crowd
        return evolve(self, own=own)

    def learned(self, answered: Floats, reports: npt.NDArray[np.int64]) -> Self:
        """Update each worker's posterior by its expected answers, then the crowd's distribution."""
        counts = np.stack([answered, np.maximum(reports - answered, 0.0)], axis=1)
        own = counts + self.crowd
        return evolve(self, own=own)._like_crowd(reports > 0)

    def objective(self, reports: npt.NDArray[np.int64]) -> float:
        """Return this model's part of the lower bound: a report adds its mean log of an answer."""
        heard, logs, crowd = reports > 0, self.logs, self.crowd
        terms = reports * logs[:, 0] + _log_beta(self.own) - _log_beta(crowd)
        terms += np.sum((crowd - self.own) * logs, axis=1)
        return integer_sums.exact_sum(np.where(heard, terms, 0.0), len(heard)) + self._log_prior

    @property
    def _log_prior(self) -> float:
        """Log prior of the crowd's distribution, up to a constant: the logit is logistic."""
        return -self.logit - 2.0 * math.log1p(math.exp(-self.logit))

    def _like_crowd(self, heard: npt.NDArray[np.bool_]) -> Self:
        """Fit the crowd's distribution by coordinate search; its value never decreases."""
        count = int(heard.sum())
        sums = [integer_sums.exact_sum(logs[heard], len(heard)) for logs in self.logs.T]

        def value(distribution: Self) -> float:
            crowd = distribution.crowd
            return float(crowd @ sums - count * _log_beta(crowd)) + distribution._log_prior

        best, steps = self, np.array([0.5, 0.5])
        for _ in range(SEARCHES):
            moves = [sign * side * steps for side in np.eye(2) for sign in (-1.0, 1.0)]
            found = max((best._moved(*move) for move in moves), key=value)
            if value(found) > value(best):
                best = found
            else:
                steps /= 2.0
        own = np.where(heard[:, np.newaxis], best.own, best.crowd)
        return evolve(best, own=own)

    def _moved(self, logit: float, log_likeness: float) -> Self:
        return evolve(
            self,
            logit=min(max(self.logit + logit, -MOST_LOGIT), MOST_LOGIT),
            log_likeness=min(max(self.log_likeness + log_likeness, LEAST_LIKENESS), MOST_LIKENESS),
        )


def _log_beta(numbers: Floats) -> Floats:
    logs: Floats = special.betaln(numbers[..., 0], numbers[..., 1])
    return logs


FIRST_SHARES = (0.5, 0.03, 0.15, 0.3, 0.7, 0.85, 0.97)
"""Fractions of answers to try, if unanswered tasks are reported, too."""

FINER = 2
"""Number of further sweeps, which refine the truths' distribution as workers are learned."""

GRID = tuple(
    NormalTruths(mean=mean, log_spread=math.log(spread))
    for mean in np.linspace(0.05, 0.95, 10).tolist()
    for spread in np.geomspace(0.01, 0.5, 10).tolist()
)
"""Coarse grid of distributions of the truths."""

NEAR = tuple(
    (mean, spread)
    for mean in np.linspace(-0.06, 0.06, 7).tolist()
    for spread in np.linspace(-0.45, 0.45, 7).tolist()
)
"""Steps of the fine grid around the best distribution."""


def first_truths() -> NormalTruths:
    """Return the widest distribution of the grid nearest to the middle."""
    return min(
        GRID, key=lambda distribution: (-distribution.log_spread, abs(distribution.mean - 0.5))
    )


class FirstDistributions(NamedTuple):
    """Distribution of the truths, who answers, and the log evidence of all reports."""

    evidence: float
    truths: NormalTruths
    answering: Answering | None


@frozen(kw_only=True, eq=False)
class Trial:
    """One sweep of the grid search.

    `number` counts earlier sweeps, and `best` is their best result. `shares` are fractions of
    answers to try; only 1 if all reports are of answers.
    """

    number: int = 0
    shares: tuple[float, ...]
    best: FirstDistributions | None = None

    @classmethod
    def first(cls, fills_in: bool) -> Self:
        """Return the first sweep; `fills_in` if unanswered tasks are reported, too."""
        return cls(shares=FIRST_SHARES if fills_in else (1.0,))

    @property
    def coarse(self) -> bool:
        """Whether the sweep tries a fraction of answers with the coarse grid."""
        return self.number < len(self.shares)

    @property
    def last(self) -> bool:
        """Whether this is the last sweep."""
        return self.number + 1 == len(self.shares) + FINER

    @property
    def candidates(self) -> tuple[NormalTruths, ...]:
        """Distributions of the truths to try."""
        if self.coarse or self.best is None:
            return GRID
        truths = self.best.truths
        return tuple(truths.moved(*step) for step in NEAR)

    def following(self, evidence: Floats, reports: int, answering: Answering | None) -> Self:
        """Return the next sweep, given each candidate's log evidence and the number of reports.

        `answering` is the state before this sweep, if unanswered tasks are reported, too.
        """
        scores = evidence + [distribution.log_prior for distribution in self.candidates]
        odds = reports * float(answering.logs[0, 0]) if answering and self.coarse else 0.0
        best = FirstDistributions(
            float(scores.max()) + odds, _likely_distribution(self.candidates, scores), answering
        )
        if self.coarse and self.best is not None and self.best.evidence >= best.evidence:
            best = self.best
        return evolve(self, number=self.number + 1, best=best)


def _likely_distribution(distributions: tuple[NormalTruths, ...], scores: Floats) -> NormalTruths:
    """Return the normal distribution with the best-supported scale and the average mean.

    Averaging by evidence matters if reports carry little information: then the best mean is chance.
    """
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = float(weights @ np.array([distribution.mean for distribution in distributions]))
    spreads, places = np.unique(
        [distribution.log_spread for distribution in distributions], return_inverse=True
    )
    log_spread = float(spreads[np.argmax(np.bincount(places, weights))])
    return NormalTruths(mean=mean, log_spread=log_spread)
