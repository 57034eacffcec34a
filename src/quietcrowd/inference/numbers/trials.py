"""Grid search, in the first sweeps, of the truths' distribution and the fraction of answers."""

import math
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.inference.numbers.answering import Answering
from quietcrowd.inference.numbers.report_bins import NormalTruths

Floats: TypeAlias = npt.NDArray[np.float64]

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
    return min(GRID, key=lambda law: (-law.log_spread, abs(law.mean - 0.5)))


class FirstLaws(NamedTuple):
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
    best: FirstLaws | None = None

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
        scores = evidence + [law.log_prior for law in self.candidates]
        odds = reports * float(answering.logs[0, 0]) if answering and self.coarse else 0.0
        best = FirstLaws(
            float(scores.max()) + odds, _likely_law(self.candidates, scores), answering
        )
        if self.coarse and self.best is not None and self.best.evidence >= best.evidence:
            best = self.best
        return evolve(self, number=self.number + 1, best=best)


def _likely_law(laws: tuple[NormalTruths, ...], scores: Floats) -> NormalTruths:
    """Return the normal distribution with the best-supported scale and the average mean.

    Averaging by evidence matters if reports carry little information: then the best mean is chance.
    """
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = float(weights @ np.array([law.mean for law in laws]))
    spreads, places = np.unique([law.log_spread for law in laws], return_inverse=True)
    log_spread = float(spreads[np.argmax(np.bincount(places, weights))])
    return NormalTruths(mean=mean, log_spread=log_spread)
