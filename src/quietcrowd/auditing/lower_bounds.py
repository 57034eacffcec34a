"""Lower bounds on privacy loss that samples prove.

Two neighbouring inputs give scores of their reports. The event "the score is at least c" has some
probability under either. On a quarter of the samples everything is chosen: which statistic, what
is learnt for it, which side is the likelier one, and c. Clopper-Pearson bounds of the two
probabilities on the other three quarters then prove a ratio, whatever the choice was. How many
statistics there are to choose from adds nothing to the risk of being wrong.

Where a loss is large, what is rare decides: an event that comes a few dozen times. So both sides
are counted together as well. A guess is made where a score is at least c > 0, that it is of the one
input, or at most -c, that it is of the other. If each input's samples are (epsilon, delta)-private,
the mean chance r of a right guess, over both inputs, and that w of a wrong one have
``r <= exp(epsilon) w + delta``: it is the mean of two such inequalities.
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

BOTH = 2
"""Place of the way to guess by which samples of both laws count together."""

MOST_RISK = 0.25
"""Of one limit being wrong; see `_Counts.limits`."""

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

        Each is wrong with a probability of at most `risk`, which is 1/4 at most, also where the
        samples of a side have two probabilities and the bound is one of their mean.

        Notes
        -----
        A sum of independent events is at most c no more probably than a binomial one of the same
        mean, where c is below that mean by 1 (Hoeffding 1956, Theorem 4). A binomial number that is
        at most c with a probability of 1/4 or less has a mean of c + 1 at least (Greenberg and
        Mohri 2014), unless all of the samples but one are expected to be hits: then nothing is
        said, neither of all hits but one, nor of a single one.
        """
        from scipy.special import betaincinv

        low = np.where(
            self.hits > 1,
            betaincinv(np.maximum(self.hits, 1), self.of - self.hits + 1.0, risk),
            0.0,
        )
        missed = self.false_of - self.false_hits
        high = np.where(
            missed > 1,
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
    """Samples of two laws, counted by every statistic, way to guess and cut, one after the other.

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
        both = len(statistic.one) == len(statistic.other)
        ways = zip(*(_ways(*sides, both=both) for sides in statistic.scores()), strict=True)
        for place, (choose, prove) in enumerate(ways):
            left, right = choose
            cuts = _cuts(np.concatenate([left, right]))
            if place == BOTH:
                cuts = cuts[cuts > 0]
            proof = [count for side in prove for count in _count(side, cuts)]
            choices = _choices(statistic, left, right, cuts)
            columns += [(*chosen, *proof, np.full(len(cuts), number)) for chosen in choices]
    rows = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return Comparison(_Counts(*rows[:4]), _Counts(*rows[4:8]), rows[8])


def _ways(one: Floats, other: Floats, *, both: bool) -> list[tuple[Floats, Floats]]:
    """Return scores of right guesses and of wrong ones, for each way to guess.

    That a sample is of the one law, that it is of the other, and either: `both`, which needs as
    many samples of the one as of the other.
    """
    ways = [(one, other), (-other, -one)]
    if both:
        ways.append((np.concatenate([one, -other]), np.concatenate([other, -one])))
    return ways


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
    C. J. Clopper, E. S. Pearson, Biometrika 1934; M. Jagielski et al., NeurIPS 2020, section 4;
    W. Hoeffding, Annals of Mathematical Statistics 1956; S. Greenberg, M. Mohri, "Tight lower bound
    on the probability of a binomial exceeding its expectation", 2014.
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
    risk = min((1 - confidence) / 2, MOST_RISK)
    guess = comparison.chosen.limits(risk)
    best = np.array([int(np.argmax(gain(*guess))) for gain in gains])
    low, high = comparison.proof.at(best).limits(risk)
    values = [float(gain(low[[place]], high[[place]])[0]) for place, gain in enumerate(gains)]
    return np.array(values), comparison.statistics[best]
