"""The first passes over numbers: laws of the truths, and shares of answers, that are tried."""

from __future__ import annotations

import math
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.inference.numbers.answering import Answering
from quietcrowd.inference.numbers.report_bins import NormalTruths

__all__ = ["FirstLaws", "Trial", "first_truths"]

Floats: TypeAlias = npt.NDArray[np.float64]

FIRST_SHARES = (0.5, 0.03, 0.15, 0.3, 0.7, 0.85, 0.97)
"""Shares of answers among all reports that are tried, where unanswered tasks are reported, too."""

FINER = 2
"""After those so many passes try laws of the truths near the best one, as workers are learnt."""

GRID = tuple(
    NormalTruths(mean=mean, log_spread=math.log(spread))
    for mean in np.linspace(0.05, 0.95, 10).tolist()
    for spread in np.geomspace(0.01, 0.5, 10).tolist()
)
"""Laws of the truths to begin with."""

NEAR = tuple(
    (mean, spread)
    for mean in np.linspace(-0.06, 0.06, 7).tolist()
    for spread in np.linspace(-0.45, 0.45, 7).tolist()
)
"""Steps from the best one to those near it."""


def first_truths() -> NormalTruths:
    """Return the law before the first pass: the widest in the middle."""
    return min(GRID, key=lambda law: (-law.log_spread, abs(law.mean - 0.5)))


class FirstLaws(NamedTuple):
    """Laws of the truths, and of who answers, and the log evidence of all reports by them."""

    evidence: float
    truths: NormalTruths
    answering: Answering | None


@frozen(kw_only=True, eq=False)
class Trial:
    """A pass that tries laws.

    Attributes
    ----------
    number : int
        How many there were before.
    shares : tuple of float
        Shares of answers to try; one where all reports are of answers.
    best : FirstLaws, optional
        Of the passes before.
    """

    number: int = 0
    shares: tuple[float, ...]
    best: FirstLaws | None = None

    @classmethod
    def first(cls, fills_in: bool) -> Self:
        """Return the first one."""
        return cls(shares=FIRST_SHARES if fills_in else (1.0,))

    @property
    def coarse(self) -> bool:
        """Whether it tries a share of answers with all laws of the truths."""
        return self.number < len(self.shares)

    @property
    def last(self) -> bool:
        """Whether no other one is to follow."""
        return self.number + 1 == len(self.shares) + FINER

    @property
    def candidates(self) -> tuple[NormalTruths, ...]:
        """Laws of the truths to try."""
        if self.coarse or self.best is None:
            return GRID
        truths = self.best.truths
        return tuple(truths.moved(*step) for step in NEAR)

    def following(self, evidence: Floats, reports: int, answering: Answering | None) -> Self:
        """Return the next trial, with the best laws of all so far.

        Parameters
        ----------
        evidence : ndarray of float64, shape (candidates,)
            Log evidence of the reports with each.
        reports : int
            How many there are.
        answering : Answering, optional
            What was believed of who answers.
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
    """Return the normal law with the spread of most evidence, and the mean of the laws' means.

    Laws count by their evidence: where reports tell little, no mean is far better than the others,
    and the best one is chance.
    """
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = float(weights @ np.array([law.mean for law in laws]))
    spreads, places = np.unique([law.log_spread for law in laws], return_inverse=True)
    log_spread = float(spreads[np.argmax(np.bincount(places, weights))])
    return NormalTruths(mean=mean, log_spread=log_spread)
