"""The model of Bradley and Terry under a known channel: likelihood, information, maximum.

The worker prefers the left item with the probability ``sigma(s_left - s_right)``, and the report of
that has a law that is known. What is maximised is the log-likelihood of the reports plus the
log-density of a normal prior on the scores. ``docs/theory/paired-comparisons.md`` derives it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from scipy import linalg
from scipy.special import expit, log_expit

__all__ = ["Comparisons", "Fit", "maximise"]

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]

_REST = 1e-5
"""The search ends where Newton's step is so small, in standard errors along its own direction."""

_HALVINGS = 60
"""A step is halved so often at most: beyond, floats do not show a change."""

_SEEN = (0.0, *(4.0**-power for power in range(6, -1, -1)))
"""Parts of what the noise hides that are added in turn to an information that is not definite."""

_SUFFICIENT = 1e-4
"""Part of the rise that the slope promises which a step has to give (Armijo)."""


@frozen(kw_only=True, eq=False)
class Comparisons:
    """Reports of paired comparisons, those that are alike counted together.

    Attributes
    ----------
    items : int
        How many items there are.
    left, right : ndarray of intp, shape (kinds,)
        The items that were shown.
    log_left, log_right : ndarray of float64, shape (kinds,)
        ``ln P(report | left preferred)``, and the same for right; minus infinity where it cannot
        be, but not both.
    counts : ndarray of float64, shape (kinds,)
        How many reports are of this kind.
    spread : float
        Standard deviation of the normal prior of each score.
    """

    items: int
    left: Places
    right: Places
    log_left: Floats
    log_right: Floats
    counts: Floats
    spread: float

    def objective(self, scores: Floats) -> float:
        """Return the penalised log-likelihood, in nats, at scores of shape (items,)."""
        gaps = scores[self.left] - scores[self.right]
        logs = np.logaddexp(self.log_left + log_expit(gaps), self.log_right + log_expit(-gaps))
        prior = float(scores @ scores) / (2 * self.spread**2)
        return float(self.counts @ logs) - prior

    def preferences(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the probability that left is preferred, before and after the report is seen."""
        gaps = scores[self.left] - scores[self.right]
        for_left = self.log_left + log_expit(gaps)
        for_right = self.log_right + log_expit(-gaps)
        return expit(gaps), np.exp(for_left - np.logaddexp(for_left, for_right))

    def gradient(self, scores: Floats) -> Floats:
        """Return the gradient of the objective, shape (items,)."""
        before, after = self.preferences(scores)
        pull = self.counts * (after - before)
        own = np.bincount(self.left, pull, self.items)
        other = np.bincount(self.right, pull, self.items)
        found: Floats = own - other - scores / self.spread**2
        return found

    def information(self, scores: Floats, seen: float = 0.0) -> Floats:
        """Return the observed information plus that of the prior, shape (items, items).

        `seen` is which part comes to it of what the noise hides, 0 to 1: with all of it, it is what
        the preferences themselves would tell.
        """
        before, after = self.preferences(scores)
        each = before * (1 - before) - (1 - seen) * after * (1 - after)
        pairs = self.left * self.items + self.right
        flat = np.asarray(np.bincount(pairs, self.counts * each, self.items**2), np.float64)
        between = flat.reshape(self.items, self.items)
        between = between + between.T
        found: Floats = -between
        np.fill_diagonal(found, between.sum(axis=1) + 1 / self.spread**2)
        return found


@frozen(kw_only=True, eq=False)
class Fit:
    """A maximum of the penalised likelihood.

    Attributes
    ----------
    scores : ndarray of float64, shape (items,)
        Their mean is 0, up to rounding.
    covariance : ndarray of float64, shape (items, items)
        The inverse of the information at the scores.
    history : tuple of float
        The objective at the start and after each step; it never falls.
    converged : bool
        Whether the search ended by itself.
    """

    scores: Floats
    covariance: Floats
    history: tuple[float, ...] = field(repr=False)
    converged: bool


def maximise(comparisons: Comparisons, max_iterations: int) -> Fit:
    """Climb from equal scores to a maximum of the penalised log-likelihood.

    A step is Newton's where the observed information is positive definite. Elsewhere part of what
    the noise hides is added to it, as little as makes it so; with all of it, it would be a step of
    the EM algorithm by its gradient (Lange, 1995). Each of them leads upwards, and a step is halved
    until the objective does not fall. At a saddle, where there is no slope, a step goes along the
    direction in which the objective bends upwards. So the search ends at a maximum; that there is
    no higher one is not known.

    Parameters
    ----------
    comparisons : Comparisons
        Of at least two items.
    max_iterations : int
        Most steps.
    """
    scores = np.zeros(comparisons.items)
    history = [comparisons.objective(scores)]
    converged = False
    while not converged and len(history) <= max_iterations:
        gradient = comparisons.gradient(scores)
        factor, newton = _factor(comparisons, scores)
        step: Floats = linalg.cho_solve(factor, gradient)
        slope = float(gradient @ step)
        resting = slope <= max(_REST**2, 1e-14 * abs(history[-1]))
        converged = newton and resting
        if resting and not newton:
            step = _off_the_saddle(comparisons, scores)
        scores, reached = _climb(comparisons, scores, step, slope, history[-1])
        if reached is None:  # floats show no rise any more
            break
        history.append(reached)
    factor, _ = _factor(comparisons, scores)
    covariance = linalg.cho_solve(factor, np.eye(comparisons.items), overwrite_b=True)
    return Fit(scores=scores, covariance=covariance, history=tuple(history), converged=converged)


def _factor(comparisons: Comparisons, scores: Floats) -> tuple[tuple[Floats, bool], bool]:
    """Return the Cholesky factor of an information, and whether it is the observed one."""
    for seen in _SEEN[:-1]:
        try:
            return linalg.cho_factor(comparisons.information(scores, seen)), seen == 0
        except linalg.LinAlgError:
            continue
    return linalg.cho_factor(comparisons.information(scores, _SEEN[-1])), False


def _off_the_saddle(comparisons: Comparisons, scores: Floats) -> Floats:
    """Return the direction along which the objective bends upwards most, of length 1."""
    _, directions = linalg.eigh(comparisons.information(scores), subset_by_index=[0, 0])
    found: Floats = directions[:, 0]
    return found


def _climb(
    comparisons: Comparisons, scores: Floats, step: Floats, slope: float, now: float
) -> tuple[Floats, float | None]:
    """Return scores where the objective is no lower, and the objective; None where none are."""
    part = 1.0
    for _ in range(_HALVINGS):
        tried = scores + part * step
        reached = comparisons.objective(tried)
        if reached >= now + _SUFFICIENT * part * slope:
            return tried, reached
        part /= 2
    return scores, None
