"""Lower bounds on privacy loss that samples prove.

Two neighbouring inputs give scores of their reports. The event "the score is at least c" has some
probability under either. On a quarter of the samples everything is chosen: which statistic, what
is learnt for it, which side is the likelier one, and c. Clopper-Pearson bounds of the two
probabilities on the other three quarters then prove a ratio, whatever the choice was. How many
statistics there are to choose from adds nothing to the risk of being wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_proportion, check_real

__all__ = [
    "Comparison",
    "Floats",
    "Score",
    "Statistic",
    "compare",
    "proven_deltas",
    "proven_epsilon",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Score: TypeAlias = Callable[[Floats], Floats]
"""From numbers of samples, shape (samples, numbers), to one for each, shape (samples,)."""

CUTS = 400
"""So many thresholds are tried at most."""

CHOOSING = 4
"""One sample of so many chooses."""

LEAST_SAMPLES = 2 * CHOOSING
"""To learn from one, to judge by another, and to prove."""

_DUST = 1e-9
"""Scores that differ by less count as equal."""


@frozen(kw_only=True, eq=False)
class Statistic:
    """What is looked at in independent samples of two laws.

    Attributes
    ----------
    name : str
        For people; it follows "by".
    one, other : ndarray of float, shape (samples,) or (samples, numbers)
        Scores of samples of either law, or numbers that a score is learnt from.
    learn : callable or None
        Takes numbers of some samples of either law and gives the score; None: they are scores.
    by_law : bool
        Whether scores are log-likelihood ratios under laws that the samples may follow. Then what
        is rare on one side is foreseen from the other side, where it is not: to choose by, not to
        prove.

    Raises
    ------
    ParameterError
        Where there are fewer than eight samples of a law, or a score is NaN.
    """

    name: str
    one: Floats
    other: Floats
    learn: Callable[[Floats, Floats], Score] | None = None
    by_law: bool = False

    def __attrs_post_init__(self) -> None:
        for side in (self.one, self.other):
            if len(side) < LEAST_SAMPLES:
                raise ParameterError(f"a proof needs at least eight draws a side; got {len(side)}")
            if self.learn is None and np.isnan(side).any():
                raise ParameterError(f"a score by {self.name} is NaN: give what is missing a value")

    def scores(self) -> tuple[list[Floats], list[Floats]]:
        """Return scores of either side: of samples to choose by, and of the others, that prove.

        Of those that choose, a score is learnt on one half, and judged on the other.
        """
        sides = (self.one, self.other)
        prove = [np.delete(side, np.s_[::CHOOSING], axis=0) for side in sides]
        choose = [side[::CHOOSING] for side in sides]
        if self.learn is None:
            return choose, prove
        score = self.learn(*(side[::2] for side in choose))
        return [score(side[1::2]) for side in choose], [score(side) for side in prove]


@frozen
class _Counts:
    """How many scores of either side reach each cut, and of how many."""

    hits: npt.NDArray[Any]
    of: npt.NDArray[Any]
    false_hits: npt.NDArray[Any]
    false_of: npt.NDArray[Any]

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

    def at(self, places: npt.NDArray[np.intp]) -> _Counts:
        """Return the counts of some cuts."""
        return _Counts(
            self.hits[places], self.of[places], self.false_hits[places], self.false_of[places]
        )


@frozen
class Comparison:
    """Samples of two laws, counted by every statistic, direction and cut, one after the other.

    Attributes
    ----------
    chosen, proof
        Counts of the samples that choose and of those that prove. For scores that are not learnt,
        those that choose count as if they were as many as those that prove; learnt ones, of which
        there are many, bear the doubt of what they are: else the luckiest would be chosen. What is
        scored by a law is counted twice: as that law foresees it, and, with the same doubt, as it
        came.
    statistics : ndarray of int
        The number of the statistic.
    """

    chosen: _Counts
    proof: _Counts
    statistics: npt.NDArray[np.intp]


def compare(statistics: Sequence[Statistic]) -> Comparison:
    """Return what can be proved by one of several statistics, that samples choose.

    Parameters
    ----------
    statistics : sequence of Statistic
        At least one; of the same samples in the same order, or of independent ones.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> scores = [(rng.random(10_000) < chance).astype(float) for chance in (0.75, 0.25)]
    >>> epsilon, _ = proven_epsilon(
    ...     compare([Statistic(name="scores", one=scores[0], other=scores[1])]), confidence=0.99
    ... )
    >>> 0.9 < epsilon < 1.0986  # ln 3
    True
    """
    columns: list[tuple[npt.NDArray[Any], ...]] = []
    for number, statistic in enumerate(statistics):
        choose, prove = statistic.scores()
        for left, right, sign in ((0, 1, 1.0), (1, 0, -1.0)):
            cuts = _cuts(sign * np.concatenate(choose))
            proof = [count for side in (left, right) for count in _count(sign * prove[side], cuts)]
            choices = _choices(statistic, sign * choose[left], sign * choose[right], cuts)
            columns += [(*chosen, *proof, np.full(len(cuts), number)) for chosen in choices]
    rows = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return Comparison(_Counts(*rows[:4]), _Counts(*rows[4:8]), rows[8])


def _choices(
    statistic: Statistic, left: Floats, right: Floats, cuts: Floats
) -> list[list[npt.NDArray[Any]]]:
    """Return counts to choose by, once for each way to count; see `Comparison`."""
    hits, misses = list(_count(left, cuts)), list(_count(right, cuts))
    as_many = CHOOSING - 1
    if statistic.by_law:
        foreseen = [as_many * count for count in (*hits, *_foreseen(left, right, cuts))]
        return [foreseen, [*hits, *misses]]
    return [[(1 if statistic.learn else as_many) * count for count in (*hits, *misses)]]


def _cuts(scores: Floats) -> Floats:
    """Return thresholds, a little below scores that occur."""
    ordered = np.sort(scores)
    values = np.unique(ordered)
    if len(values) > CUTS:
        values = np.unique(ordered[np.linspace(0, len(ordered) - 1, CUTS).astype(np.intp)])
    size = np.abs(np.where(np.isfinite(values), values, 0.0))
    return np.unique(values - _DUST * (1 + size))


def _count(scores: Floats, cuts: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return how many scores reach each cut, and of how many."""
    reached = len(scores) - np.searchsorted(np.sort(scores), cuts)
    return reached, np.full_like(reached, len(scores))


def _foreseen(left: Floats, right: Floats, cuts: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return how many scores of the right side should reach each cut, and of how many.

    ``Q(L >= c)`` is the mean under P of ``exp(-L)`` where ``L >= c``: used above 0, where no
    weight is above 1; below, samples of Q count as they came.
    """
    ordered = np.sort(left[left > 0])
    tails = np.concatenate([np.cumsum(np.exp(-ordered[::-1]))[::-1], [0.0]])
    above = tails[np.searchsorted(ordered, cuts)] * (len(right) / len(left))
    return above + _count(np.where(right > 0, -np.inf, right), cuts)[0], _count(right, cuts)[1]


def proven_epsilon(
    comparison: Comparison, confidence: float, delta: float = 0.0
) -> tuple[float, int]:
    """Return a lower bound on the least epsilon for which the pair (epsilon, delta) holds.

    Parameters
    ----------
    comparison : Comparison
        Of samples of the two laws.
    confidence : float
        Probability that the bound holds, at least; below 1.
    delta : float
        Of the pair (epsilon, delta), 0 to 1.

    Returns
    -------
    bound : float
        At least 0; infinite never.
    statistic : int
        Number of the statistic that proves it.

    Raises
    ------
    ParameterError
        Where `confidence` is not in (0, 1), or `delta` not in [0, 1].

    References
    ----------
    C. J. Clopper, E. S. Pearson, Biometrika 1934; M. Jagielski et al., NeurIPS 2020, section 4.
    """
    check_real("delta", delta, 0)
    if delta > 1:
        raise ParameterError(f"delta must be at most 1; got {delta!r}")

    def gain(low: Floats, high: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low - delta, 0.0)) - np.log(high)

    bound, statistic = _bounds(comparison, confidence, [gain])
    return max(0.0, float(bound[0])), int(statistic[0])


def proven_deltas(comparison: Comparison, confidence: float, epsilons: Floats) -> Floats:
    """Return a lower bound on delta at each epsilon; parameters as of `proven_epsilon`.

    Each of them holds with the `confidence`, not all of them together. An epsilon may be infinite.
    """
    if np.isnan(epsilons).any():
        raise ParameterError(f"epsilons must be numbers; got {epsilons!r}")

    def gain_at(factor: float) -> Callable[[Floats, Floats], Floats]:
        return lambda low, high: low - factor * high

    with np.errstate(over="ignore"):
        gains = [gain_at(factor) for factor in np.exp(epsilons)]
    return np.maximum(_bounds(comparison, confidence, gains)[0], 0.0)


def _bounds(
    comparison: Comparison, confidence: float, gains: list[Callable[[Floats, Floats], Floats]]
) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return what each gain is at least, and by which statistic."""
    check_proportion("confidence", confidence)
    risk = (1 - confidence) / 2
    guess = comparison.chosen.limits(risk)
    best = np.array([int(np.argmax(gain(*guess))) for gain in gains])
    low, high = comparison.proof.at(best).limits(risk)
    values = [float(gain(low[[place]], high[[place]])[0]) for place, gain in enumerate(gains)]
    return np.array(values), comparison.statistics[best]
