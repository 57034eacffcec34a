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
"""The search ends where a step is so small, in standard errors along its own direction."""

_HALVINGS = 60
"""A step is halved so often at most: beyond, floats do not show a change."""

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

    def information(self, scores: Floats, *, complete: bool = False) -> Floats:
        """Return the observed information plus that of the prior, shape (items, items).

        With `complete`, that of the preferences themselves: what it would be had they been seen.
        """
        before, after = self.preferences(scores)
        each = before * (1 - before)
        if not complete:
            each = each - after * (1 - after)
        flat = np.bincount(
            self.left * self.items + self.right, self.counts * each, self.items**2
        )
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

    A step is Newton's where the observed information is positive definite. Elsewhere it is that of
    the information of the preferences, which always is: a step of the EM algorithm by its gradient
    (Lange, 1995). Both lead upwards, and a step is halved until the objective does not fall.

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
        step, newton = _step(comparisons, scores, gradient)
        slope = float(gradient @ step)
        converged = newton and slope <= max(_REST**2, 1e-14 * abs(history[-1]))
        scores, reached = _climb(comparisons, scores, step, slope, history[-1])
        if reached is None:  # floats show no rise any more
            break
        history.append(reached)
    factor, _ = _factor(comparisons, scores)
    covariance = linalg.cho_solve(factor, np.eye(comparisons.items), overwrite_b=True)
    return Fit(scores=scores, covariance=covariance, history=tuple(history), converged=converged)


def _step(comparisons: Comparisons, scores: Floats, gradient: Floats) -> tuple[Floats, bool]:
    """Return a direction that leads upwards, and whether it is Newton's."""
    factor, newton = _factor(comparisons, scores)
    step: Floats = linalg.cho_solve(factor, gradient)
    return step, newton


def _factor(comparisons: Comparisons, scores: Floats) -> tuple[tuple[Floats, bool], bool]:
    """Return the factor of the observed information, or of the complete one; and which it is."""
    try:
        return linalg.cho_factor(comparisons.information(scores)), True
    except linalg.LinAlgError:
        return linalg.cho_factor(comparisons.information(scores, complete=True)), False


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
