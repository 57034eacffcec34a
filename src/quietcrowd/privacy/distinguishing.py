"""Lower bounds on privacy loss that samples prove.

Two neighbouring inputs give scores of their reports. The event "the score is at least c" has some
probability under either; c is chosen on one half of the samples, and Clopper-Pearson bounds of the
two probabilities on the other half prove a ratio, whatever the choice. Then the halves change
places, and so do the inputs: the four proofs share the risk of being wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError

__all__ = ["proven_deltas", "proven_epsilon"]

Floats: TypeAlias = npt.NDArray[np.float64]

CUTS = 400
"""So many thresholds are tried at most."""

PROOFS = 4
"""Two halves and two directions."""

_DUST = 1e-9
"""Scores that differ by less count as equal."""


def proven_epsilon(one: Floats, other: Floats, confidence: float, delta: float = 0.0) -> float:
    """Return a lower bound on the epsilon at which two laws differ by at most `delta`.

    Parameters
    ----------
    one, other : ndarray of float, shape (samples,) or (samples, numbers)
        Independent samples of a score of either law; of several numbers a projection is learnt.
    confidence : float
        Probability that the bound holds, at least; below 1.
    delta : float
        What the ratio need not cover.

    Returns
    -------
    float
        At least 0; infinite never.

    Raises
    ------
    ParameterError
        Where there are fewer than four samples of a law, or `confidence` is not in (0, 1).

    References
    ----------
    C. J. Clopper, E. S. Pearson, Biometrika 1934; M. Jagielski et al., NeurIPS 2020, section 4.
    """

    def gain(low: Floats, high: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low - delta, 0.0)) - np.log(high)

    return max(0.0, *(float(bound[0]) for bound in _bounds(one, other, confidence, [gain])))


def proven_deltas(one: Floats, other: Floats, confidence: float, epsilons: Floats) -> Floats:
    """Return a lower bound on delta at each epsilon; parameters as of `proven_epsilon`.

    Each of them holds with the `confidence`, not all of them together.
    """

    def gain_at(factor: float) -> Callable[[Floats, Floats], Floats]:
        return lambda low, high: low - factor * high

    gains = [gain_at(math.exp(epsilon)) for epsilon in epsilons]
    best: Floats = np.max([*_bounds(one, other, confidence, gains)], axis=0)
    return np.maximum(best, 0.0)


def _bounds(
    one: Floats, other: Floats, confidence: float, gains: list[Callable[[Floats, Floats], Floats]]
) -> Iterator[Floats]:
    """Yield, for each proof, what each gain is at least; its cut is chosen on other samples."""
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be above 0 and below 1; got {confidence!r}")
    if min(len(one), len(other)) < 4:
        raise ParameterError("a proof needs at least four draws a side")
    risk = (1 - confidence) / (2 * PROOFS)
    for chosen, proof in _trials(one, other):
        guess, bound = (counts.limits(risk) for counts in (chosen, proof))
        best = [int(np.argmax(gain(*guess))) for gain in gains]
        yield np.array([gain(*bound)[place] for gain, place in zip(gains, best, strict=True)])


@frozen
class _Counts:
    """How many scores of either side reach each cut, and how many scores there are."""

    hits: npt.NDArray[np.int64]
    of: int
    false_hits: npt.NDArray[np.int64]
    false_of: int

    def limits(self, risk: float) -> tuple[Floats, Floats]:
        """Return lower bounds of the one probability, upper bounds of the other; Clopper-Pearson.

        Each is wrong with a probability of at most `risk`.
        """
        from scipy.special import betaincinv

        low = np.where(
            self.hits > 0,
            betaincinv(np.maximum(self.hits, 1), self.of - self.hits + 1.0, risk),
            0.0,
        )
        missed = self.false_of - self.false_hits
        high = np.where(
            missed > 0,
            betaincinv(self.false_hits + 1.0, np.maximum(missed, 1), 1 - risk),
            1.0,
        )
        return low, high


def _trials(one: Floats, other: Floats) -> Iterator[tuple[_Counts, _Counts]]:
    """Yield counts of the samples that choose and of those that prove."""
    for half in (0, 1):
        chosen = [scores[half::2] for scores in (one, other)]
        proof = [scores[1 - half :: 2] for scores in (one, other)]
        if one.ndim == 2:
            direction = _direction(*chosen)
            chosen, proof = ([part @ direction for part in parts] for parts in (chosen, proof))
        for left, right, sign in ((0, 1, 1.0), (1, 0, -1.0)):
            cuts = _cuts(sign * np.concatenate(chosen))
            yield (
                _count(sign * chosen[left], sign * chosen[right], cuts),
                _count(sign * proof[left], sign * proof[right], cuts),
            )


def _cuts(scores: Floats) -> Floats:
    """Return thresholds, a little below scores that occur."""
    values = np.quantile(scores, np.linspace(0, 1, CUTS), method="higher")
    cuts: Floats = np.unique(values - _DUST * (1 + np.abs(values)))
    return cuts


def _count(left: Floats, right: Floats, cuts: Floats) -> _Counts:
    reached, wrongly = (
        len(scores) - np.searchsorted(np.sort(scores), cuts) for scores in (left, right)
    )
    return _Counts(reached, len(left), wrongly, len(right))


def _direction(one: Floats, other: Floats) -> Floats:
    """Return Fisher's linear discriminant of two samples."""
    spread = np.atleast_2d(np.cov(one.T)) + np.atleast_2d(np.cov(other.T))
    found: Floats = np.linalg.pinv(spread) @ (one.mean(axis=0) - other.mean(axis=0))
    return found
